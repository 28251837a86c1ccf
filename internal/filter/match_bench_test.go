package filter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
)

// BenchmarkMatch matches a document of about 1 kB with ten fields, which stays in the processor's
// cache.
func BenchmarkMatch(b *testing.B) {
	document := bsonx.NewDoc("_id", int64(4711), "n", int64(0), "s", "user00004711", "r", int64(33), "g",
		int64(711), "c", "category11",
		"u", int64(500_000), "tags", []bsonx.Value{bsonx.String("a"), bsonx.String("b")}, "sub", bsonx.NewDoc("x", 1.5),
		"p", strings.Repeat("text ", 170))
	for i, query := range []bsonx.Doc{
		bsonx.NewDoc("u", bsonx.NewDoc("$lt", 1000)),
		bsonx.NewDoc("c", "category12"),
		bsonx.NewDoc("n", bsonx.NewDoc("$gte", 0), "u", bsonx.NewDoc("$lt", 1000)),
		bsonx.NewDoc("u", bsonx.NewDoc("$gte", 0, "$lt", 1000)),
		bsonx.NewDoc("sub.x", bsonx.NewDoc("$gt", 2)),
		bsonx.NewDoc("tags", "c"),
		bsonx.NewDoc("g", bsonx.NewDoc("$in", []bsonx.Value{bsonx.Int32(1), bsonx.Int32(2), bsonx.Int32(3)})),
		bsonx.NewDoc("missing", bsonx.NewDoc("$exists", true)),
	} {
		f, err := Parse(query, FindOptions(expressions.Scope(), time.Time{}))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(i, strings.ReplaceAll(bsonx.FormatShell(bsonx.Document(query)), " ", "")), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := f.Match(document); ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
