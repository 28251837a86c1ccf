package collation

import (
	"bytes"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestContractions checks two things. If locales.go says that no letters are ordered together, the
// keys of pairs of characters are made of the keys of the characters. And every locale is either
// supported or refused.
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
