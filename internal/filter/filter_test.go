package filter

import (
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
)

func mustParse(t testing.TB, doc bsonx.Doc) *Filter {
	t.Helper()
	f, err := Parse(doc, FindOptions(expressions.Scope(), time.Time{}))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMatchAllocatesNothing(t *testing.T) {
	doc := benchmarkDoc()
	f := mustParse(t, bsonx.NewDoc("f8", 8))
	if n := testing.AllocsPerRun(100, func() {
		if ok, err := f.Match(doc); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// benchmarkDoc returns a document of about 1 kB with 10 fields.
func benchmarkDoc() bsonx.Doc {
	text := make([]byte, 150)
	for i := range text {
		text[i] = 'x'
	}
	return bsonx.NewDoc("_id", 1, "f1", string(text), "f2", string(text), "f3", string(text), "f4", string(text),
		"f5", string(text), "f6", string(text), "f7", int64(7), "f8", 8, "f9", "nine")
}

func BenchmarkEquality(b *testing.B) {
	doc := benchmarkDoc()
	f := mustParse(b, bsonx.NewDoc("f9", "nine"))
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := f.Match(doc); !ok {
			b.Fatal("no match")
		}
	}
}

func BenchmarkConjunction(b *testing.B) {
	doc := benchmarkDoc()
	f := mustParse(b, bsonx.NewDoc("f9", "nine", "f8", bsonx.NewDoc("$gt", 3), "f7", bsonx.NewDoc("$lt", 30.5)))
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := f.Match(doc); !ok {
			b.Fatal("no match")
		}
	}
}

// TestParseCopies checks that a filter does not refer to its document, except with Borrow.
func TestParseCopies(t *testing.T) {
	for _, borrow := range []bool{false, true} {
		for _, query := range []bsonx.Doc{
			bsonx.NewDoc("a", "x"),
			bsonx.NewDoc("a", bsonx.NewDoc("$gte", "x", "$lte", "x")),
		} {
			spec := query.Clone()
			f, err := Parse(spec, Options{Vars: expressions.Scope(), Borrow: borrow})
			if err != nil {
				t.Fatal(err)
			}
			for i := range spec {
				if spec[i] == 'x' {
					spec[i] = 'y'
				}
			}
			matched, err := f.Match(bsonx.NewDoc("a", "x"))
			if err != nil || matched == borrow {
				t.Errorf("%s, borrowed %t: matched %t, %v",
					bsonx.FormatShell(bsonx.Document(query)), borrow, matched, err)
			}
		}
	}
}
