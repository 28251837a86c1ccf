package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func concatArraysDefinition() expr.Definition {
	return expr.Definition{
		Name: "$concatArrays", Family: family, Parse: expr.WatchN(concatArrays),
		Max: -1, Association: expr.AssocFull, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func concatArrays(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if err := expr.CheckBytes("$concatArrays", expr.TotalBytes(args)); err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for _, v := range args {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(28664, "$concatArrays only supports arrays, not %s", v.Type)
		}
		for it := v.Doc().Iter(); it.Next(); {
			if err := meter.Did(interrupt.Step+len(it.Value().Data), running); err != nil {
				return bsonx.Missing, err
			}
			b.Elem(it.Value())
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}
