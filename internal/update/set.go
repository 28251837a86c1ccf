package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// setOp is $set or $setOnInsert.
type setOp struct {
	creates
	value bsonx.Value
}

func parseSet(_ *parser, _ string, arg bsonx.Value) (operator, error) { return &setOp{value: arg}, nil }

// existing replaces the value. The value counts as unchanged only if its type and bytes are the
// same, so 1 can become 1.0.
func (op *setOp) existing(_ *applier, v bsonx.Value) (change, error) {
	if v.Identical(op.value) {
		return change{}, nil
	}
	return set(op.value), nil
}

func (op *setOp) missing(*applier) (bsonx.Value, bool, error) { return op.value, true, nil }
