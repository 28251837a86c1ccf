package numeric

import (
	"math"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// digits is the precision of a decimal128.
const digits = 34

// The largest and smallest adjusted exponents of a normal decimal128.
const (
	maxAdjusted = 6144
	minAdjusted = -6143
)

// decimalContext returns the arithmetic of decimal128: 34 digits, half to even, and subnormal
// numbers. An invalid operation gives NaN and an overflow gives infinity, without an error.
func decimalContext() apd.Context {
	return apd.Context{
		Precision: digits, MaxExponent: maxAdjusted, MinExponent: minAdjusted,
		Rounding: apd.RoundHalfEven,
	}
}

// toDecimal converts any number to a decimal; a double is rounded to 15 significant digits.
func toDecimal(v bsonx.Value) *apd.Decimal {
	switch v.Type {
	case bsonx.TypeInt32:
		return apd.New(int64(v.Int32()), 0)
	case bsonx.TypeInt64:
		return apd.New(v.Int64(), 0)
	case bsonx.TypeDouble:
		return doubleToDecimal(v.Double(), 15)
	default:
		return decode(v.Decimal())
	}
}

func decode(d bsonx.Decimal) *apd.Decimal {
	out := &apd.Decimal{Negative: d.Neg, Exponent: int32(d.Exp)}
	switch d.Kind {
	case bsonx.DecimalNaN:
		out.Form, out.Exponent = apd.NaN, 0
	case bsonx.DecimalInf:
		out.Form, out.Exponent = apd.Infinite, 0
	default:
		var lo apd.BigInt
		out.Coeff.SetUint64(d.Hi)
		out.Coeff.Lsh(&out.Coeff, 64)
		out.Coeff.Or(&out.Coeff, lo.SetUint64(d.Lo))
	}
	return out
}

// encode converts a decimal of at most 34 digits to a value. If the exponent is too large, it
// appends zeros to the coefficient instead. If they do not fit, the result is infinite.
func encode(d *apd.Decimal) bsonx.Value {
	out := bsonx.Decimal{Neg: d.Negative}
	switch d.Form {
	case apd.NaN, apd.NaNSignaling:
		return bsonx.Decimal{Kind: bsonx.DecimalNaN}.Value()
	case apd.Infinite:
		out.Kind = bsonx.DecimalInf
		return out.Value()
	case apd.Finite:
	}
	coeff, exp := &d.Coeff, int(d.Exponent)
	if coeff.Sign() == 0 {
		out.Exp = min(max(exp, bsonx.MinDecimalExp), bsonx.MaxDecimalExp)
		return out.Value()
	}
	if over := exp - bsonx.MaxDecimalExp; over > 0 {
		if over+int(d.NumDigits()) > digits {
			out.Kind = bsonx.DecimalInf
			return out.Value()
		}
		var ten, scaled apd.BigInt
		ten.Exp(ten.SetInt64(10), new(apd.BigInt).SetInt64(int64(over)), nil)
		coeff, exp = scaled.Mul(coeff, &ten), bsonx.MaxDecimalExp
	}
	var part apd.BigInt
	out.Exp = exp
	out.Hi = part.Rsh(coeff, 64).Uint64()
	out.Lo = part.And(coeff, new(apd.BigInt).SetUint64(math.MaxUint64)).Uint64()
	return out.Value()
}

// doubleToDecimal converts a double to a decimal with precision significant digits. With 15 digits,
// which every double represents faithfully, MongoDB keeps trailing zeros: 0.5 is 0.500000000000000.
// With 34 digits it drops them.
func doubleToDecimal(f float64, precision int) *apd.Decimal {
	switch {
	case math.IsNaN(f):
		return &apd.Decimal{Form: apd.NaN}
	case math.IsInf(f, 0):
		return &apd.Decimal{Form: apd.Infinite, Negative: f < 0}
	case f == 0:
		return &apd.Decimal{Negative: math.Signbit(f)}
	}
	text := strconv.FormatFloat(math.Abs(f), 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	exp, _ := strconv.Atoi(exponent)
	out := &apd.Decimal{Negative: f < 0, Exponent: int32(exp - precision + 1)}
	coeff := mantissa[:1] + mantissa[2:]
	if precision > 15 {
		trimmed := strings.TrimRight(coeff, "0")
		out.Exponent += int32(len(coeff) - len(trimmed))
		coeff = trimmed
	}
	out.Coeff.SetString(coeff, 10)
	return out
}

// decimalOp applies an operation of the decimal arithmetic to two numbers.
func decimalOp(a, b bsonx.Value, op func(c *apd.Context, d, x, y *apd.Decimal) (apd.Condition, error)) bsonx.Value {
	return decimalCompute(toDecimal(a), toDecimal(b), op)
}

func decimalCompute(x, y *apd.Decimal,
	op func(c *apd.Context, d, x, y *apd.Decimal) (apd.Condition, error),
) bsonx.Value {
	var out apd.Decimal
	c := decimalContext()
	if _, err := op(&c, &out, x, y); err != nil {
		out.Form = apd.NaN
	}
	return encode(&out)
}

// decimalFunc applies a function with one decimal argument.
func decimalFunc(v bsonx.Value, op func(c *apd.Context, d, x *apd.Decimal) (apd.Condition, error)) bsonx.Value {
	var out apd.Decimal
	c := decimalContext()
	if _, err := op(&c, &out, toDecimal(v)); err != nil {
		out.Form = apd.NaN
	}
	return encode(&out)
}

// quo divides. An exact quotient keeps the preferred exponent, which is the difference of the
// exponents, as far as its digits allow: 6 / 4 is 1.5, 10 / 5 is 2.
func quo(c *apd.Context, d, x, y *apd.Decimal) (apd.Condition, error) {
	preferred := x.Exponent - y.Exponent
	cond, err := c.Quo(d, x, y)
	if err == nil && !cond.Inexact() && (!cond.Subnormal() || isQuotient(d, x, y)) {
		dropZeros(d, preferred)
	}
	return cond, err
}

// isQuotient reports whether d is exactly x / y. For a subnormal quotient apd's condition does not
// say so.
func isQuotient(d, x, y *apd.Decimal) bool {
	m := newWide()
	return m.mul(d, y).Cmp(x) == 0
}

// exactSqrt removes the trailing zeros of an exact root until the exponent is half the exponent of
// the operand: the root of 4 is 2, the root of 4.00 is 2.0.
func exactSqrt(c *apd.Context, d, x *apd.Decimal) (apd.Condition, error) {
	preferred := x.Exponent >> 1
	cond, err := c.Sqrt(d, x)
	var square apd.Decimal
	if err != nil {
		return cond, err
	}
	// apd's condition does not say whether the root is exact.
	wider := *c
	wider.Precision = 2 * digits
	if _, err := wider.Mul(&square, d, d); err == nil && square.Cmp(x) == 0 {
		dropZeros(d, preferred)
	}
	return cond, nil
}

// dropZeros removes trailing zeros of the coefficient until the exponent is the preferred one.
func dropZeros(d *apd.Decimal, preferred int32) {
	if d.Form != apd.Finite {
		return
	}
	if d.Coeff.Sign() == 0 {
		d.Exponent = max(d.Exponent, preferred)
		return
	}
	var ten, q, r apd.BigInt
	ten.SetInt64(10)
	for d.Exponent < preferred {
		if q.QuoRem(&d.Coeff, &ten, &r); r.Sign() != 0 {
			return
		}
		d.Coeff.Set(&q)
		d.Exponent++
	}
}
