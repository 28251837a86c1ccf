package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// scaled makes an operator that multiplies by a constant, which is given as a double and as a
// decimal.
func scaled(name string, factor float64, decimal string) expr.Definition {
	exact, err := bsonx.ParseDecimal(decimal)
	if err != nil {
		panic(err) // the text is ours
	}
	return expr.Op1(name, "trigonometry", func(v bsonx.Value) (bsonx.Value, error) {
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
	})
}
