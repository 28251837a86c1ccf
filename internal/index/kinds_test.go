package index_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestKinds runs testdata/kinds. "index" sets the specification of an index. "keys" has documents,
// one per line. It prints their keys and then the paths of arrays.
func TestKinds(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/kinds", func(t *testing.T, path string) {
		var pattern index.Pattern
		var gen index.Generator
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "index" {
				spec := bsonxtest.Parse(t, d.Input)
				s := index.Spec{Key: spec.Lookup("key").Doc(), Sparse: spec.Lookup("sparse").Truthy(), Options: spec}
				if v := spec.Lookup("collation"); !v.IsMissing() {
					var err error
					if s.Collation, err = collation.Parse(v.Doc()); err != nil {
						t.Fatal(err)
					}
				}
				var err error
				if pattern, gen, err = index.Compile(s); err != nil {
					t.Fatal(err)
				}
				return ""
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				out.WriteString(keysOf(t, pattern, gen, bsonxtest.Parse(t, line)))
			}
			return out.String()
		})
	})
}

func keysOf(t *testing.T, pattern index.Pattern, gen index.Generator, doc bsonx.Doc) string {
	var keys index.Keys
	if err := gen.Generate(doc, &keys); err != nil {
		return fmt.Sprintf("error %d: %v\n", mongoerr.CodeOf(err), err)
	}
	var out []string
	for i := range keys.Len() {
		key, err := index.DecodeKey(pattern, keys.Key(i), keys.TypeBits(i))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bsonx.FormatShell(bsonx.Document(key)))
	}
	text := strings.Join(out, " ")
	if arrays := keys.ArrayPaths(); len(arrays) > 0 {
		text += fmt.Sprintf(" arrays %q", arrays)
	}
	return text + "\n"
}

func BenchmarkKinds(b *testing.B) {
	for _, bm := range []struct{ name, key, options, doc string }{
		{"ordered", `{"n": 1}`, `{}`, flatDoc},
		{"hashed", `{"n": "hashed"}`, `{}`, flatDoc},
		{"wildcard", `{"$**": 1}`, `{}`, flatDoc},
		{"wildcard over an array", `{"$**": 1}`, `{}`, arrayDoc},
		{"compound wildcard", `{"n": 1, "$**": 1}`, `{"wildcardProjection": {"n": 0}}`, flatDoc},
	} {
		b.Run(bm.name, func(b *testing.B) {
			_, gen, err := index.Compile(index.Spec{
				Key:     bsonxtest.Parse(b, bm.key),
				Options: bsonxtest.Parse(b, bm.options),
			})
			if err != nil {
				b.Fatal(err)
			}
			doc := bsonxtest.Parse(b, bm.doc)
			var keys index.Keys
			b.ReportAllocs()
			for b.Loop() {
				keys.Reset()
				if err := gen.Generate(doc, &keys); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
