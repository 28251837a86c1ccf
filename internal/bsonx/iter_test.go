package bsonx_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

func TestIter(t *testing.T) {
	t.Parallel()
	for _, empty := range []bsonx.Doc{nil, {}, bsonx.Empty} {
		it := empty.Iter()
		if it.Next() || it.Key() != nil || !it.Value().IsMissing() {
			t.Errorf("%x has a field", []byte(empty))
		}
	}
	// Names shorter than a word, as long as a word, and longer, before values that end at the end
	// of the document.
	names := []string{"", "a", "sevench", "eightcha", "ninechara", "sixteencharacter"}
	for _, last := range []bsonx.Value{bsonx.Null, bsonx.Int32(7), bsonx.Regex("a", "i"), bsonx.String("x")} {
		for _, name := range names {
			doc := bsonx.NewDoc("first", 1.5, "re", bsonx.Regex("longer than a word", "im"), name, last)
			it := doc.Iter()
			if it.Key() != nil {
				t.Error("a key before the first field")
			}
			n := 0
			for it.Next() {
				n++
			}
			if n != 3 || it.Next() || string(it.Key()) != name || it.Value().Type != last.Type {
				t.Errorf("%q: %d fields, then %q", name, n, it.Key())
			}
			if v := doc.Lookup(name); !v.Identical(last) {
				t.Errorf("%q: %v", name, v)
			}
			if !doc.Lookup(name + "x").IsMissing() {
				t.Errorf("%q: found a field that is not there", name)
			}
		}
	}
}

// TestIterAllocatesNothing requires that an iterator stays on the stack.
func TestIterAllocatesNothing(t *testing.T) {
	doc := benchDoc()
	fields := 0
	if n := testing.AllocsPerRun(100, func() {
		for it := doc.Iter(); it.Next(); {
			fields += len(it.Key())
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
