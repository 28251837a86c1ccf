package numeric

import (
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// The functions here take a number in their domain, convert it to a decimal, compute with
// wideDigits digits, and round the result to a binary128 and then to 34 digits. NaN gives NaN.

// Sin returns the sine of a finite number.
func Sin(v bsonx.Value) bsonx.Value {
	return throughBinary(v, func(m *wide, x *apd.Decimal) *apd.Decimal { s, _ := m.sinCos(x); return s })
}

// Cos returns the cosine of a finite number.
func Cos(v bsonx.Value) bsonx.Value {
	return digitsOfOne(throughBinary(v, func(m *wide, x *apd.Decimal) *apd.Decimal { _, c := m.sinCos(x); return c }))
}

// Tan returns the tangent of a finite number.
func Tan(v bsonx.Value) bsonx.Value {
	return zeroAt(throughBinary(v, func(m *wide, x *apd.Decimal) *apd.Decimal {
		s, c := m.sinCos(x)
		return m.quo(s, c)
	}), shortZero)
}

// largeAngle is where the functions of package math begin to lose digits. They reduce an angle from
// 2^29 on to a fraction of 53 bits, and then subtract, so that results near 0 are inexact.
const largeAngle = 1 << 29

func isLargeAngle(f float64) bool { return math.Abs(f) >= largeAngle && !math.IsInf(f, 0) }

// SinDouble returns the sine of a double.
func SinDouble(f float64) float64 {
	if !isLargeAngle(f) {
		return math.Sin(f)
	}
	s, _ := sinCosDouble(f)
	return s
}

// CosDouble returns the cosine of a double.
func CosDouble(f float64) float64 {
	if !isLargeAngle(f) {
		return math.Cos(f)
	}
	_, c := sinCosDouble(f)
	return c
}

// TanDouble returns the tangent of a double.
func TanDouble(f float64) float64 {
	if !isLargeAngle(f) {
		return math.Tan(f)
	}
	s, c := sinCosDouble(f)
	return s / c
}

// sinCosDouble computes with wideDigits digits, as for decimals.
func sinCosDouble(f float64) (sin, cos float64) {
	m := newWide()
	x, _, err := apd.NewFromString(new(big.Float).SetFloat64(f).Text('f', wideDigits))
	if err != nil {
		return math.NaN(), math.NaN()
	}
	s, c := m.sinCos(x)
	return nearestDouble(s), nearestDouble(c)
}

func nearestDouble(d *apd.Decimal) float64 {
	f, _ := ParseDouble(d.Text('e'))
	return f
}

// Asin returns the inverse sine of a number from -1 to 1.
func Asin(v bsonx.Value) bsonx.Value { return zeroAt(throughBinary(v, (*wide).asin), shortZero) }

// Acos returns the inverse cosine of a number from -1 to 1.
func Acos(v bsonx.Value) bsonx.Value {
	return zeroAt(throughBinary(v, (*wide).acos), bsonx.MinDecimalExp)
}

// Atan returns the inverse tangent.
func Atan(v bsonx.Value) bsonx.Value { return throughBinary(v, (*wide).atan) }

// Sinh returns the hyperbolic sine.
func Sinh(v bsonx.Value) bsonx.Value { return zeroAt(throughBinary(v, (*wide).sinh), shortZero) }

// Cosh returns the hyperbolic cosine.
func Cosh(v bsonx.Value) bsonx.Value { return digitsOfOne(throughBinary(v, (*wide).cosh)) }

// Tanh returns the hyperbolic tangent.
func Tanh(v bsonx.Value) bsonx.Value { return throughBinary(v, (*wide).tanh) }

// Asinh returns the inverse hyperbolic sine.
func Asinh(v bsonx.Value) bsonx.Value {
	return zeroAt(throughBinary(v, (*wide).asinh), bsonx.MinDecimalExp)
}

// Acosh returns the inverse hyperbolic cosine of a number that is at least 1.
func Acosh(v bsonx.Value) bsonx.Value { return throughBinary(v, (*wide).acosh) }

// Atanh returns the inverse hyperbolic tangent of a number from -1 to 1.
func Atanh(v bsonx.Value) bsonx.Value {
	return zeroAt(throughBinary(v, (*wide).atanh), bsonx.MinDecimalExp)
}

// Atan2 returns the angle of the point (x, y).
func Atan2(y, x bsonx.Value) bsonx.Value {
	b := toDecimal(x)
	return zeroAt(throughBinary(y, func(m *wide, a *apd.Decimal) *apd.Decimal {
		if b.Form == apd.NaN {
			return b
		}
		return m.atan2(a, b)
	}), bsonx.MinDecimalExp)
}

// shortZero is the exponent of zero results of some functions in MongoDB.
const shortZero = -40

// zeroAt gives a zero result the exponent that MongoDB gives it.
func zeroAt(v bsonx.Value, exponent int) bsonx.Value {
	if !IsZero(v) {
		return v
	}
	return bsonx.Decimal{Neg: v.Decimal().Neg, Exp: exponent}.Value()
}

// digitsOfOne returns a result of 1 with all 34 digits.
func digitsOfOne(v bsonx.Value) bsonx.Value {
	if IsNaN(v) || bsonx.CompareValues(v, one) != 0 {
		return v
	}
	return padded(apd.New(1, 0))
}

// throughBinary applies a function to a decimal as MongoDB does: the result is rounded to a
// binary128 on the way. Results that are not exact have 34 digits, including trailing zeros.
func throughBinary(v bsonx.Value, f func(m *wide, x *apd.Decimal) *apd.Decimal) bsonx.Value {
	x := toDecimal(v)
	if x.Form == apd.NaN {
		return encode(x)
	}
	out := asBinary(f(newWide(), x))
	if isTiny(out) {
		return zeroResult(out.Negative)
	}
	if rounded := reduced(out); rounded.Form == apd.Finite && rounded.NumDigits() < 20 {
		return encode(rounded) // exact, such as log10 of 1000
	}
	return padded(out)
}

// isTiny reports whether a number is smaller than a tenth of the smallest decimal128.
func isTiny(x *apd.Decimal) bool {
	return x.Form == apd.Finite && !x.IsZero() && int64(x.Exponent)+x.NumDigits() < bsonx.MinDecimalExp
}

// maxTerms limits the length of a series. A series ends when a term is smaller than the last digit,
// and the arguments are small enough for far fewer terms.
const maxTerms = 200

// series sums x + x³/d(1) + x⁵/(d(1)·d(2)) + …. Each term is the previous one times square, which
// is x² with the sign, times num(n) / den(n).
func (m *wide) series(first, square *apd.Decimal, num, den func(n int64) int64) *apd.Decimal {
	sum, term := first, first
	for n := int64(1); n < maxTerms && !term.IsZero(); n++ {
		term = m.mul(term, square)
		if f := num(n); f != 1 {
			term = m.mul(term, apd.New(f, 0))
		}
		term = m.quo(term, apd.New(den(n), 0))
		next := m.add(sum, term)
		if next.Cmp(sum) == 0 {
			break
		}
		sum = next
	}
	return sum
}

func always1(int64) int64 { return 1 }

// sinCos reduces the angle to at most a quarter of pi.
func (m *wide) sinCos(x *apd.Decimal) (sin, cos *apd.Decimal) {
	if x.IsZero() {
		return x, m.int(1)
	}
	quadrant, rest := m.reduce(x)
	minus := m.neg(m.mul(rest, rest))
	sin = m.series(rest, minus, always1, func(n int64) int64 { return 2 * n * (2*n + 1) })
	cos = m.series(m.int(1), minus, always1, func(n int64) int64 { return (2*n - 1) * 2 * n })
	switch quadrant {
	case 1:
		return cos, m.neg(sin)
	case 2:
		return m.neg(sin), m.neg(cos)
	case 3:
		return m.neg(cos), sin
	}
	return sin, cos
}

// atan halves the angle until the series is short: atan x = 2 atan(x / (1 + √(1 + x²))).
func (m *wide) atan(x *apd.Decimal) *apd.Decimal {
	switch {
	case x.IsZero():
		return x
	case x.Form == apd.Infinite:
		return m.sign(m.quo(m.pi(), m.int(2)), x)
	case m.abs(x).Cmp(m.int(1)) > 0:
		return m.sign(m.sub(m.quo(m.pi(), m.int(2)), m.atan(m.quo(m.int(1), m.abs(x)))), x)
	}
	factor := int64(1)
	for m.abs(x).Cmp(apd.New(1, -1)) > 0 {
		x = m.quo(x, m.add(m.int(1), m.sqrt(m.add(m.int(1), m.mul(x, x)))))
		factor *= 2
	}
	sum := m.odd(x, m.neg(m.mul(x, x)))
	return m.mul(sum, m.int(factor))
}

// odd computes x + s·x/3 + s²·x/5 + …, the series of atan (s = -x²) and atanh (s = x²).
func (m *wide) odd(x, s *apd.Decimal) *apd.Decimal {
	return m.series(x, s, func(n int64) int64 { return 2*n - 1 }, func(n int64) int64 { return 2*n + 1 })
}

func (m *wide) atan2(y, x *apd.Decimal) *apd.Decimal {
	if y.Form == apd.Infinite || x.Form == apd.Infinite {
		// Only the direction matters.
		unit := func(d *apd.Decimal) *apd.Decimal {
			if d.Form != apd.Infinite {
				return m.sign(m.int(0), d)
			}
			return m.sign(m.int(1), d)
		}
		y, x = unit(y), unit(x)
	}
	switch {
	case y.IsZero() && !x.Negative:
		return y
	case x.IsZero() && !y.IsZero():
		return m.sign(m.quo(m.pi(), m.int(2)), y)
	case !x.Negative:
		return m.atan(m.quo(y, x))
	case y.IsZero():
		return m.sign(m.pi(), y)
	}
	return m.sign(m.sub(m.pi(), m.atan(m.abs(m.quo(y, x)))), y)
}

func (m *wide) asin(x *apd.Decimal) *apd.Decimal {
	if x.IsZero() {
		return x
	}
	cos := m.sqrt(m.mul(m.sub(m.int(1), x), m.add(m.int(1), x)))
	return m.atan2(x, cos)
}

// acos computes acos x = 2 atan √((1 - x) / (1 + x)), which loses no digits near 1.
func (m *wide) acos(x *apd.Decimal) *apd.Decimal {
	up, down := m.sub(m.int(1), x), m.add(m.int(1), x)
	if down.IsZero() {
		return m.pi()
	}
	return m.mul(m.int(2), m.atan(m.sqrt(m.quo(up, down))))
}
