package expr

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func TrigOperators() []Definition {
	inf := math.Inf(1)
	return []Definition{
		bounded("$acos", math.Acos, numeric.Acos, -1, 1), bounded("$asin", math.Asin, numeric.Asin, -1, 1),
		bounded("$acosh", math.Acosh, numeric.Acosh, 1, inf), bounded("$atanh", math.Atanh, numeric.Atanh, -1, 1),
		bounded("$atan", math.Atan, numeric.Atan, -inf, inf), bounded("$asinh", math.Asinh, numeric.Asinh, -inf, inf),
		bounded("$sinh", math.Sinh, numeric.Sinh, -inf, inf), bounded("$cosh", math.Cosh, numeric.Cosh, -inf, inf),
		bounded("$tanh", math.Tanh, numeric.Tanh, -inf, inf),
		finite("$sin", math.Sin, numeric.Sin), finite("$cos", math.Cos, numeric.Cos), finite("$tan", math.Tan, numeric.Tan),
		scaled("$degreesToRadians", math.Pi/180, "0.01745329251994329576923690768488613"),
		scaled("$radiansToDegrees", 180/math.Pi, "57.29577951308232087679815481410517"),
		lazily(opN("$atan2", "trigonometry", 2, 2, atan2), 1, bsonx.Missing, one),
	}
}

// bounded makes an operator that is defined between two bounds. It computes doubles and decimals each in their precision.
func bounded(name string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value, low, high float64) Definition {
	least, most := bsonx.Double(low), bsonx.Double(high)
	domain := "[" + numeric.FormatDouble(low) + "," + numeric.FormatDouble(high) + "]"
	return trigonometric(name, domain, double, decimal, func(v bsonx.Value) bool {
		return bsonx.CompareValues(v, least) >= 0 && bsonx.CompareValues(v, most) <= 0
	})
}

// finite makes an operator that is not defined for infinities.
func finite(name string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value) Definition {
	return trigonometric(name, "(-inf,inf)", double, decimal, func(v bsonx.Value) bool { return !numeric.IsInfinite(v) })
}

func trigonometric(name, domain string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value, defined func(bsonx.Value) bool) Definition {
	return op1(name, "trigonometry", func(v bsonx.Value) (bsonx.Value, error) {
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		if !numeric.IsNaN(v) && !defined(v) {
			return bsonx.Missing, mongoerr.New(50989, "cannot apply %s to %s, value must be in %s", name, showDomain(v), domain)
		}
		if v.Type == bsonx.TypeDecimal128 {
			return decimal(v), nil
		}
		f, _ := v.AsFloat64()
		return bsonx.Double(double(f)), nil
	})
}

// showDomain prints a number: whole ones are shown as doubles.
func showDomain(v bsonx.Value) string {
	if v.Type == bsonx.TypeDecimal128 {
		return numeric.Format(v)
	}
	return ShowNumber(v)
}

// scaled makes an operator that multiplies by a constant, which is given as a double and as a decimal.
func scaled(name string, factor float64, decimal string) Definition {
	exact, err := bsonx.ParseDecimal(decimal)
	if err != nil {
		panic(err) // the text is ours
	}
	return op1(name, "trigonometry", func(v bsonx.Value) (bsonx.Value, error) {
		switch {
		case Nullish(v):
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

func atan2(args []bsonx.Value) (bsonx.Value, error) {
	for i, v := range args {
		if Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(mongoerr.Code(51044+i), "$atan2 only supports numeric types, not %s", v.Type)
		}
	}
	y, x := args[0], args[1]
	if numeric.Widest(y.Type, x.Type) == bsonx.TypeDecimal128 {
		return numeric.Atan2(y, x), nil
	}
	a, _ := y.AsFloat64()
	b, _ := x.AsFloat64()
	return bsonx.Double(math.Atan2(a, b)), nil
}
