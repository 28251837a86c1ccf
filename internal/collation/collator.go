package collation

import (
	"bytes"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Collator compares strings with a collation. A nil Collator compares bytes. It is immutable and
// safe for concurrent use.
type Collator struct {
	*rules
	// running is the operation that the collator serves, whose interrupt ends comparisons. It may
	// be nil.
	running *interrupt.Running
}

// rules creates the collation keys of texts for one specification. All collators of the
// specification share it.
type rules struct {
	opts options
	spec bsonx.Doc
	// aligned reports that the weights of one level depend on another level, or on the kind of
	// character. Keys must then be built from whole elements.
	aligned bool
	// ascii contains the collation elements of the ASCII characters. It is nil if some of them are
	// ordered together with the next character.
	ascii    *[128]element
	variable uint32 // the largest primary weight that alternate "shifted" ignores
	zero     uint32 // the primary weight of the digit 0
	order    scriptOrder
	levels   []level // the levels of a key, in order
	pool     sync.Pool
}

// scriptOrder moves the primary weights in [first, next) before the weights from latin on. The zero
// value moves no weights.
type scriptOrder struct{ latin, first, next uint32 }

func (o scriptOrder) of(p uint32) uint32 {
	switch {
	case p < o.latin || p >= o.next:
		return p
	case p >= o.first:
		return p - o.first + o.latin
	default:
		return p + o.next - o.first
	}
}

// worker contains the buffers for one comparison. Workers are pooled, because x/text's collator is
// not safe for concurrent use.
type worker struct {
	order    scriptOrder
	collator *collate.Collator
	buffer   collate.Buffer
	a, b     []byte
	elements []element
	digits   []byte
	levels   levels
}

// Parse compiles the specification of a collation. For an empty document or the simple locale it
// returns nil.
func Parse(doc bsonx.Doc) (*Collator, error) {
	if doc.IsEmpty() {
		return nil, nil
	}
	opts, err := parseOptions(doc)
	if err != nil || opts.locale == simple {
		return nil, err
	}
	c := &Collator{rules: &rules{opts: opts, spec: opts.document(), levels: opts.levels()}}
	c.aligned = opts.aligned()
	l := supported[opts.locale]
	tag, err := language.Parse(l.tag)
	if l.tag == "" {
		tag, err = language.Und, nil
	}
	if err != nil {
		return nil, err
	}
	c.pool.New = func() any { return &worker{collator: collate.New(tag), order: c.order} }
	w := c.worker()
	if l.first != 0 {
		c.order = scriptOrder{latin: w.primary('a'), first: w.primary(l.first), next: w.primary(l.next)}
		w.order = c.order
	}
	defer c.pool.Put(w)
	c.zero = w.primary('0')
	c.variable = w.primary('`') - 1 // the first symbol
	if opts.maxVariable == "space" {
		c.variable = w.primary('_') - 1 // the first punctuation character
	}
	if !l.contracts {
		c.ascii = new([128]element)
		for r := range c.ascii {
			c.ascii[r] = w.first(rune(r))
		}
	}
	return c, nil
}

func (by *rules) worker() *worker { return by.pool.Get().(*worker) }

// Spec returns the specification with all fields, or nil for a nil Collator.
func (c *Collator) Spec() bsonx.Doc {
	if c == nil {
		return nil
	}
	return c.spec
}

// Same reports whether two collators have the same specification.
func (c *Collator) Same(o *Collator) bool {
	return c == o || c != nil && o != nil && bytes.Equal(c.spec, o.spec)
}

// Serving returns a collator with the same order that serves the operation r. After an interrupt of
// the operation, comparisons stop early: see Ended.
func (c *Collator) Serving(r *interrupt.Running) *Collator {
	if c == nil || r == nil || c.running == r {
		return c
	}
	return &Collator{rules: c.rules, running: r}
}

// Ended returns the error of an interrupt if a comparison of a and b may have stopped early. The
// result of the comparison must not be used then.
func (c *Collator) Ended(a, b bsonx.Value) error { return c.EndedIn(len(a.Data) + len(b.Data)) }

// EndedIn is Ended for comparisons of values with n bytes in total.
func (c *Collator) EndedIn(n int) error {
	if c == nil || n <= longText {
		return nil
	}
	return c.running.Err()
}

func (by *rules) compareShort(a, b []byte) int {
	w := by.worker()
	w.a, w.b = by.appendKey(w.a[:0], a, w), by.appendKey(w.b[:0], b, w)
	order := bytes.Compare(w.a, w.b)
	by.pool.Put(w)
	return order
}

// AppendKey appends the collation key of a string. Comparing keys as bytes gives the order of the
// strings. For a long string AppendKey reserves memory, and checks for interrupts of the operation
// r or, if r is nil, of the collator's operation. It fails after an interrupt, or if the memory
// limit is exceeded.
func (c *Collator) AppendKey(dst, s []byte, r *interrupt.Running) ([]byte, error) {
	if c == nil {
		return append(dst, s...), nil
	}
	if len(s) > longText {
		if r == nil {
			r = c.running
		}
		return c.appendLong(dst, s, r)
	}
	w := c.worker()
	dst = c.appendKey(dst, s, w)
	c.pool.Put(w)
	return dst, nil
}
