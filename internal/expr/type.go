package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

func typeDefinition() Definition {
	return Definition{
		Name: "$type", Family: "type",
		Parse: Op1(func(v bsonx.Value) (bsonx.Value, error) { return bsonx.String(v.Type.String()), nil }),
		Total: Yes, Folds: Yes, Depends: OnOperands, StableAPI: Yes,
	}
}

func isNumberDefinition() Definition {
	return Definition{
		Name: "$isNumber", Family: "type",
		Parse: Op1(func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type.IsNumber()), nil }),
		Total: Yes, Folds: Yes, Depends: OnOperands, StableAPI: Yes,
	}
}
