package index_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
)

// TestSearchesLook makes the keys of documents that have no keys in a sparse index. The search for
// fields must count as work, too.
func TestSearchesLook(t *testing.T) {
	t.Parallel()
	wide := bsonx.NewBuilder(nil)
	wide.StartDoc()
	for i := range 1 << 15 {
		wide.Int32(fmt.Sprint("f", i), 1)
	}
	wide.End()
	elements := make([]bsonx.Value, 1<<15)
	for i := range elements {
		elements[i] = bsonx.Document(bsonx.NewDoc("a", 1))
	}
	pattern := bsonx.NewBuilder(nil)
	pattern.StartDoc()
	for i := range 16 {
		pattern.Int32(fmt.Sprint("v.x", i), 1)
	}
	pattern.End()
	spec := index.Spec{Key: bsonx.Doc(pattern.Bytes()), Sparse: true, Options: bsonx.NewDoc("sparse", true)}
	_, gen, err := index.Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		doc  bsonx.Doc
		want int
	}{
		"fields":   {bsonx.Doc(wide.Bytes()), 8 * len(wide.Bytes()) / interrupt.Interval},
		"elements": {bsonx.NewDoc("v", elements), 16 * len(elements) * interrupt.Step / interrupt.Interval},
	} {
		op, running := interrupttest.New(t.Context()), interrupt.Running{}
		running.Set(op)
		var keys index.Keys
		keys.Serve(&running)
		if err := gen.Generate(c.doc, &keys); err != nil || keys.Len() > 0 {
			t.Errorf("%s: %d keys, %v", name, keys.Len(), err)
		}
		if op.Looks < c.want {
			t.Errorf("%s: %d looks at the operation, want %d", name, op.Looks, c.want)
		}
		op.EndAfter(1)
		if err := gen.Generate(c.doc, &keys); !errors.Is(err, interrupttest.ErrEnded) || keys.Ended() == nil {
			t.Errorf("%s: %v after the end of the operation", name, err)
		}
	}
}
