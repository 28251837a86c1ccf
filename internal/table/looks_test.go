package table_test

import (
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage/mem"
)

// TestIndexesLook inserts a large document into a collection with many indexes whose fields the
// document does not have. Generating the keys of each index searches the whole document.
func TestIndexesLook(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, err := schema.Ensure(s, "db", "c")
	if err != nil {
		t.Fatal(err)
	}
	const indexes = 32
	specs := make([]bsonx.Doc, indexes)
	for i := range specs {
		name := fmt.Sprint("x", i)
		specs[i] = bsonx.NewDoc("key", bsonx.NewDoc(name, "2dsphere"), "name", name)
	}
	if err := schema.CreateIndexes(t.Context(), s, c, specs); err != nil {
		t.Fatal(err)
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Int32("_id", 1)
	for i := range 1 << 14 {
		b.Int32(fmt.Sprint("f", i), 1)
	}
	b.End()
	doc := bsonx.Doc(b.Bytes())
	w, err := s.BeginWrite(s.Current(c))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	op := interrupttest.New(t.Context())
	if err := w.Insert(op, doc); err != nil {
		t.Fatal(err)
	}
	if want := indexes / 2 * len(doc) / interrupt.Interval; op.Looks < want {
		t.Errorf("%d looks at the operation, want %d", op.Looks, want)
	}
}
