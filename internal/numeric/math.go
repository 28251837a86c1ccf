package numeric

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Sqrt returns the square root. A negative number is an error.
func Sqrt(v bsonx.Value) (bsonx.Value, error) {
	if err := checkNumber("$sqrt", v); err != nil {
		return bsonx.Value{}, err
	}
	if bsonx.CompareValues(v, zero) < 0 && !IsNaN(v) {
		return bsonx.Value{}, mongoerr.New(mongoerr.Code(28714), "$sqrt's argument must be greater than or equal to 0")
	}
	if v.Type == bsonx.TypeDecimal128 {
		return decimalFunc(v, exactSqrt), nil
	}
	return bsonx.Double(math.Sqrt(float(v))), nil
}

// Exp returns e to the power of a number.
func Exp(v bsonx.Value) (bsonx.Value, error) {
	if err := checkNumber("$exp", v); err != nil {
		return bsonx.Value{}, err
	}
	if v.Type == bsonx.TypeDecimal128 {
		return throughBinary(v, (*wide).exp), nil
	}
	return bsonx.Double(math.Exp(float(v))), nil
}

// Ln returns the natural logarithm of a positive number.
func Ln(v bsonx.Value) (bsonx.Value, error) {
	return logarithm("$ln", 28766, v, naturalLog, (*wide).ln)
}

// Log10 returns the decimal logarithm of a positive number.
func Log10(v bsonx.Value) (bsonx.Value, error) {
	return logarithm("$log10", 28761, v, commonLog, (*wide).log10)
}

func logarithm(op string, code mongoerr.Code, v bsonx.Value, double func(float64) float64,
	decimal func(m *wide, x *apd.Decimal) *apd.Decimal,
) (bsonx.Value, error) {
	if err := checkNumber(op, v); err != nil {
		return bsonx.Value{}, err
	}
	if bsonx.CompareValues(v, zero) <= 0 && !IsNaN(v) {
		return bsonx.Value{}, mongoerr.New(code,
			"%s's argument must be a positive number, but is %s", op, FormatDouble(float(v)))
	}
	if v.Type == bsonx.TypeDecimal128 && !IsNaN(v) {
		return throughBinary(v, decimal), nil
	}
	return bsonx.Double(double(float(v))), nil // a decimal NaN gives a double NaN, as in MongoDB
}

// Log returns the logarithm of a positive number to a positive base other than 1.
func Log(v, base bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$log", v, base); err != nil {
		return bsonx.Value{}, err
	}
	isDecimal := Widest(v.Type, base.Type) == bsonx.TypeDecimal128
	if isDecimal && bsonx.CompareValues(v, zero) > 0 && bsonx.CompareValues(base, zero) > 0 &&
		bsonx.CompareValues(base, one) != 0 {
		return decimalQuotient(throughBinary(v, (*wide).ln), throughBinary(base, (*wide).ln)), nil
	}
	x, b := float(v), float(base) // errors are decided on doubles, as in MongoDB
	if x <= 0 {
		return bsonx.Value{}, mongoerr.New(mongoerr.Code(28758),
			"$log's argument must be a positive number, but is %s", FormatDouble(float(v)))
	}
	if b <= 0 || b == 1 {
		return bsonx.Value{}, mongoerr.New(mongoerr.Code(28759),
			"$log's base must be a positive number not equal to 1, but is %s", FormatDouble(float(base)))
	}
	return bsonx.Double(naturalLog(x) / naturalLog(b)), nil
}

// naturalLog, commonLog and doublePow replace the functions of package math, which are wrong for
// subnormal numbers (Go 1.26, amd64).
func naturalLog(f float64) float64 {
	if f > 0 && f < smallestNormal {
		fraction, exponent := math.Frexp(f)
		return math.Log(fraction) + float64(exponent)*math.Ln2
	}
	return math.Log(f)
}

func commonLog(f float64) float64 {
	if f > 0 && f < smallestNormal {
		return naturalLog(f) / math.Ln10
	}
	return math.Log10(f)
}

func doublePow(base, exponent float64) float64 {
	if base != 0 && math.Abs(base) < smallestNormal && !math.IsInf(exponent, 0) {
		fraction, power := math.Frexp(base)
		return math.Pow(fraction, exponent) * math.Pow(2, float64(power)*exponent)
	}
	return math.Pow(base, exponent)
}

// Pow raises a number to a power. The result of integers is an integer if it fits into an int64.
func Pow(base, exponent bsonx.Value) (bsonx.Value, error) {
	if err := checkNumbers("$pow", base, exponent); err != nil {
		return bsonx.Value{}, err
	}
	if IsZero(base) && bsonx.CompareValues(exponent, zero) < 0 && !IsNaN(exponent) {
		return bsonx.Value{}, errZeroBase()
	}
	switch widest := Widest(base.Type, exponent.Type); widest {
	case bsonx.TypeDecimal128:
		if IsZero(base) && toDecimal(exponent).Negative && !IsNaN(exponent) { // -0 is negative here, too
			return bsonx.Value{}, errZeroBase()
		}
		return decimalPow(base, exponent), nil
	case bsonx.TypeDouble:
		return bsonx.Double(doublePow(float(base), float(exponent))), nil
	default:
		if i, ok := powInt64(long(base), long(exponent)); ok {
			return integer(i, widest), nil
		}
		return bsonx.Double(doublePow(float(base), float(exponent))), nil
	}
}

func errZeroBase() error {
	return mongoerr.New(mongoerr.Code(28764), "$pow cannot take a base of 0 and a negative exponent")
}

// decimalPow computes a power with 34 digits first, to detect infinity, zero and NaN, and then with
// more digits. It keeps trailing zeros, as MongoDB does.
func decimalPow(base, exponent bsonx.Value) bsonx.Value {
	v := anyDecimalPow(base, exponent)
	if IsZero(v) {
		return zeroResult(false)
	}
	return v
}

// zeroResult is the zero that many decimal functions of MongoDB return.
func zeroResult(negative bool) bsonx.Value {
	return bsonx.Decimal{Neg: negative, Exp: bsonx.MinDecimalExp}.Value()
}

func anyDecimalPow(base, exponent bsonx.Value) bsonx.Value {
	b, e := toDecimal(base), toDecimal(exponent)
	if IsZero(exponent) || b.Form == apd.Finite && b.Cmp(apd.New(1, 0)) == 0 {
		return padded(apd.New(1, 0)) // 1 to the power of NaN is 1, too
	}
	if e.Form == apd.Infinite && (b.Form == apd.Infinite || b.Form == apd.Finite && !b.IsZero()) ||
		b.Form == apd.Infinite && e.Form == apd.Finite {
		return powLimit(b, e)
	}
	first := decimalOp(base, exponent, (*apd.Context).Pow)
	if IsNaN(first) && b.Form == apd.Finite && e.Form == apd.Finite && (!b.Negative || isWhole(e)) {
		return powLimit(b, e) // the exponent is too large or too small for apd
	}
	if d := first.Decimal(); d.Kind != bsonx.DecimalFinite || d.IsZero() {
		return first
	}
	m := newWide()
	return padded(asBinary(m.do2((*apd.Context).Pow, b, e)))
}

// powLimit returns the limit of a power for an infinite base or an exponent far from 0: infinity,
// zero or, for the bases 1 and -1, 1.
func powLimit(base, exponent *apd.Decimal) bsonx.Value {
	size := new(apd.Decimal).Abs(base)
	away := size.Cmp(apd.New(1, 0))
	if away == 0 {
		return padded(apd.New(1, 0))
	}
	out := new(apd.Decimal)
	if (away > 0) != exponent.Negative {
		out.Form = apd.Infinite
	}
	out.Negative = base.Negative && isOdd(exponent)
	return encode(out)
}

func isWhole(d *apd.Decimal) bool {
	var rest apd.Decimal
	d.Modf(nil, &rest)
	return rest.IsZero()
}

// isOdd reports whether a number is an odd whole number.
func isOdd(d *apd.Decimal) bool {
	if d.Form != apd.Finite || d.Exponent > 0 {
		return false
	}
	var whole, rest apd.Decimal
	d.Modf(&whole, &rest)
	return rest.IsZero() && whole.Coeff.Bit(0) == 1
}

// powInt64 computes a power by squaring. It reports false if the result is not an integer or does
// not fit.
func powInt64(base, exp int64) (int64, bool) {
	switch {
	case base == 1 || exp == 0:
		return 1, true
	case base == -1:
		return 1 - 2*(exp&1), true
	case exp < 0:
		return 0, false
	}
	result, ok := int64(1), true
	for exp > 0 && ok {
		if exp&1 == 1 {
			if result, ok = mulInt64(result, base); !ok {
				return 0, false
			}
		}
		if exp >>= 1; exp > 0 {
			base, ok = mulInt64(base, base)
		}
	}
	return result, ok
}

var (
	zero = bsonx.Int32(0)
	one  = bsonx.Int32(1)
)
