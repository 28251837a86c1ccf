package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// unsetOp is $unset. The value of its argument is ignored.
type unsetOp struct{ ignoresMissing }

func parseUnset(*parser, string, bsonx.Value) (operator, error) { return unsetOp{}, nil }

func (unsetOp) existing(*applier, bsonx.Value) (change, error) {
	return change{kind: changeRemove}, nil
}

// tolerant returns true, because there is nothing to remove below a scalar.
func (unsetOp) tolerant() bool { return true }
