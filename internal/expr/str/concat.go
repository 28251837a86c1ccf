package str

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func concatDefinition() expr.Definition {
	return expr.Definition{
		Name: "$concat", Family: family, Parse: expr.MakeN(concat),
		Max: -1, Association: expr.AssocFull, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func concat(out *bsonx.Arena, args []bsonx.Value) (bsonx.Value, error) {
	n := 0
	for _, v := range args {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeString {
			return bsonx.Missing, mongoerr.New(16702, "$concat only supports strings, not %s", v.Type)
		}
		n += len(v.StrBytes())
	}
	if err := expr.CheckText(n); err != nil {
		return bsonx.Missing, err
	}
	joined, text := out.Text(n)
	for _, v := range args {
		text = text[copy(text, v.StrBytes()):]
	}
	return joined, nil
}
