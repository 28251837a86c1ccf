package expr

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func trigOperators() []definition {
	inf := math.Inf(1)
	return []definition{
		bounded("$acos", math.Acos, -1, 1), bounded("$asin", math.Asin, -1, 1), bounded("$acosh", math.Acosh, 1, inf),
		bounded("$atanh", math.Atanh, -1, 1), bounded("$atan", math.Atan, -inf, inf), bounded("$asinh", math.Asinh, -inf, inf),
		bounded("$sinh", math.Sinh, -inf, inf), bounded("$cosh", math.Cosh, -inf, inf), bounded("$tanh", math.Tanh, -inf, inf),
		finite("$sin", math.Sin), finite("$cos", math.Cos), finite("$tan", math.Tan),
		scaled("$degreesToRadians", math.Pi/180, "0.01745329251994329576923690768488613"),
		scaled("$radiansToDegrees", 180/math.Pi, "57.29577951308232087679815481410517"),
		op2("$atan2", "trigonometry", atan2),
	}
}

// bounded makes an operator that is defined between two bounds.
func bounded(name string, fn func(float64) float64, low, high float64) definition {
	return trigonometric(name, fn, func(f float64) bool { return f >= low && f <= high })
}

// finite makes an operator that is not defined for infinities.
func finite(name string, fn func(float64) float64) definition {
	return trigonometric(name, fn, func(f float64) bool { return !math.IsInf(f, 0) })
}

func trigonometric(name string, fn func(float64) float64, defined func(float64) bool) definition {
	return op1(name, "trigonometry", func(v bsonx.Value) (bsonx.Value, error) {
		if nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		f, _ := v.AsFloat64()
		if !math.IsNaN(f) && !defined(f) {
			return bsonx.Missing, mongoerr.New(50989, "cannot apply %s to %s, value must be in its domain", name, formatDouble(f))
		}
		return likeNumber(v, fn(f)), nil
	})
}

// scaled makes an operator that multiplies by a constant, which is given as a double and as a decimal.
func scaled(name string, factor float64, decimal string) definition {
	exact, err := bsonx.ParseDecimal(decimal)
	if err != nil {
		panic(err) // the text is ours
	}
	return op1(name, "trigonometry", func(v bsonx.Value) (bsonx.Value, error) {
		switch {
		case nullish(v):
			return bsonx.Null, nil
		case v.Type == bsonx.TypeDecimal128:
			return numeric.Multiply(v, exact)
		case !v.Type.IsNumber():
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		f, _ := v.AsFloat64()
		return bsonx.Double(f * factor), nil
	})
}

// likeNumber is a double, or a decimal where the operand was one. Transcendental functions of decimals are computed
// in double precision.
func likeNumber(v bsonx.Value, f float64) bsonx.Value {
	if v.Type == bsonx.TypeDecimal128 {
		return numeric.DecimalFromDouble(f)
	}
	return bsonx.Double(f)
}

func atan2(y, x bsonx.Value) (bsonx.Value, error) {
	if nullish(y) || nullish(x) {
		return bsonx.Null, nil
	}
	for i, v := range []bsonx.Value{y, x} {
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(mongoerr.Code(51044+i), "$atan2 only supports numeric types, not %s and %s", y.Type, x.Type)
		}
	}
	a, _ := y.AsFloat64()
	b, _ := x.AsFloat64()
	like := y
	if x.Type == bsonx.TypeDecimal128 {
		like = x
	}
	return likeNumber(like, math.Atan2(a, b)), nil
}
