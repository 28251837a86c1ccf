package index_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
)

// TestKindOf checks that the kind of an index is the kind of its only field that is not ordered.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  bsonx.Doc
		want index.Kind
	}{
		{bsonx.NewDoc("a", 1, "b.c", -1), index.Ordered},
		{bsonx.NewDoc("a", 1, "b", "hashed"), index.Hashed},
		{bsonx.NewDoc("$**", 1), index.Wildcard},
		{bsonx.NewDoc("a", 1, "b.$**", -1), index.Wildcard},
		{bsonx.NewDoc("$**", "text"), index.Text},
		{bsonx.NewDoc("a", 1, "_fts", "text", "_ftsx", 1), index.Text},
		{bsonx.NewDoc("a", "2d", "b", 1), index.Plane},
		{bsonx.NewDoc("b", 1, "a", "2dsphere"), index.Sphere},
	} {
		if got := index.KindOf(c.key); got != c.want {
			t.Errorf("%s: kind %d, want %d", bsonx.FormatShell(bsonx.Document(c.key)), got, c.want)
		}
	}
}
