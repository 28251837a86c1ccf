package index_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestTextKeys checks that a document has a key for each of its terms, with its score between the
// other fields.
func TestTextKeys(t *testing.T) {
	t.Parallel()
	spec := bsonx.NewDoc("key", bsonx.NewDoc("a", 1, "_fts", "text", "_ftsx", 1, "b.c", -1),
		"weights", bsonx.NewDoc("s", 2))
	p, gen, err := index.Compile(index.Spec{Key: spec.Lookup("key").Doc(), Options: spec})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		doc  bsonx.Doc
		want []bsonx.Doc
		code mongoerr.Code
	}{
		{bsonx.NewDoc("s", "Tea the tea pot"), []bsonx.Doc{
			bsonx.NewDoc("a", nil, "_fts", "pot", "_ftsx", 2*(0.5*1/3+0.5), "b.c", nil),
			bsonx.NewDoc("a", nil, "_fts", "tea", "_ftsx", 2*1.5*(0.5*2/3+0.5), "b.c", nil),
		}, 0},
		{
			bsonx.NewDoc("a", 5, "s", "tea", "b", bsonx.NewDoc("c", "x")),
			[]bsonx.Doc{bsonx.NewDoc("a", 5, "_fts", "tea", "_ftsx", 2.2, "b.c", "x")},
			0,
		},
		{bsonx.NewDoc("a", 5, "b", bsonx.NewDoc("c", bsonx.NewDoc("d", bsonx.NewArray(1)))), nil, 0},
		{
			bsonx.NewDoc("s", long),
			[]bsonx.Doc{bsonx.NewDoc("a", nil, "_fts", index.TermKey(long), "_ftsx", 2.2, "b.c", nil)},
			0,
		},
		{bsonx.NewDoc("a", bsonx.NewArray(1)), nil, 201},
		{bsonx.NewDoc("b", bsonx.NewArray(bsonx.NewDoc("c", 1))), nil, 201},
		{bsonx.NewDoc("language", 5), nil, 17261},
		{bsonx.NewDoc("language", "klingon"), nil, 17262},
	} {
		var keys index.Keys
		if err := gen.Generate(c.doc, &keys); mongoerr.CodeOf(err) != c.code {
			t.Errorf("%s: %v", bsonx.FormatShell(bsonx.Document(c.doc)), err)
			continue
		}
		var got []bsonx.Doc
		for i := range keys.Len() {
			d, err := index.DecodeKey(p, keys.Key(i), keys.TypeBits(i))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, d)
		}
		if c.code == 0 && !slices.EqualFunc(got, c.want, bsonx.Doc.Equal) {
			t.Errorf("%s: keys %v, want %v", bsonx.FormatShell(bsonx.Document(c.doc)), got, c.want)
		}
	}
	if n := len(index.TermKey(long)); n != 256 {
		t.Errorf("a long term has %d bytes", n)
	}
}
