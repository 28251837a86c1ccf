package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// parseMul compiles $mul. Its value for a missing field is zero, with the numeric type of the
// argument.
func parseMul(_ *parser, path string, arg bsonx.Value) (operator, error) {
	if !arg.Type.IsNumber() {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"Cannot multiply with non-numeric argument: {%s: %s}", path, shell(arg))
	}
	initial, err := numeric.IncMul(bsonx.Int32(0), arg)
	if err != nil {
		return nil, err
	}
	return &arithmeticOp{name: "$mul", value: arg, initial: initial, compute: numeric.IncMul}, nil
}
