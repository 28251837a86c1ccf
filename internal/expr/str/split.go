package str

import (
	"bytes"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func splitDefinition() expr.Definition {
	return expr.Definition{
		Name: "$split", Family: family, Parse: expr.Watch2(split),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func split(text, separator bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if expr.Nullish(text) || expr.Nullish(separator) {
		return bsonx.Null, nil
	}
	if text.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(40085, "$split requires an expression that evaluates to a string as a first argument, found: %s", text.Type)
	}
	if separator.Type != bsonx.TypeString {
		return bsonx.Missing, mongoerr.New(40086, "$split requires an expression that evaluates to a string as a second argument, found: %s", separator.Type)
	}
	if len(separator.StrBytes()) == 0 {
		return bsonx.Missing, mongoerr.New(40087, "$split requires a non-empty separator")
	}
	size := splitBytes(text.StrBytes(), separator.StrBytes())
	if err := memory.Of(running.Context()).Value(int64(size)); err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	b := bsonx.NewBuilder(make([]byte, 0, size))
	b.StartArray()
	for part := range bytes.SplitSeq(text.StrBytes(), separator.StrBytes()) {
		if err := meter.Did(interrupt.Step+len(part), running); err != nil {
			return bsonx.Missing, err
		}
		b.Elem(bsonx.String(string(part)))
		if err := expr.CheckBytes("$split", b.Len()); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// splitBytes returns an upper bound for the size of the result array of $split, in bytes.
func splitBytes(text, separator []byte) int {
	parts := 1 + bytes.Count(text, separator)
	index := len(strconv.Itoa(parts))
	return min(len(text)+parts*(index+stringRoom), limits.ExpressionBytes) + stringRoom
}
