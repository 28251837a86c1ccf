package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// mergeAccumulator is $mergeObjects.
type mergeAccumulator struct {
	merged objectBuilder
	bytes  int
}

func (a *mergeAccumulator) Add(v bsonx.Value) error {
	if nullish(v) {
		return nil
	}
	if v.Type != bsonx.TypeDocument {
		return mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", Show(v), v.Type)
	}
	v = v.Clone()
	if a.bytes += len(v.Data); a.bytes > maxExpressionBytes {
		a.compact()
		if a.bytes > maxExpressionBytes {
			return tooMuchMemory("$mergeObjects")
		}
	}
	for it := v.Doc().Iter(); it.Next(); {
		a.merged.set(it.Key(), it.Value())
	}
	return nil
}

// compact lets go of the documents whose fields were replaced.
func (a *mergeAccumulator) compact() {
	doc := a.merged.document()
	a.merged, a.bytes = objectBuilder{}, len(doc.Data)
	for it := doc.Doc().Iter(); it.Next(); {
		a.merged.set(it.Key(), it.Value())
	}
}

func (a *mergeAccumulator) Result() bsonx.Value           { return a.merged.document() }
func (a *mergeAccumulator) Bytes() int                    { return 64 + a.bytes }
func (a *mergeAccumulator) State() bsonx.Value            { return a.Result() }
func (a *mergeAccumulator) Merge(state bsonx.Value) error { return a.Add(state) }
