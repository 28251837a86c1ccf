package numeric

import (
	"math/big"

	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// wideDigits is the precision of results before they are rounded to 34 digits. It has room for the
// digits lost in a series and in range reduction, and for the digits that cancel if an operand of
// 34 digits is near a zero of the function.
const wideDigits = 75

// wide is arithmetic with many digits. Its operations cannot fail: the operands are finite and the
// exponents have room.
type wide struct{ c apd.Context }

func newWide() *wide {
	return &wide{apd.Context{
		Precision: wideDigits, MaxExponent: apd.MaxExponent,
		MinExponent: apd.MinExponent, Rounding: apd.RoundHalfEven,
	}}
}

type unary = func(c *apd.Context, d, x *apd.Decimal) (apd.Condition, error)

type binary = func(c *apd.Context, d, x, y *apd.Decimal) (apd.Condition, error)

func (m *wide) do1(op unary, x *apd.Decimal) *apd.Decimal {
	out := new(apd.Decimal)
	if _, err := op(&m.c, out, x); err != nil {
		out.Form = apd.NaN
	}
	return out
}

func (m *wide) do2(op binary, x, y *apd.Decimal) *apd.Decimal {
	out := new(apd.Decimal)
	if _, err := op(&m.c, out, x, y); err != nil {
		out.Form = apd.NaN
	}
	return out
}

func (m *wide) add(x, y *apd.Decimal) *apd.Decimal { return m.do2((*apd.Context).Add, x, y) }
func (m *wide) sub(x, y *apd.Decimal) *apd.Decimal { return m.do2((*apd.Context).Sub, x, y) }
func (m *wide) mul(x, y *apd.Decimal) *apd.Decimal { return m.do2((*apd.Context).Mul, x, y) }
func (m *wide) quo(x, y *apd.Decimal) *apd.Decimal { return m.do2((*apd.Context).Quo, x, y) }
func (m *wide) sqrt(x *apd.Decimal) *apd.Decimal   { return m.do1((*apd.Context).Sqrt, x) }
func (m *wide) exp(x *apd.Decimal) *apd.Decimal    { return m.do1((*apd.Context).Exp, x) }
func (m *wide) ln(x *apd.Decimal) *apd.Decimal     { return m.do1((*apd.Context).Ln, x) }
func (m *wide) log10(x *apd.Decimal) *apd.Decimal  { return m.do1((*apd.Context).Log10, x) }
func (m *wide) neg(x *apd.Decimal) *apd.Decimal    { return new(apd.Decimal).Neg(x) }
func (m *wide) abs(x *apd.Decimal) *apd.Decimal    { return new(apd.Decimal).Abs(x) }
func (m *wide) int(i int64) *apd.Decimal           { return apd.New(i, 0) }

// sign returns magnitude with the sign of another number.
func (m *wide) sign(magnitude, of *apd.Decimal) *apd.Decimal {
	out := new(apd.Decimal).Abs(magnitude)
	out.Negative = of.Negative
	return out
}

func (m *wide) pi() *apd.Decimal {
	out := apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(piDigits(wideDigits)), -wideDigits)
	return out
}

// reduce returns x - k·π/2 for the nearest whole number k, and k modulo 4.
func (m *wide) reduce(x *apd.Decimal) (quadrant int, rest *apd.Decimal) {
	if m.abs(x).Cmp(apd.New(75, -2)) < 0 {
		return 0, x
	}
	// Fixed point needs so many digits that k times the error of π stays smaller than the last
	// significant digit, even if the first 34 digits of the rest cancel.
	scale := max(int(x.NumDigits())+int(x.Exponent), 0) + wideDigits + digits
	half := new(big.Int).Rsh(piDigits(scale), 1)
	fixed := new(big.Int).Mul(x.Coeff.MathBigInt(), pow10(int(x.Exponent)+scale))
	if x.Negative {
		fixed.Neg(fixed)
	}
	k, r := new(big.Int).DivMod(fixed, half, new(big.Int))
	if new(big.Int).Lsh(r, 1).Cmp(half) > 0 {
		k.Add(k, big.NewInt(1))
		r.Sub(r, half)
	}
	rest = apd.NewWithBigInt(new(apd.BigInt).SetMathBigInt(r), -int32(scale))
	return int(new(big.Int).And(k, big.NewInt(3)).Int64()), m.do1((*apd.Context).Round, rest)
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// piDigits returns π · 10^places by Machin's formula: π = 16 atan(1/5) - 4 atan(1/239).
func piDigits(places int) *big.Int {
	const guard = 10
	one := pow10(places + guard)
	pi := new(big.Int).Mul(big.NewInt(16), atanInverse(5, one))
	pi.Sub(pi, new(big.Int).Mul(big.NewInt(4), atanInverse(239, one)))
	return pi.Quo(pi, pow10(guard))
}

// atanInverse returns atan(1/n) in fixed point.
func atanInverse(n int64, one *big.Int) *big.Int {
	power := new(big.Int).Quo(one, big.NewInt(n))
	sum := new(big.Int).Set(power)
	square, term := big.NewInt(n*n), new(big.Int)
	for k := int64(3); power.Sign() != 0; k += 2 {
		power.Quo(power, square)
		term.Quo(power, big.NewInt(k))
		if k%4 == 3 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	return sum
}

// binaryDigits is the precision of a binary128. MongoDB rounds the results of these functions to
// binary128, which is why their last digit is sometimes off by one.
const binaryDigits = 113

// asBinary rounds a number to the precision of a binary128. Numbers beyond its exponents stay
// unchanged.
func asBinary(x *apd.Decimal) *apd.Decimal {
	const limit = 4900
	if adjusted := int(x.Exponent) + int(x.NumDigits()); x.Form != apd.Finite || x.IsZero() ||
		adjusted > limit || adjusted < -limit {
		return x
	}
	f, _, err := big.ParseFloat(x.Text('e'), 10, binaryDigits, big.ToNearestEven)
	if err != nil {
		return x
	}
	out, _, err := apd.NewFromString(f.Text('e', wideDigits))
	if err != nil {
		return x
	}
	if out.Cmp(x) == 0 {
		return x // exact, and with its original digits
	}
	return out
}

// padded rounds a number to 34 digits and keeps trailing zeros.
func padded(x *apd.Decimal) bsonx.Value {
	out := new(apd.Decimal)
	c := decimalContext()
	if _, err := c.Round(out, x); err != nil {
		out.Form = apd.NaN
	}
	if out.Form != apd.Finite || out.IsZero() {
		return encode(out)
	}
	exp := max(out.Exponent+int32(out.NumDigits())-digits, bsonx.MinDecimalExp)
	if exp < out.Exponent {
		if _, err := c.Quantize(out, out, exp); err != nil {
			out.Form = apd.NaN
		}
	}
	return encode(out)
}

// reduced returns x without the trailing zeros of its fraction.
func reduced(x *apd.Decimal) *apd.Decimal {
	out := new(apd.Decimal).Set(x)
	dropZeros(out, 0)
	return out
}
