package source

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/spill"
)

// scoredDocs yields documents that look like results of a text search.
type scoredDocs struct {
	EmptyDocs
	meta expr.Meta
}

func (s *scoredDocs) Meta() *expr.Meta { return &s.meta }

// TestDequeKeepsMeta spills documents together with their metadata. Every third document has no
// score, and every fifth has an index key.
func TestDequeKeepsMeta(t *testing.T) {
	t.Parallel()
	var d spill.Deque
	defer d.Close()
	var kept KeptMeta
	src := &scoredDocs{meta: expr.Meta{Searched: true}}
	const n = 10_000
	for i := range n {
		src.meta.TextScore = bsonx.Missing
		if i%3 > 0 {
			src.meta.TextScore = bsonx.Double(float64(i))
		}
		src.meta.IndexKey = bsonx.Missing
		if i%5 == 0 {
			src.meta.IndexKey = bsonx.Document(bsonx.NewDoc("k", strings.Repeat("x", i%300)))
		}
		d.Push(d.Copy(kept.Join(bsonx.NewDoc("_id", i), src)))
		if i == n/3 || i == n/2 {
			if err := d.Spill(t.TempDir()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range n {
		record, err := d.Record(i)
		if err != nil {
			t.Fatal(err)
		}
		doc := kept.Split(record)
		if plain, err := d.Doc(i); err != nil || !plain.Equal(doc) || !doc.Equal(bsonx.NewDoc("_id", i)) {
			t.Fatalf("document %d: %v %v", i, doc, err)
		}
		if score := kept.Meta().TextScore; score.IsMissing() != (i%3 == 0) || i%3 > 0 && score.Double() != float64(i) {
			t.Fatalf("document %d: score %v", i, score)
		}
		if key := kept.Meta().IndexKey; key.IsMissing() != (i%5 > 0) ||
			i%5 == 0 && len(key.Doc().Lookup("k").Str()) != i%300 {
			t.Fatalf("document %d: index key %v", i, key)
		}
	}
}
