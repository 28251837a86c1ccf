package date

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func timestampPart(name string, code mongoerr.Code, part func(t, i uint32) uint32) expr.Definition {
	return expr.Make1(name, dateFamily, func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeTimestamp {
			return bsonx.Missing, mongoerr.New(code, " Argument to %s must be a timestamp, but is %s", name, v.Type)
		}
		return out.Int64(int64(part(v.Timestamp()))), nil
	})
}
