package arithmetic

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var one = bsonx.Int32(1)

// function makes an operator of one number: null stays null, other types are an error.
func function(name string, fn expr.Func1) expr.Definition {
	return expr.Make1(name, "arithmetic", func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if !v.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(28765, "%s only supports numeric types, not %s", name, v.Type)
		}
		return fn(out, v)
	})
}
