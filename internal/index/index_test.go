package index_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var patterns = []index.Pattern{
	{{Path: "a"}},
	{{Path: "a", Desc: true}},
	{{Path: "a.b"}},
	{{Path: "a"}, {Path: "b", Desc: true}},
	{{Path: "a.b"}, {Path: "a.ab"}},
	{{Path: "a.0"}, {Path: "b.a"}},
}

// TestKeysAreSortedAndUnique also checks that reused buffers leave no traces, that the keys decode,
// and that Has finds them.
func TestKeysAreSortedAndUnique(t *testing.T) {
	t.Parallel()
	var used index.Keys
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(patterns).Draw(t, "pattern")
		doc := bsonxtest.Doc(3).Draw(t, "doc")
		gen := index.NewKeyGen(p, rapid.Bool().Draw(t, "sparse"), nil)
		var fresh index.Keys
		used.Reset()
		err := gen.Generate(doc, &fresh)
		if err2 := gen.Generate(doc, &used); mongoerr.CodeOf(err) != mongoerr.CodeOf(err2) {
			t.Fatalf("%v, then %v", err, err2)
		}
		if err != nil {
			return
		}
		if fresh.Len() != used.Len() || !slices.Equal(fresh.Multikey(), used.Multikey()) {
			t.Fatal("used buffers change the result")
		}
		if fresh.Len() > 1 && !fresh.Multikey().IsMultikey() {
			t.Fatal("more than one key, but not multikey")
		}
		for i := range fresh.Len() {
			if !bytes.Equal(fresh.Key(i), used.Key(i)) || !bytes.Equal(fresh.TypeBits(i), used.TypeBits(i)) {
				t.Fatal("used buffers change the keys")
			}
			if i > 0 && bytes.Compare(fresh.Key(i-1), fresh.Key(i)) >= 0 {
				t.Fatal("out of order")
			}
			if !fresh.Has(fresh.Key(i)) || fresh.Has(append(bytes.Clone(fresh.Key(i)), 0)) {
				t.Fatal("Has")
			}
			if _, err := index.DecodeKey(p, fresh.Key(i), fresh.TypeBits(i)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestDuplicatesKeepTheFirstTypeBits(t *testing.T) {
	t.Parallel()
	doc := bsonx.NewDoc("a", bsonx.NewArray(2, bsonx.Double(1), bsonx.Int32(1), bsonx.Int64(1)))
	p := index.Pattern{{Path: "a"}}
	var keys index.Keys
	if err := index.NewKeyGen(p, false, nil).Generate(doc, &keys); err != nil {
		t.Fatal(err)
	}
	got, err := index.DecodeKey(p, keys.Key(0), keys.TypeBits(0))
	if err != nil || keys.Len() != 2 || got.Lookup("a").Type != bsonx.TypeDouble {
		t.Errorf("%d keys, %s, %v", keys.Len(), bsonx.FormatShell(bsonx.Document(got)), err)
	}
}

func TestSortKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		pattern index.Pattern
		doc     string
		want    []any
	}{
		{"plain", index.Pattern{{Path: "a"}}, `{a: 5}`, []any{5}},
		{"missing", index.Pattern{{Path: "a"}}, `{}`, []any{nil}},
		{"least element", index.Pattern{{Path: "a"}}, `{a: [3, 1, 2]}`, []any{1}},
		{"greatest element", index.Pattern{{Path: "a", Desc: true}}, `{a: [3, 7, 2]}`, []any{7}},
		{"empty array", index.Pattern{{Path: "a"}}, `{a: []}`, []any{bsonx.Undefined}},
		{"array in array", index.Pattern{{Path: "a"}}, `{a: [[1], "x"]}`, []any{"x"}},
		{"through documents", index.Pattern{{Path: "a.b", Desc: true}}, `{a: [{b: 1}, {b: 4}, {}]}`, []any{4}},
		{"missing in one element", index.Pattern{{Path: "a.b"}}, `{a: [{b: 1}, {b: 4}, {}]}`, []any{nil}},
		{"compound", index.Pattern{{Path: "a"}, {Path: "b", Desc: true}}, `{a: [2, 1], b: 9}`, []any{1, 9}},
		{
			"the fields of one element stay together",
			index.Pattern{{Path: "a.x"}, {Path: "a.y", Desc: true}},
			`{a: [{x: 1, y: 1}, {x: 1, y: 5}, {x: 2, y: 9}]}`,
			[]any{1, 5},
		},
	} {
		got, err := index.NewSortKeyGen(tc.pattern, nil).Append([]byte("p"), bsonxtest.Parse(t, quoteNames(tc.doc)))
		want := []byte("p")
		for i, v := range tc.want {
			want = keystring.Append(want, bsonx.ValueOf(v), tc.pattern[i].Desc)
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, want %x (%v)", tc.name, got, want, err)
		}
	}
	_, err := index.NewSortKeyGen(index.Pattern{{Path: "a"}, {Path: "b"}}, nil).
		Append(nil, bsonxtest.Parse(t, `{"a": [1], "b": [2]}`))
	if mongoerr.CodeOf(err) != mongoerr.BadValue ||
		!strings.Contains(err.Error(), "cannot sort with keys that are parallel arrays") {
		t.Errorf("parallel arrays: %v", err)
	}
}

// quoteNames turns documents with unquoted names into JSON.
func quoteNames(s string) string {
	for _, name := range []string{"a", "b", "x", "y"} {
		s = strings.ReplaceAll(s, name+":", `"`+name+`":`)
	}
	return s
}

func TestMultikeyPaths(t *testing.T) {
	t.Parallel()
	a, b := index.MultikeyPaths{1, 0}, index.MultikeyPaths{0, 6}
	if got := a.Union(b); !slices.Equal(got, index.MultikeyPaths{1, 6}) {
		t.Errorf("union %v", got)
	}
	if !a.Union(b).Covers(a) || a.Covers(b) || !a.Covers(nil) || index.MultikeyPaths(nil).Covers(a) {
		t.Error("Covers")
	}
	if index.MultikeyPaths(nil).IsMultikey() || (index.MultikeyPaths{0, 0}).IsMultikey() || !b.IsMultikey() {
		t.Error("IsMultikey")
	}
	if got := (index.Pattern{{Path: "a.b"}, {Path: "c", Desc: true}}).String(); got != "a.b_1_c_-1" {
		t.Error(got)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	docs := []bsonx.Doc{bsonxtest.Parse(t, flatDoc), bsonxtest.Parse(t, arrayDoc)}
	gen := index.NewKeyGen(index.Pattern{{Path: "tags"}, {Path: "n", Desc: true}}, false, nil)
	sorter := index.NewSortKeyGen(index.Pattern{{Path: "tags"}}, nil)
	var keys index.Keys
	var buf []byte
	run := func() {
		for _, d := range docs {
			keys.Reset()
			if err := gen.Generate(d, &keys); err != nil {
				t.Fatal(err)
			}
			buf, _ = sorter.Append(buf[:0], d)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

const (
	flatDoc  = `{"_id": 1, "name": "a name", "n": 5, "tags": "x", "address": {"city": "Basel", "zip": "4001"}, "last": 1.5}`
	arrayDoc = `{"_id": 1, "name": "a name", "n": 5, "tags": ["red", "green", "blue", "red", "yellow"], "address": {"city": "Basel"}}`
)

func BenchmarkGenerate(b *testing.B) {
	for _, bm := range []struct {
		name    string
		pattern index.Pattern
		doc     string
	}{
		{"single", index.Pattern{{Path: "n"}}, flatDoc},
		{"dotted", index.Pattern{{Path: "address.city"}}, flatDoc},
		{"compound", index.Pattern{{Path: "n"}, {Path: "address.city"}, {Path: "last", Desc: true}}, flatDoc},
		{"array of five", index.Pattern{{Path: "tags"}}, arrayDoc},
	} {
		b.Run(bm.name, func(b *testing.B) {
			gen, doc := index.NewKeyGen(bm.pattern, false, nil), bsonxtest.Parse(b, bm.doc)
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

func BenchmarkSortKey(b *testing.B) {
	gen, doc := index.NewSortKeyGen(index.Pattern{{Path: "n", Desc: true}}, nil), bsonxtest.Parse(b, flatDoc)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = gen.Append(buf[:0], doc)
	}
}
