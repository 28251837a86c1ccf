package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
)

func typeDefinition() Definition {
	return Definition{
		Name: "$type", Family: "type",
		Parse: Op1(func(v bsonx.Value) (bsonx.Value, error) { return bsonx.String(v.Type.String()), nil }),
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

func isNumberDefinition() Definition {
	return Definition{
		Name: "$isNumber", Family: "type",
		Parse: Op1(func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type.IsNumber()), nil }),
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}
