package numeric

import (
	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Inc adds by the rules of $inc. Two int32 become an int64 if the sum does not fit. An int64 that
// overflows is an error (BadValue). A decimal or double operand makes the sum a decimal or double.
func Inc(a, b bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$inc", a, b); err != nil {
		return bsonx.Value{}, err
	}
	switch widest := Widest(a.Type, b.Type); widest {
	case bsonx.TypeDecimal128:
		return decimalOp(a, b, (*apd.Context).Add), nil
	case bsonx.TypeDouble:
		return bsonx.Double(float(a) + float(b)), nil
	default:
		sum, ok := addInt64(long(a), long(b))
		if !ok {
			return bsonx.Value{}, overflow("$inc", a)
		}
		return integer(sum, widest), nil
	}
}

// IncMul multiplies by the rules of $mul. The result type follows the same rules as for Inc.
func IncMul(a, b bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$mul", a, b); err != nil {
		return bsonx.Value{}, err
	}
	switch widest := Widest(a.Type, b.Type); widest {
	case bsonx.TypeDecimal128:
		return decimalOp(a, b, (*apd.Context).Mul), nil
	case bsonx.TypeDouble:
		return bsonx.Double(float(a) * float(b)), nil
	default:
		product, ok := mulInt64(long(a), long(b))
		if !ok {
			return bsonx.Value{}, overflow("$mul", a)
		}
		return integer(product, widest), nil
	}
}

func overflow(op string, current bsonx.Value) error {
	name := "NumberInt"
	if current.Type == bsonx.TypeInt64 {
		name = "NumberLong"
	}
	return mongoerr.New(mongoerr.BadValue,
		"Failed to apply %s operations to current value ((%s)%d)", op, name, long(current))
}

// BitOp is a bitwise operation of two integers.
type BitOp int

// The bitwise operations.
const (
	And BitOp = iota
	Or
	Xor
)

// Bit applies a bitwise operation to int32 and int64 values. Two int32 give an int32.
func Bit(op BitOp, a, b bsonx.Value) (bsonx.Value, error) {
	if !isInteger(a) || !isInteger(b) {
		return bsonx.Value{}, mongoerr.New(mongoerr.TypeMismatch, "bitwise operations support int and long only")
	}
	x, y := long(a), long(b)
	switch op {
	case And:
		x &= y
	case Or:
		x |= y
	default:
		x ^= y
	}
	return integer(x, Widest(a.Type, b.Type)), nil
}

// BitNot inverts the bits of an int32 or int64.
func BitNot(v bsonx.Value) (bsonx.Value, error) {
	if !isInteger(v) {
		return bsonx.Value{}, mongoerr.New(mongoerr.TypeMismatch, "bitwise operations support int and long only")
	}
	return integer(^long(v), v.Type), nil
}

func isInteger(v bsonx.Value) bool { return v.Type == bsonx.TypeInt32 || v.Type == bsonx.TypeInt64 }
