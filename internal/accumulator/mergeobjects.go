package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expr/object"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func mergeObjectsDefinition() Definition {
	return Definition{
		Name: "$mergeObjects", New: func(*collation.Collator) Accumulator { return &mergeAccumulator{} },
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: WholeWindow, InputOrder: feature.Yes,
	}
}

// mergeAccumulator is $mergeObjects. It ignores null and missing values.
type mergeAccumulator struct {
	merged object.ObjectBuilder
	bytes  int
}

func (a *mergeAccumulator) Add(v bsonx.Value) error {
	if expr.Nullish(v) {
		return nil
	}
	if v.Type != bsonx.TypeDocument {
		return mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", expr.Show(v), v.Type)
	}
	v = v.Clone()
	if a.bytes += len(v.Data); a.bytes > limits.ExpressionBytes {
		a.compact()
		if a.bytes > limits.ExpressionBytes {
			return tooMuchMemory("$mergeObjects")
		}
	}
	for it := v.Doc().Iter(); it.Next(); {
		a.merged.Set(it.Key(), it.Value())
	}
	return nil
}

// compact copies the current fields, so that documents whose fields were replaced can be freed.
func (a *mergeAccumulator) compact() {
	doc := a.Result()
	a.merged, a.bytes = object.ObjectBuilder{}, len(doc.Data)
	for it := doc.Doc().Iter(); it.Next(); {
		a.merged.Set(it.Key(), it.Value())
	}
}

// Result implements Accumulator.
func (a *mergeAccumulator) Result() bsonx.Value {
	var meter interrupt.Meter
	// The only possible error is an interrupt, and the nil operation is never interrupted.
	doc, _ := a.merged.Document(&meter, nil)
	return doc
}

func (a *mergeAccumulator) Bytes() int                    { return 64 + a.bytes }
func (a *mergeAccumulator) State() bsonx.Value            { return a.Result() }
func (a *mergeAccumulator) Merge(state bsonx.Value) error { return a.Add(state) }
