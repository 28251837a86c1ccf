package object

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func objectToArrayDefinition() expr.Definition {
	return expr.Definition{
		Name: "$objectToArray", Family: family, Parse: expr.Watch1(objectToArray),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func objectToArray(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if expr.Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing, mongoerr.New(40390, "$objectToArray requires a document input, found: %s", v.Type)
	}
	var meter interrupt.Meter
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step+len(it.Value().Data), running); err != nil {
			return bsonx.Missing, err
		}
		b.StartDocElem()
		b.String("k", string(it.Key()))
		b.Value("v", it.Value())
		b.End()
		if err := expr.CheckBytes("$objectToArray", b.Len()); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}
