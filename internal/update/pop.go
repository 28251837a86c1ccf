package update

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// popOp is $pop.
type popOp struct {
	ignoresMissing
	first bool
}

func parsePop(_ *parser, path string, arg bsonx.Value) (operator, error) {
	if !arg.Type.IsNumber() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Expected a number in: %s: %s", path, shell(arg))
	}
	i, ok := arg.AsExactInt64()
	if !ok {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Expected an integer: %s: %s", path, shell(arg))
	}
	if i != 1 && i != -1 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$pop expects 1 or -1, found: %d", i)
	}
	return popOp{first: i == -1}, nil
}

func (op popOp) existing(a *applier, v bsonx.Value) (change, error) {
	if v.Type != bsonx.TypeArray {
		return change{}, mongoerr.New(mongoerr.TypeMismatch, "Path '%s' contains an element of non-array type '%s'",
			strings.Join(a.path, "."), v.Type)
	}
	values := v.Doc().Values()
	switch {
	case len(values) == 0:
		return change{}, nil
	case op.first:
		values = values[1:]
	default:
		values = values[:len(values)-1]
	}
	return change{kind: changeSet, value: arrayOf(values), shrunk: true}, nil
}
