package collation

import (
	"bytes"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestContractions requires that every locale is either supported or refused. If locales.go states
// that a locale has no contractions, the keys of pairs of characters must be composed of the keys
// of the single characters.
func TestContractions(t *testing.T) {
	t.Parallel()
	for name, l := range supported {
		c, err := Parse(bsonx.NewDoc("locale", name))
		if err != nil {
			t.Fatal(name, err)
		}
		slow, w := &Collator{rules: &rules{opts: c.opts}}, c.worker()
		for a := byte(' '); a < 0x7F; a++ {
			for b := byte(' '); b < 0x7F && !l.contracts; b++ {
				pair := []byte{a, b}
				if fast, want := c.appendKey(nil, pair, w), slow.appendKey(nil, pair, w); !bytes.Equal(fast, want) {
					t.Errorf("%s: %q has the key %x, not %x", name, pair, fast, want)
				}
			}
		}
	}
	for _, name := range refused {
		if _, ok := supported[name]; ok {
			t.Errorf("%s is supported and refused", name)
		}
	}
}
