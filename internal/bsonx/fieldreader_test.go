package bsonx_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestFieldReader reads fields of random documents. The names have different lengths and common
// prefixes, and occur repeatedly.
func TestFieldReader(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	names := []string{"", "a", "ab", "b", "abcdefg", "abcdefgh", "abcdefghi", "abcdefgx", strings.Repeat("n", 40), "z"}
	for range 200 {
		wanted := append([]string(nil), names...)
		rng.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
		wanted = wanted[:rng.IntN(len(wanted))]
		r := newFieldReader(wanted)
		var doc bsonx.Doc
		for range 20 {
			if doc == nil || rng.IntN(2) == 0 {
				doc = randomFields(rng, names)
			}
			r.Read(doc)
			for _, i := range rng.Perm(len(wanted)) {
				got, want := r.Value(i), doc.Lookup(wanted[i])
				if !got.Identical(want) {
					t.Fatalf("field %q of %x: got %v, want %v", wanted[i], []byte(doc), got, want)
				}
			}
		}
	}
}

func randomFields(rng *rand.Rand, names []string) bsonx.Doc {
	var pairs []any
	for range rng.IntN(100) / (1 + rng.IntN(20)) {
		value := []any{nil, "text", 7, 2.5, true, bsonx.NewDoc("a", 1)}[rng.IntN(6)]
		pairs = append(pairs, names[rng.IntN(len(names))], value)
	}
	return bsonx.NewDoc(pairs...)
}

func BenchmarkFieldReader(b *testing.B) {
	doc := bsonx.NewDoc("_id", 1, "customer", 2, "status", "status12", "created", bsonx.Date(1), "items",
		bsonx.NewDoc("a", 1), "total", 2.5, "note", "text")
	names := []string{"total", "created", "status"}
	b.Run("reader", func(b *testing.B) {
		r := newFieldReader(names)
		for b.Loop() {
			r.Read(doc)
			for i := range names {
				r.Value(i)
			}
		}
	})
	b.Run("lookup", func(b *testing.B) {
		for b.Loop() {
			for _, name := range names {
				doc.Lookup(name)
			}
		}
	})
}

// TestFieldReaderOfManyNames reads many fields, some of them twice, from documents with and without
// these fields.
func TestFieldReaderOfManyNames(t *testing.T) {
	t.Parallel()
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprint("f", i%90)
	}
	r := newFieldReader(names)
	for step := 1; step < 5; step++ {
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for i := 199; i >= 0; i -= step {
			b.Int32(fmt.Sprint("f", i), int32(i))
		}
		b.End()
		doc := bsonx.Doc(b.Bytes())
		r.Read(doc)
		for i, name := range names[:90] {
			if got, want := r.Value(i), doc.Lookup(name); got.Type != want.Type || !bytes.Equal(got.Data, want.Data) {
				t.Fatalf("step %d, %s: %v, want %v", step, name, got, want)
			}
		}
	}
}

func newFieldReader(names []string) *bsonx.FieldReader {
	index := make(map[string]int, len(names))
	for i, name := range slices.Backward(names) { // for equal names, the first position
		index[name] = i
	}
	return bsonx.NewFieldReader(names, index)
}
