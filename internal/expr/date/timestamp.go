package date

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func tsSecondDefinition() expr.Definition {
	return timestampPart("$tsSecond", 5687301, func(t, _ uint32) uint32 { return t })
}

func tsIncrementDefinition() expr.Definition {
	return timestampPart("$tsIncrement", 5687302, func(_, i uint32) uint32 { return i })
}

func timestampPart(name string, code mongoerr.Code, part func(t, i uint32) uint32) expr.Definition {
	fn := func(out *bsonx.Arena, v bsonx.Value) (bsonx.Value, error) {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeTimestamp {
			return bsonx.Missing, mongoerr.New(code, " Argument to %s must be a timestamp, but is %s", name, v.Type)
		}
		return out.Int64(int64(part(v.Timestamp()))), nil
	}
	return expr.Definition{
		Name: name, Family: family, Parse: expr.Make1(fn),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}
