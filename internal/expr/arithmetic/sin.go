package arithmetic

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

var inf = math.Inf(1)

func sinDefinition() expr.Definition  { return finite("$sin", numeric.SinDouble, numeric.Sin) }
func cosDefinition() expr.Definition  { return finite("$cos", numeric.CosDouble, numeric.Cos) }
func tanDefinition() expr.Definition  { return finite("$tan", numeric.TanDouble, numeric.Tan) }
func sinhDefinition() expr.Definition { return bounded("$sinh", math.Sinh, numeric.Sinh, -inf, inf) }

func coshDefinition() expr.Definition { return bounded("$cosh", math.Cosh, numeric.Cosh, -inf, inf) }

func tanhDefinition() expr.Definition { return bounded("$tanh", math.Tanh, numeric.Tanh, -inf, inf) }
func asinDefinition() expr.Definition { return bounded("$asin", math.Asin, numeric.Asin, -1, 1) }
func acosDefinition() expr.Definition { return bounded("$acos", math.Acos, numeric.Acos, -1, 1) }
func atanDefinition() expr.Definition { return bounded("$atan", math.Atan, numeric.Atan, -inf, inf) }

func asinhDefinition() expr.Definition {
	return bounded("$asinh", math.Asinh, numeric.Asinh, -inf, inf)
}

func acoshDefinition() expr.Definition { return bounded("$acosh", math.Acosh, numeric.Acosh, 1, inf) }

func atanhDefinition() expr.Definition { return bounded("$atanh", math.Atanh, numeric.Atanh, -1, 1) }

// bounded defines an operator whose domain is the interval from low to high. double computes it for
// doubles, decimal for decimals.
func bounded(name string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value,
	low, high float64,
) expr.Definition {
	least, most := bsonx.Double(low), bsonx.Double(high)
	domain := "[" + numeric.FormatDouble(low) + "," + numeric.FormatDouble(high) + "]"
	return trigonometric(name, domain, double, decimal, func(v bsonx.Value) bool {
		return bsonx.CompareValues(v, least) >= 0 && bsonx.CompareValues(v, most) <= 0
	})
}

// finite defines an operator whose domain is all finite numbers.
func finite(name string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value) expr.Definition {
	return trigonometric(name, "(-inf,inf)", double, decimal,
		func(v bsonx.Value) bool { return !numeric.IsInfinite(v) })
}

func trigonometric(
	name, domain string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value,
	defined func(bsonx.Value) bool,
) expr.Definition {
	fn := func(v bsonx.Value) (bsonx.Value, error) {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		if !numeric.IsNaN(v) && !defined(v) {
			return bsonx.Missing, mongoerr.New(50989,
				"cannot apply %s to %s, value must be in %s", name, showDomain(v), domain)
		}
		if v.Type == bsonx.TypeDecimal128 {
			return decimal(v), nil
		}
		f, _ := v.AsFloat64()
		return bsonx.Double(double(f)), nil
	}
	return expr.Definition{
		Name: name, Family: "trigonometry", Parse: expr.Op1(fn),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// showDomain formats a number for the error about the domain. Integers are shown as doubles.
func showDomain(v bsonx.Value) string {
	if v.Type == bsonx.TypeDecimal128 {
		return numeric.Format(v)
	}
	return expr.ShowNumber(v)
}
