package str

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func strLenBytes(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(34473, "$strLenBytes requires a string argument, found: %s", v.Type)
	}
	return out.Int32(int32(len(v.StrBytes()))), nil
}

func strLenCP(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(34471, "$strLenCP requires a string argument, found: %s", v.Type)
	}
	return out.Int32(int32(countCodePoints(v.StrBytes()))), nil
}
