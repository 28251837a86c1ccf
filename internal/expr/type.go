package expr

import "github.com/sheafdb/sheaf/internal/bsonx"

func TypeOperators() []Definition {
	return []Definition{
		total(op1("$type", "type", func(v bsonx.Value) (bsonx.Value, error) { return bsonx.String(v.Type.String()), nil })),
		total(op1("$isNumber", "type", func(v bsonx.Value) (bsonx.Value, error) { return bsonx.Bool(v.Type.IsNumber()), nil })),
	}
}
