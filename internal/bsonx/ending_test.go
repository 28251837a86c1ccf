package bsonx

import (
	"math/rand/v2"
	"testing"

	"github.com/sheafdb/sheaf/internal/limits"
)

// TestValidateEnding requires that ValidateEnding gives the same result as Validate, for documents
// that end like an earlier one.
func TestValidateEnding(t *testing.T) {
	t.Parallel()
	tail := NewDoc("lsid", NewDoc("id", Binary(4, make([]byte, 16))), "$db", "admin", "p", NewDoc("mode", "primary"))
	ending := tail[4:]
	with := func(pairs ...any) Doc {
		return NewDoc(append(pairs, "lsid", NewDoc("id", Binary(4, make([]byte, 16))), "$db", "admin", "p",
			NewDoc("mode", "primary"))...)
	}
	for name, c := range map[string]struct {
		doc   Doc
		known bool
	}{
		"alone":              {tail, true},
		"after fields":       {with("ping", 1, "x", NewDoc("a", "b")), true},
		"inside a document":  {NewDoc("ping", 1, "x", tail), false},
		"inside a text":      {NewDoc("ping", 1, "x", string(ending)), false},
		"inside a binary":    {NewDoc("ping", 1, "x", Binary(0, append([]byte("abc"), ending...))), false},
		"with another value": {NewDoc("ping", 1, "$db", "admim"), false},
		"empty":              {Empty, false},
	} {
		at, err := ValidateEnding(c.doc, Limits{}, ending)
		if err != nil || (at > 0) != c.known {
			t.Errorf("%s: at %d, %v", name, at, err)
		}
		if at > 0 && !Doc(c.doc[at:]).Equal(ending) {
			t.Errorf("%s: the ending is not at %d", name, at)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		doc := with("ping", rng.IntN(3), "x", NewDoc("a", "b"), "y", tail)
		for range rng.IntN(3) {
			doc[rng.IntN(len(doc))] = byte(rng.Uint32())
		}
		want := Validate(doc, Limits{})
		if _, err := ValidateEnding(doc, Limits{}, ending); (err == nil) != (want == nil) ||
			err != nil && err.Error() != want.Error() {
			t.Fatalf("%x: %v, alone %v", doc, err, want)
		}
	}
}

// TestValidateDeep validates documents that are nested more deeply than usualDepth.
func TestValidateDeep(t *testing.T) {
	t.Parallel()
	doc := NewDoc("x", 1)
	for depth := 2; depth <= limits.DocumentDepth+2; depth++ {
		doc = NewDoc("before", NewDoc("a", 1), "in", doc, "after", NewDoc("b", 1))
		if err := Validate(doc, Limits{}); (err == nil) != (depth <= limits.DocumentDepth) {
			t.Fatalf("depth %d: %v", depth, err)
		}
	}
}
