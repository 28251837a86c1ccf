package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

func typeOperators() []Definition {
	return []Definition{
		Total(Op1("$type", "type", func(v bsonx.Value) (bsonx.Value, error) { return bsonx.String(v.Type.String()), nil })),
		Total(Op1("$isNumber", "type", func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type.IsNumber()), nil })),
	}
}
