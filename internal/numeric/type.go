package numeric

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// rank orders the numeric types by width.
func rank(t bsonx.Type) int {
	switch t {
	case bsonx.TypeInt32:
		return 0
	case bsonx.TypeInt64:
		return 1
	case bsonx.TypeDouble:
		return 2
	default:
		return 3
	}
}

// Widest returns the wider of two numeric types: int, long, double, decimal.
func Widest(a, b bsonx.Type) bsonx.Type {
	if rank(a) >= rank(b) {
		return a
	}
	return b
}

// checkNumbers returns an error unless both values are numbers.
func checkNumbers(op string, a, b bsonx.Value) error {
	bad := a.Type
	if bad.IsNumber() {
		bad = b.Type
	}
	if bad.IsNumber() {
		return nil
	}
	return mongoerr.New(mongoerr.TypeMismatch, "%s only supports numeric types, not %s", op, bad)
}

// checkNumber returns an error unless the value is a number.
func checkNumber(op string, v bsonx.Value) error { return checkNumbers(op, v, v) }

// IntOrLong returns an int32 if the number fits, and an int64 otherwise.
func IntOrLong(i int64) bsonx.Value { return integerIn(nil, i, bsonx.TypeInt32) }

// integer returns an int64 if one of the operands was an int64, and otherwise the narrowest type
// that fits.
func integer(i int64, widest bsonx.Type) bsonx.Value { return integerIn(nil, i, widest) }

// integerIn is integer with the result in an arena.
func integerIn(out *bsonx.Arena, i int64, widest bsonx.Type) bsonx.Value {
	if widest == bsonx.TypeInt64 || i != int64(int32(i)) {
		return out.Int64(i)
	}
	return out.Int32(int32(i))
}

// float returns a number as a double. v must be a number.
func float(v bsonx.Value) float64 {
	f, _ := v.AsFloat64()
	return f
}

// long returns an int32 or int64 as an int64.
func long(v bsonx.Value) int64 {
	if v.Type == bsonx.TypeInt32 {
		return int64(v.Int32())
	}
	return v.Int64()
}

// addInt64 adds and reports whether the sum fits.
func addInt64(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

// subInt64 subtracts and reports whether the difference fits.
func subInt64(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

// mulInt64 multiplies and reports whether the product fits.
func mulInt64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	if a == -1 && b == math.MinInt64 || b == -1 && a == math.MinInt64 {
		return 0, false
	}
	c := a * b
	return c, c/b == a
}

// Identical reports whether an update operator leaves a value unchanged: the type is the same and
// the values are equal. NaN is never identical. Decimals with different exponents can be identical.
func Identical(a, b bsonx.Value) bool {
	if a.Type != b.Type {
		return false
	}
	switch a.Type {
	case bsonx.TypeDouble:
		return a.Double() == b.Double()
	case bsonx.TypeDecimal128:
		return a.Decimal().Kind != bsonx.DecimalNaN && bsonx.CompareValues(a, b) == 0
	default:
		return long(a) == long(b)
	}
}
