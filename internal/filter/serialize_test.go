package filter

import (
	"context"
	"errors"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
)

// TestSerializeEnds checks that serialising a large filter in an interrupted operation is an error.
func TestSerializeEnds(t *testing.T) {
	t.Parallel()
	list, branches := make([]bsonx.Value, 1<<16), make([]bsonx.Doc, 1<<14)
	for i := range list {
		list[i] = bsonx.Int32(int32(i))
	}
	for i := range branches {
		branches[i] = bsonx.NewDoc("a", i)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, spec := range []bsonx.Doc{bsonx.NewDoc("a", bsonx.NewDoc("$in", list)), bsonx.NewDoc("$or", branches)} {
		f, err := Parse(spec, Options{Vars: expressions.Scope()})
		if err != nil {
			t.Fatal(err)
		}
		if doc, err := SerializeWithin(t.Context(), f.Root); err != nil || !doc.Equal(Serialize(f.Root)) {
			t.Errorf("%.20s: %d bytes, %v", spec.First().Key, len(doc), err)
		}
		if _, err := SerializeWithin(ended, f.Root); !errors.Is(err, context.Canceled) {
			t.Errorf("%.20s after the end of the operation: %v", spec.First().Key, err)
		}
	}
}
