package arithmetic

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func degreesToRadiansDefinition() expr.Definition {
	return scaled("$degreesToRadians", math.Pi/180, "0.01745329251994329576923690768488613")
}

func radiansToDegreesDefinition() expr.Definition {
	return scaled("$radiansToDegrees", 180/math.Pi, "57.29577951308232087679815481410517")
}

// scaled defines an operator that multiplies by a constant, given as a double and as the text of a
// decimal.
func scaled(name string, factor float64, decimal string) expr.Definition {
	exact, err := bsonx.ParseDecimal(decimal)
	if err != nil {
		panic(err) // cannot happen, because the text is a constant of this package
	}
	fn := func(v bsonx.Value) (bsonx.Value, error) {
		switch {
		case expr.Nullish(v):
			return bsonx.Null, nil
		case v.Type == bsonx.TypeDecimal128:
			return numeric.Multiply(v, exact)
		case !v.Type.IsNumber():
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		f, _ := v.AsFloat64()
		return bsonx.Double(f * factor), nil
	}
	return expr.Definition{
		Name: name, Family: "trigonometry", Parse: expr.Op1(fn),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}
