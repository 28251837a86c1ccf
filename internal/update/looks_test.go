package update

import (
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
)

// TestRenameLooks renames many fields of a wide document. Each search for a field begins at the
// first field, so there must be about one check for an interrupt per renamed field.
func TestRenameLooks(t *testing.T) {
	t.Parallel()
	const width, renames = 20_000, 500 // the document has 240 kB
	doc, fields := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	doc.StartDoc()
	for i := range width {
		doc.Int32(fmt.Sprintf("f%06d", i), 1)
	}
	doc.End()
	fields.StartDoc()
	for i := range renames {
		fields.String(fmt.Sprintf("f%06d", width-1-i), fmt.Sprintf("g%d", i))
	}
	fields.End()
	op, running := interrupttest.New(t.Context()), &interrupt.Running{}
	running.Set(op)
	u, err := Parse(bsonx.Document(bsonx.NewDoc("$rename", bsonx.Document(fields.Bytes()))), Options{Running: running})
	if err != nil {
		t.Fatal(err)
	}
	before := op.Looks
	if _, changed, err := u.Apply(doc.Bytes(), Env{Running: running}); err != nil || !changed {
		t.Fatalf("changed: %v, %v", changed, err)
	}
	if looks := op.Looks - before; looks < renames/2 {
		t.Errorf("%d looks at the operation, want %d", looks, renames/2)
	}
}
