package numeric

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// AbsIn returns the absolute value. The smallest int32 becomes an int64, and the smallest int64 is
// an error.
func AbsIn(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if err := checkNumber("$abs", v); err != nil {
		return bsonx.Value{}, err
	}
	switch v.Type {
	case bsonx.TypeDouble:
		return out.Double(math.Abs(v.Double())), nil
	case bsonx.TypeDecimal128:
		d := v.Decimal()
		d.Neg = false
		return d.Value(), nil
	default:
		i := long(v)
		if i == math.MinInt64 {
			return bsonx.Value{}, mongoerr.New(mongoerr.Code(28680), "can't take $abs of long long min")
		}
		return integerIn(out, max(i, -i), v.Type), nil
	}
}

// CeilIn rounds up to a whole number of the same type.
func CeilIn(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	return whole(out, "$ceil", v, math.Ceil, apd.RoundCeiling)
}

// FloorIn rounds down to a whole number of the same type.
func FloorIn(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	return whole(out, "$floor", v, math.Floor, apd.RoundFloor)
}

func whole(out *bsonx.Arena, op string, v bsonx.Value, double func(float64) float64,
	rounding apd.Rounder,
) (bsonx.Value, error) {
	if err := checkNumber(op, v); err != nil {
		return bsonx.Value{}, err
	}
	switch v.Type {
	case bsonx.TypeDouble:
		return out.Double(double(v.Double())), nil
	case bsonx.TypeDecimal128:
		return wholeDecimal(toDecimal(v), rounding), nil
	default:
		return integerIn(out, long(v), v.Type), nil
	}
}

// wholeDecimal rounds up or down to an exponent of zero. Infinities and numbers with more than 34
// digits before the point give NaN.
func wholeDecimal(d *apd.Decimal, rounding apd.Rounder) bsonx.Value {
	if d.Form == apd.Infinite || d.Form == apd.Finite && !d.IsZero() && int64(d.Exponent)+d.NumDigits() > digits {
		return encode(&apd.Decimal{Form: apd.NaN})
	}
	// apd would treat a number far below 1 as 0.
	if d.Form == apd.Finite && !d.IsZero() && int64(d.Exponent)+d.NumDigits() <= 0 {
		out := apd.Decimal{Negative: d.Negative}
		if d.Negative == (rounding == apd.RoundFloor) {
			out.Coeff.SetInt64(1)
		}
		return encode(&out)
	}
	return quantize(d, 0, rounding)
}

// Round rounds half to even at a decimal place: 2 keeps hundredths, -2 keeps hundreds. The result
// has the type of v.
func Round(v bsonx.Value, place int) (bsonx.Value, error) { return RoundIn(nil, v, place) }

// RoundIn is Round with the result in an arena.
func RoundIn(out *bsonx.Arena, v bsonx.Value, place int) (bsonx.Value, error) {
	return roundAt(out, "$round", v, place, math.RoundToEven, apd.RoundHalfEven)
}

// Trunc rounds toward zero at a decimal place.
func Trunc(v bsonx.Value, place int) (bsonx.Value, error) { return TruncIn(nil, v, place) }

// TruncIn is Trunc with the result in an arena.
func TruncIn(out *bsonx.Arena, v bsonx.Value, place int) (bsonx.Value, error) {
	return roundAt(out, "$trunc", v, place, math.Trunc, apd.RoundDown)
}

func roundAt(out *bsonx.Arena, op string, v bsonx.Value, place int, double func(float64) float64,
	rounding apd.Rounder,
) (bsonx.Value, error) {
	if err := checkNumber(op, v); err != nil {
		return bsonx.Value{}, err
	}
	switch v.Type {
	case bsonx.TypeDecimal128:
		return quantize(toDecimal(v), place, rounding), nil
	case bsonx.TypeDouble:
		f := v.Double()
		if place == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
			return out.Double(double(f)), nil
		}
		if rounded, ok := roundDouble(f, place, double); ok {
			return out.Double(rounded), nil
		}
		return out.Double(float(quantize(doubleToDecimal(f, digits), place, rounding))), nil
	default:
		return roundInteger(out, op, v, place, rounding)
	}
}

func roundInteger(out *bsonx.Arena, op string, v bsonx.Value, place int, rounding apd.Rounder) (bsonx.Value, error) {
	if place >= 0 {
		return integerIn(out, long(v), v.Type), nil
	}
	rounded, ok := quantize(toDecimal(v), place, rounding).AsInt64()
	if !ok {
		return bsonx.Value{}, mongoerr.New(mongoerr.Code(51080),
			"invalid conversion from Decimal128 result in %s resulting from arguments: [%d, %d]", op, long(v), place)
	}
	return integerIn(out, rounded, v.Type), nil
}

// quantize rounds to a decimal place. It appends zeros to a number with fewer digits, up to 34
// digits.
func quantize(d *apd.Decimal, place int, rounding apd.Rounder) bsonx.Value {
	if d.Form != apd.Finite {
		return encode(d)
	}
	exp := int32(min(max(-place, bsonx.MinDecimalExp), bsonx.MaxDecimalExp))
	if d.Coeff.Sign() != 0 && exp < d.Exponent {
		exp = max(exp, d.Exponent+int32(d.NumDigits())-digits)
	}
	var out apd.Decimal
	c := decimalContext()
	c.Rounding = rounding
	if _, err := c.Quantize(&out, d, exp); err != nil || out.Form == apd.NaN {
		return encode(d)
	}
	return encode(&out)
}
