package bsonx

import (
	"cmp"
	"math"
	"math/big"
	"strconv"
)

// Limits of a decimal128. The value of a finite decimal is coefficient × 10^exponent.
const (
	MinDecimalExp = -6176
	MaxDecimalExp = 6111

	decimalBias = 6176
)

// DecimalKind distinguishes finite decimals, infinities and NaN.
type DecimalKind uint8

// Values of DecimalKind.
const (
	DecimalFinite DecimalKind = iota
	DecimalInf
	DecimalNaN
)

// Decimal is a decoded decimal128. BSON uses the binary integer encoding. Hi and Lo are the halves
// of the coefficient, which is less than 10^34. Exp is between MinDecimalExp and MaxDecimalExp.
type Decimal struct {
	Kind   DecimalKind
	Neg    bool
	Hi, Lo uint64
	Exp    int
}

// decodeDecimal decodes the two halves of a decimal128. A coefficient that is too large counts as
// zero.
func decodeDecimal(hi, lo uint64) Decimal {
	d := Decimal{Neg: hi>>63 != 0}
	if hi>>61&3 == 3 {
		switch hi >> 58 & 0x1f {
		case 0x1f:
			d.Kind = DecimalNaN
		case 0x1e:
			d.Kind = DecimalInf
		default: // the coefficient is 2^113 or more
			d.Exp = int(hi>>47&0x3fff) - decimalBias
		}
		return d
	}
	d.Exp = int(hi>>49&0x3fff) - decimalBias
	if c := (uint128{hi & (1<<49 - 1), lo}); c.cmp(pow10[maxDigits]) < 0 {
		d.Hi, d.Lo = c.hi, c.lo
	}
	return d
}

// Encode returns the two halves of the encoded decimal128.
func (d Decimal) Encode() (hi, lo uint64) {
	if d.Neg {
		hi = 1 << 63
	}
	switch d.Kind {
	case DecimalNaN:
		return hi | 0x1f<<58, 0
	case DecimalInf:
		return hi | 0x1e<<58, 0
	default:
		return hi | uint64(d.Exp+decimalBias)<<49 | d.Hi, d.Lo
	}
}

// Value returns the decimal as a value.
func (d Decimal) Value() Value { return Decimal128(d.Encode()) }

// Decimal decodes a decimal value.
func (v Value) Decimal() Decimal { return decodeDecimal(v.Decimal128()) }

// IsZero reports whether the decimal is 0 or -0 with any exponent.
func (d Decimal) IsZero() bool { return d.Kind == DecimalFinite && d.Hi|d.Lo == 0 }

// Digits returns the number of decimal digits of the coefficient. It returns 0 for zero.
func (d Decimal) Digits() int { return d.coef().digits() }

// AppendDigits appends the digits of the coefficient, "0" for zero.
func (d Decimal) AppendDigits(dst []byte) []byte { return d.coef().appendDigits(dst) }

// Reduced returns the same number without trailing zeros in the coefficient.
func (d Decimal) Reduced() Decimal {
	c, n := d.coef().trim()
	d.Hi, d.Lo, d.Exp = c.hi, c.lo, d.Exp+n
	return d
}

// WithExp returns the same number with the exponent exp. It reports false if the number cannot be
// written exactly with that exponent.
func (d Decimal) WithExp(exp int) (Decimal, bool) {
	if exp < MinDecimalExp || exp > MaxDecimalExp || d.Kind != DecimalFinite {
		return d, false
	}
	c, diff := d.coef(), d.Exp-exp
	d.Exp = exp
	switch {
	case c.isZero() || diff == 0:
		return d, true
	case diff > 0:
		if diff+c.digits() > maxDigits {
			return d, false
		}
		c = c.mul(pow10[diff])
	default:
		if -diff > maxDigits {
			return d, false
		}
		var rest uint128
		if c, rest = c.divmodPow10(-diff); !rest.isZero() {
			return d, false
		}
	}
	d.Hi, d.Lo = c.hi, c.lo
	return d, true
}

// Split returns the integer part of a finite decimal, and its fraction as frac / 10^places, both
// without the sign. ok is false if the integer part does not fit into 64 bits.
func (d Decimal) Split() (whole, fracHi, fracLo uint64, places int, ok bool) {
	c := d.coef()
	switch {
	case c.isZero():
		return 0, 0, 0, 0, true
	case d.Exp >= 0:
		if d.Exp > 19 {
			return 0, 0, 0, 0, false
		}
		if c.digits()+d.Exp > 20 {
			return 0, 0, 0, 0, false
		}
		c = c.mul(pow10[d.Exp])
		return c.lo, 0, 0, 0, c.hi == 0
	case -d.Exp > maxDigits:
		return 0, c.hi, c.lo, -d.Exp, true
	}
	q, r := c.divmodPow10(-d.Exp)
	return q.lo, r.hi, r.lo, -d.Exp, q.hi == 0
}

// roundsUp reports whether rounding a finite decimal to an integer increases its absolute value. A
// fraction of exactly one half rounds up if the integer part is odd.
func (d Decimal) roundsUp(odd bool) bool {
	_, hi, lo, places, ok := d.Split()
	if !ok || places == 0 || places > maxDigits { // with more places than digits, the fraction is below a tenth
		return false
	}
	c := uint128{hi, lo}.cmp(pow10[places-1].mul64(5))
	return c > 0 || c == 0 && odd
}

// compareMagnitude compares the absolute value of a finite decimal with a finite double that is not
// negative.
func (d Decimal) compareMagnitude(f float64) int {
	if near := d.magnitude(); near != f {
		// Rounding is monotonic: if the nearest double is less than f, the decimal is less than f
		// too.
		return cmp.Compare(near, f)
	}
	return d.compareExactly(f)
}

// Float64 returns the nearest double (ties to even).
func (d Decimal) Float64() float64 {
	var f float64
	switch d.Kind {
	case DecimalNaN:
		return math.NaN()
	case DecimalInf:
		f = math.Inf(1)
	default:
		f = d.magnitude()
	}
	if d.Neg {
		return -f
	}
	return f
}

func (d Decimal) coef() uint128 { return uint128{d.Hi, d.Lo} }

// exactPow10 lists the powers of ten that a double represents exactly.
var exactPow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// magnitude returns the double nearest to the absolute value of a finite decimal. It returns +Inf
// if the decimal is beyond the range of doubles.
func (d Decimal) magnitude() float64 {
	if d.Hi == 0 && d.Lo < 1<<53 {
		// Both operands are exact, so the result is rounded only once.
		switch {
		case d.Lo == 0:
			return 0
		case d.Exp >= 0 && d.Exp < len(exactPow10):
			return float64(d.Lo) * exactPow10[d.Exp]
		case d.Exp < 0 && -d.Exp < len(exactPow10):
			return float64(d.Lo) / exactPow10[-d.Exp]
		}
	}
	var buf [48]byte
	text := d.coef().appendDigits(buf[:0])
	text = append(text, 'e')
	text = strconv.AppendInt(text, int64(d.Exp), 10)
	// The only possible error is that the result is out of range. f is then +Inf.
	f, _ := strconv.ParseFloat(string(text), 64)
	return f
}

// compareExactly compares coefficient × 10^exp with mantissa × 2^exp2, converted to integers. f
// must be the double nearest to the decimal, which bounds the size of the integers.
func (d Decimal) compareExactly(f float64) int {
	if f == 0 || d.IsZero() {
		return boolInt(!d.IsZero())
	}
	if f == math.Trunc(f) && f < 1<<63 {
		if whole, fh, fl, _, ok := d.Split(); ok {
			if c := cmp.Compare(whole, uint64(f)); c != 0 {
				return c
			}
			return boolInt(fh|fl != 0)
		}
	}
	frac, exp2 := math.Frexp(f)
	left, right := d.coef().big(), big.NewInt(int64(frac*(1<<53)))
	exp2 -= 53
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(d.Exp, -d.Exp))), nil)
	if d.Exp >= 0 {
		left.Mul(left, scale)
	} else {
		right.Mul(right, scale)
	}
	if exp2 >= 0 {
		right.Lsh(right, uint(exp2))
	} else {
		left.Lsh(left, uint(-exp2))
	}
	return left.Cmp(right)
}

func (u uint128) big() *big.Int {
	b := new(big.Int).SetUint64(u.hi)
	b.Lsh(b, 64)
	return b.Or(b, new(big.Int).SetUint64(u.lo))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// decimalToInt64 truncates a decimal toward zero. It returns false for NaN and for numbers out of
// range.
func decimalToInt64(hi, lo uint64) (int64, bool) {
	d := decodeDecimal(hi, lo)
	if d.Kind != DecimalFinite {
		return 0, false
	}
	whole, _, _, _, ok := d.Split()
	switch {
	case !ok:
		return 0, false
	case d.Neg && whole <= 1<<63:
		return int64(-whole), true
	case !d.Neg && whole < 1<<63:
		return int64(whole), true
	default:
		return 0, false
	}
}

func decimalToFloat64(hi, lo uint64) float64 { return decodeDecimal(hi, lo).Float64() }

// compareDecimal compares two numbers of which at least one is a decimal.
func compareDecimal(a, b Value) int {
	switch {
	case a.Type == TypeDouble:
		return -compareDecimalDouble(b.Decimal(), a.Double())
	case b.Type == TypeDouble:
		return compareDecimalDouble(a.Decimal(), b.Double())
	default:
		return compareDecimals(asDecimal(a), asDecimal(b))
	}
}

// asDecimal converts an integer or a decimal. The conversion is always exact.
func asDecimal(v Value) Decimal {
	if v.Type == TypeDecimal128 {
		return v.Decimal()
	}
	i, _ := v.AsInt64()
	d := Decimal{Neg: i < 0, Lo: uint64(i)}
	if d.Neg {
		d.Lo = -d.Lo
	}
	return d
}

// rank returns the part of the number line in which a decimal lies: NaN, negative, zero or
// positive.
func (d Decimal) rank() int {
	switch {
	case d.Kind == DecimalNaN:
		return -2
	case d.IsZero():
		return 0
	case d.Neg:
		return -1
	default:
		return 1
	}
}

func compareDecimals(a, b Decimal) int {
	r := a.rank()
	if c := cmp.Compare(r, b.rank()); c != 0 || r == -2 || r == 0 {
		return c
	}
	return r * compareMagnitudes(a, b)
}

// compareMagnitudes compares the absolute values of two decimals that are neither zero nor NaN.
func compareMagnitudes(a, b Decimal) int {
	if a.Kind == DecimalInf || b.Kind == DecimalInf {
		return cmp.Compare(a.Kind, b.Kind)
	}
	ca, cb := a.coef(), b.coef()
	if c := cmp.Compare(ca.digits()+a.Exp, cb.digits()+b.Exp); c != 0 {
		return c
	}
	// The first digits of both coefficients have the same place value. So none exceeds 34 digits
	// after both have the same exponent.
	if a.Exp > b.Exp {
		ca = ca.mul(pow10[a.Exp-b.Exp])
	} else {
		cb = cb.mul(pow10[b.Exp-a.Exp])
	}
	return ca.cmp(cb)
}

func compareDecimalDouble(d Decimal, f float64) int {
	r, rf := d.rank(), -2
	if !math.IsNaN(f) {
		rf = cmp.Compare(f, 0)
	}
	if c := cmp.Compare(r, rf); c != 0 || r == -2 || r == 0 {
		return c
	}
	f = math.Abs(f)
	if d.Kind == DecimalInf || math.IsInf(f, 0) {
		return r * (boolInt(d.Kind == DecimalInf) - boolInt(math.IsInf(f, 0)))
	}
	return r * d.compareMagnitude(f)
}

// TruncFloat64 returns the absolute value of a finite decimal as a double, truncated toward zero,
// and whether the conversion is exact. For a decimal beyond the range of doubles it returns the
// largest double.
func (d Decimal) TruncFloat64() (f float64, exact bool) {
	f = d.magnitude()
	if math.IsInf(f, 1) {
		return math.MaxFloat64, false
	}
	switch d.compareMagnitude(f) {
	case 0:
		return f, true
	case -1:
		return math.Nextafter(f, 0), false
	default:
		return f, false
	}
}
