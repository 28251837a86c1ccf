package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// bounded makes an operator that is defined between two bounds. It computes doubles and decimals
// each in their precision.
func bounded(name string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value,
	low, high float64,
) expr.Definition {
	least, most := bsonx.Double(low), bsonx.Double(high)
	domain := "[" + numeric.FormatDouble(low) + "," + numeric.FormatDouble(high) + "]"
	return trigonometric(name, domain, double, decimal, func(v bsonx.Value) bool {
		return bsonx.CompareValues(v, least) >= 0 && bsonx.CompareValues(v, most) <= 0
	})
}

// finite makes an operator that is not defined for infinities.
func finite(name string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value) expr.Definition {
	return trigonometric(name, "(-inf,inf)", double, decimal,
		func(v bsonx.Value) bool { return !numeric.IsInfinite(v) })
}

func trigonometric(name, domain string, double func(float64) float64, decimal func(bsonx.Value) bsonx.Value,
	defined func(bsonx.Value) bool,
) expr.Definition {
	return expr.Op1(name, "trigonometry", func(v bsonx.Value) (bsonx.Value, error) {
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
	})
}

// showDomain prints a number: whole ones are shown as doubles.
func showDomain(v bsonx.Value) string {
	if v.Type == bsonx.TypeDecimal128 {
		return numeric.Format(v)
	}
	return expr.ShowNumber(v)
}
