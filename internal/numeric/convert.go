package numeric

import (
	"math"
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// ToInt32 converts a number to an int32, truncating toward zero, as $toInt does.
func ToInt32(v bsonx.Value) (bsonx.Value, error) {
	i, err := toInteger(v)
	if err != nil {
		return bsonx.Value{}, err
	}
	if i < math.MinInt32 || i > math.MaxInt32 {
		return bsonx.Value{}, conversionOverflow(v)
	}
	return bsonx.Int32(int32(i)), nil
}

// ToInt64 converts a number to an int64, truncating toward zero, as $toLong does.
func ToInt64(v bsonx.Value) (bsonx.Value, error) {
	i, err := toInteger(v)
	if err != nil {
		return bsonx.Value{}, err
	}
	return bsonx.Int64(i), nil
}

func toInteger(v bsonx.Value) (int64, error) {
	if err := checkNumber("$convert", v); err != nil {
		return 0, err
	}
	if IsNaN(v) {
		return 0, mongoerr.New(mongoerr.ConversionFailure, "Attempt to convert NaN value to integer type in $convert with no onError value")
	}
	if IsInfinite(v) {
		return 0, mongoerr.New(mongoerr.ConversionFailure,
			"Attempt to convert infinity value to integer type in $convert with no onError value")
	}
	i, ok := v.AsInt64()
	if !ok {
		return 0, conversionOverflow(v)
	}
	return i, nil
}

// conversionOverflow returns the error for a number that the target type cannot hold. Like MongoDB
// it does not show the number if it is a long.
func conversionOverflow(v bsonx.Value) error {
	shown := ""
	if v.Type != bsonx.TypeInt64 {
		shown = Format(v)
	}
	return mongoerr.New(mongoerr.ConversionFailure, "Conversion would overflow target type in $convert with no onError value: %s", shown)
}

// ToDouble converts a number to a double, as $toDouble does. It returns an error for a decimal
// beyond the range of doubles.
func ToDouble(v bsonx.Value) (bsonx.Value, error) {
	if err := checkNumber("$convert", v); err != nil {
		return bsonx.Value{}, err
	}
	f := float(v)
	if v.Type == bsonx.TypeDecimal128 &&
		(math.IsInf(f, 0) && !IsInfinite(v) || math.Abs(f) < smallestNormal && !IsZero(v)) {
		return bsonx.Value{}, conversionOverflow(v)
	}
	return bsonx.Double(f), nil
}

// ToDecimal converts a number to a decimal, as $toDecimal does: a double is rounded to 15 digits.
func ToDecimal(v bsonx.Value) (bsonx.Value, error) {
	if err := checkNumber("$convert", v); err != nil {
		return bsonx.Value{}, err
	}
	if v.Type == bsonx.TypeDecimal128 {
		return v.Clone(), nil
	}
	return encode(toDecimal(v)), nil
}

// ParseDouble parses the text of a double as $toDouble does: it accepts no blanks, no underscores
// and no hexadecimal numbers.
func ParseDouble(s string) (float64, bool) {
	for i := range len(s) {
		if c := s[i]; c == 'x' || c == 'X' || c == '_' || c == 'p' || c == 'P' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.Abs(f) >= smallestNormal {
		return f, err == nil
	}
	// A number too small for a normal double is out of range like a number that is too large. Zero
	// is in range.
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return f, !strings.ContainsAny(mantissa, "123456789")
}

const smallestNormal = 0x1p-1022

// FormatDouble returns a double with six digits, as in MongoDB's error messages: 1.5, 1e+20, nan,
// -inf.
func FormatDouble(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "+")
	default:
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
}

// Format returns a number as in MongoDB's error messages.
func Format(v bsonx.Value) string {
	switch v.Type {
	case bsonx.TypeInt32, bsonx.TypeInt64:
		return strconv.FormatInt(long(v), 10)
	case bsonx.TypeDouble:
		return FormatDouble(v.Double())
	case bsonx.TypeDecimal128:
		return bsonx.FormatDecimal(v)
	default:
		return v.Type.String()
	}
}

// IsFinite reports whether a number is neither an infinity nor NaN.
func IsFinite(v bsonx.Value) bool { return !IsNaN(v) && !IsInfinite(v) }

// IsInfinite reports whether a value is an infinity. A finite decimal beyond the range of doubles
// is not infinite.
func IsInfinite(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeDouble:
		return math.IsInf(v.Double(), 0)
	case bsonx.TypeDecimal128:
		return v.Decimal().Kind == bsonx.DecimalInf
	default:
		return false
	}
}
