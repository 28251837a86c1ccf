package command_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestBadIndexNames creates indexes with invalid names. Names with a NUL are reserved for indexes
// that are being rebuilt.
func TestBadIndexNames(t *testing.T) {
	t.Parallel()
	h := newHotPath(t, 0)
	for _, name := range []string{"", "\x00rebuild.a", "a\x00"} {
		reply := h.ask(bsonx.NewDoc("createIndexes", "c", "indexes",
			[]bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("a", 1), "name", name)}, "$db", "db"))
		if code, _ := reply.Lookup("code").AsInt64(); mongoerr.Code(code) != mongoerr.CannotCreateIndex {
			t.Errorf("%q: %s", name, bsonx.FormatShell(bsonx.Document(reply)))
		}
	}
}
