package numeric

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const modByZero mongoerr.Code = 16610

// Add adds by the rules of aggregation: integers that overflow an int64 become a double.
func Add(a, b bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$add", a, b); err != nil {
		return bsonx.Value{}, err
	}
	var t Total
	t.Add(a)
	t.Add(b)
	return t.Result(), nil
}

// Subtract subtracts by the rules of aggregation.
func Subtract(a, b bsonx.Value) (bsonx.Value, error) { return SubtractIn(nil, a, b) }

// SubtractIn is Subtract with the result in an arena.
func SubtractIn(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$subtract", a, b); err != nil {
		return bsonx.Value{}, err
	}
	switch widest := Widest(a.Type, b.Type); widest {
	case bsonx.TypeDecimal128:
		return decimalOp(a, b, (*apd.Context).Sub), nil
	case bsonx.TypeDouble:
		return out.Double(float(a) - float(b)), nil
	default:
		if diff, ok := subInt64(long(a), long(b)); ok {
			return integerIn(out, diff, widest), nil
		}
		return out.Double(float(a) - float(b)), nil
	}
}

// Multiply multiplies by the rules of aggregation.
func Multiply(a, b bsonx.Value) (bsonx.Value, error) { return MultiplyIn(nil, a, b) }

// MultiplyIn is Multiply with the result in an arena.
func MultiplyIn(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$multiply", a, b); err != nil {
		return bsonx.Value{}, err
	}
	switch widest := Widest(a.Type, b.Type); widest {
	case bsonx.TypeDecimal128:
		return decimalOp(a, b, (*apd.Context).Mul), nil
	case bsonx.TypeDouble:
		return out.Double(float(a) * float(b)), nil
	default:
		if product, ok := mulInt64(long(a), long(b)); ok {
			return integerIn(out, product, widest), nil
		}
		return out.Double(float(a) * float(b)), nil
	}
}

// Divide divides by the rules of aggregation. The result is a decimal if an operand is a decimal,
// and a double otherwise.
func Divide(a, b bsonx.Value) (bsonx.Value, error) { return DivideIn(nil, a, b) }

// DivideIn is Divide with the result in an arena.
func DivideIn(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$divide", a, b); err != nil {
		return bsonx.Value{}, err
	}
	if IsZero(b) {
		return bsonx.Value{}, mongoerr.New(mongoerr.BadValue, "can't $divide by zero")
	}
	if Widest(a.Type, b.Type) == bsonx.TypeDecimal128 {
		return decimalQuotient(a, b), nil
	}
	return out.Double(float(a) / float(b)), nil
}

// decimalQuotient divides decimals. A number divided by infinity is zero with the smallest
// exponent, not 0E+0.
func decimalQuotient(a, b bsonx.Value) bsonx.Value {
	if x, y := toDecimal(a), toDecimal(b); x.Form == apd.Finite && y.Form == apd.Infinite {
		return encode(&apd.Decimal{Negative: x.Negative != y.Negative, Exponent: bsonx.MinDecimalExp})
	}
	return decimalOp(a, b, quo)
}

// Mod returns the remainder with the sign of the dividend, in the wider of the two types.
func Mod(a, b bsonx.Value) (bsonx.Value, error) { return ModIn(nil, a, b) }

// ModIn is Mod with the result in an arena.
func ModIn(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$mod", a, b); err != nil {
		return bsonx.Value{}, err
	}
	if IsZero(b) {
		return bsonx.Value{}, mongoerr.New(modByZero, "can't $mod by zero")
	}
	switch {
	case Widest(a.Type, b.Type) == bsonx.TypeDecimal128:
		return decimalMod(toDecimal(a), toDecimal(b)), nil
	case a.Type == bsonx.TypeDouble || b.Type == bsonx.TypeDouble:
		return out.Double(math.Mod(float(a), float(b))), nil
	default:
		return integerIn(out, remainder(long(a), long(b)), Widest(a.Type, b.Type)), nil
	}
}

// remainder handles the one quotient that overflows an int64.
func remainder(a, b int64) int64 {
	if b == -1 {
		return 0
	}
	return a % b
}

// decimalMod computes with as many digits as the quotient needs, so that the remainder is exact.
func decimalMod(a, b *apd.Decimal) bsonx.Value {
	var out apd.Decimal
	if a.Form != apd.Finite || b.Form == apd.NaN {
		return encode(&apd.Decimal{Form: apd.NaN})
	}
	if b.Form == apd.Infinite {
		return encode(a)
	}
	c := decimalContext()
	c.Precision = uint32(2*digits + max(a.Exponent-b.Exponent, b.Exponent-a.Exponent))
	if _, err := c.Rem(&out, a, b); err != nil {
		out.Form = apd.NaN
	}
	return encode(&out)
}

// IsZero reports whether a number is zero of either sign.
func IsZero(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeDouble:
		return v.Double() == 0
	case bsonx.TypeDecimal128:
		return v.Decimal().IsZero()
	default:
		return long(v) == 0
	}
}

// IsNaN reports whether a number is NaN.
func IsNaN(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeDouble:
		return math.IsNaN(v.Double())
	case bsonx.TypeDecimal128:
		return v.Decimal().Kind == bsonx.DecimalNaN
	default:
		return false
	}
}
