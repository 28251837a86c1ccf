package collation

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// CompareValues is bsonx.CompareValues, except that it compares strings with the collation, also in
// documents and arrays. Field names are compared as bytes. For large values it checks for
// interrupts: see Ended.
func (c *Collator) CompareValues(a, b bsonx.Value) int {
	if c == nil {
		return bsonx.CompareValues(a, b)
	}
	if len(a.Data)+len(b.Data) <= longText {
		return c.compareValues(a, b, nil)
	}
	watch := interrupt.Watch{Running: c.running}
	return c.compareValues(a, b, &watch)
}

// compareValues compares two values. watch is nil for small values, which need no checks for
// interrupts.
func (c *Collator) compareValues(a, b bsonx.Value, watch *interrupt.Watch) int {
	ca, cb := a.Type.Class(), b.Type.Class()
	if ca != cb {
		return cmp.Compare(ca, cb)
	}
	switch ca {
	case bsonx.ClassString:
		return c.compareTexts(a.StrBytes(), b.StrBytes(), watch)
	case bsonx.ClassDocument, bsonx.ClassArray:
		return c.compareFields(a.Doc(), b.Doc(), ca == bsonx.ClassDocument, watch)
	default:
		return bsonx.CompareValues(a, b)
	}
}

func (c *Collator) compareTexts(a, b []byte, watch *interrupt.Watch) int {
	switch {
	case bytes.Equal(a, b):
		return 0
	case len(a)+len(b) > longText:
		return c.compareLong(a, b, watch)
	case watch != nil && watch.Stopped(textWork*(len(a)+len(b))):
		return 0
	default:
		return c.compareShort(a, b)
	}
}

func (c *Collator) compareFields(a, b bsonx.Doc, names bool, watch *interrupt.Watch) int {
	ia, ib := a.Iter(), b.Iter()
	for {
		na, nb := ia.Next(), ib.Next()
		switch {
		case !na && !nb:
			return 0
		case !na:
			return -1
		case !nb:
			return 1
		case watch != nil && watch.Stopped(interrupt.Step):
			return 0
		}
		va, vb := ia.Value(), ib.Value()
		if x := cmp.Compare(va.Type.Class(), vb.Type.Class()); x != 0 {
			return x
		}
		if names {
			if x := bytes.Compare(ia.Key(), ib.Key()); x != 0 {
				return x
			}
		}
		if x := c.compareValues(va, vb, watch); x != 0 {
			return x
		}
	}
}

// Comparer compares values for an operation, and remembers an interrupt. Results after an interrupt
// must not be used. It belongs to one goroutine.
type Comparer struct {
	c     *Collator
	watch interrupt.Watch
}

// Comparer returns a Comparer for the operation r. If r is nil, it is the operation of the
// collator.
func (c *Collator) Comparer(r *interrupt.Running) *Comparer {
	if c != nil && r == nil {
		r = c.running
	}
	return &Comparer{c: c, watch: interrupt.Watch{Running: r}}
}

// Compare compares two values like CompareValues. After an interrupt the result is not valid.
func (m *Comparer) Compare(a, b bsonx.Value) int {
	switch {
	case m.c == nil:
		return bsonx.CompareValues(a, b)
	case m.watch.Stopped(textWork * (len(a.Data) + len(b.Data))):
		return 0
	default:
		return m.c.compareValues(a, b, &m.watch)
	}
}

// Ended returns the error of the interrupt if a comparison has noticed it.
func (m *Comparer) Ended() error { return m.watch.Ended() }

// Sort sorts values stably. It fails after an interrupt, and the order is undefined then.
func (c *Collator) Sort(values []bsonx.Value, m *interrupt.Meter, r *interrupt.Running) error {
	by := c.Comparer(r)
	return cmp.Or(interrupt.Sort(values, interrupt.Step, by.Compare, m, r), by.Ended())
}

// Compact replaces each run of equal values by its first value, in place, and returns the shortened
// slice. It fails after an interrupt, and the values are undefined then.
func (c *Collator) Compact(values []bsonx.Value, m *interrupt.Meter, r *interrupt.Running) ([]bsonx.Value, error) {
	by := c.Comparer(r)
	equal := func(a, b bsonx.Value) bool { return by.Compare(a, b) == 0 }
	out, err := interrupt.Compact(values, interrupt.Step, equal, m, r)
	return out, cmp.Or(err, by.Ended())
}

// Concerns reports whether a collation may affect comparisons of a value: it is a string, or may
// contain one.
func Concerns(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeString, bsonx.TypeSymbol, bsonx.TypeDocument, bsonx.TypeArray:
		return true
	default:
		return false
	}
}

// Fold returns a value with every string replaced by its collation key. Binary comparison of folded
// values gives the same order as comparing the original values with the collation. With a nil
// Collator it returns the value itself. It fails in the same cases as AppendKey.
func (c *Collator) Fold(v bsonx.Value, r *interrupt.Running) (bsonx.Value, error) {
	if c == nil || !Concerns(v) {
		return v, nil
	}
	if r == nil {
		r = c.running
	}
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return c.foldText(v.StrBytes(), r)
	}
	f := folder{c: c, b: bsonx.NewBuilder(nil), watch: interrupt.Watch{Running: r}}
	f.op = memory.Of(r.Context())
	if v.Type == bsonx.TypeDocument {
		f.b.StartDoc()
		f.fields(v.Doc())
	} else {
		f.b.StartArray()
		f.elements(v.Doc())
	}
	if f.err != nil {
		return bsonx.Missing, f.err
	}
	f.b.End()
	return bsonx.Value{Type: v.Type, Data: f.b.Bytes()}, nil
}

// foldText returns the collation key of a text as a string value.
func (c *Collator) foldText(s []byte, r *interrupt.Running) (bsonx.Value, error) {
	if len(s) <= longText {
		var room [128]byte
		key, err := c.AppendKey(room[:0], s, nil)
		return bsonx.String(string(key)), err
	}
	data, err := c.AppendKey(make([]byte, 4), s, r)
	if err != nil {
		return bsonx.Missing, err
	}
	binary.LittleEndian.PutUint32(data, uint32(len(data)-3))
	return bsonx.Value{Type: bsonx.TypeString, Data: append(data, 0)}, nil
}

// folder is the state of folding the strings in a document.
type folder struct {
	c     *Collator
	b     *bsonx.Builder
	watch interrupt.Watch
	op    *memory.Operation
	held  int
	err   error
}

func (f *folder) fields(doc bsonx.Doc) {
	for it := doc.Iter(); f.err == nil && it.Next(); {
		name := string(it.Key())
		switch v := it.Value(); v.Type {
		case bsonx.TypeDocument:
			f.b.StartDocField(name)
			f.fields(v.Doc())
			f.b.End()
		case bsonx.TypeArray:
			f.b.StartArrayField(name)
			f.elements(v.Doc())
			f.b.End()
		default:
			f.b.Value(name, f.fold(v))
		}
	}
}

func (f *folder) elements(array bsonx.Doc) {
	for it := array.Iter(); f.err == nil && it.Next(); {
		switch v := it.Value(); v.Type {
		case bsonx.TypeDocument:
			f.b.StartDocElem()
			f.fields(v.Doc())
			f.b.End()
		case bsonx.TypeArray:
			f.b.StartArrayElem()
			f.elements(v.Doc())
			f.b.End()
		default:
			f.b.Elem(f.fold(v))
		}
	}
}

// fold folds a value in a document. After an error the result is not valid.
func (f *folder) fold(v bsonx.Value) bsonx.Value {
	if Concerns(v) {
		if f.watch.Stopped(textWork * len(v.Data)) {
			f.err = f.watch.Ended()
			return bsonx.Null
		}
		if v, f.err = f.c.foldText(v.StrBytes(), f.watch.Running); f.err != nil {
			return bsonx.Null
		}
	}
	// A growing builder doubles its buffer.
	if n := 2 * (len(f.b.Bytes()) + len(v.Data)); n > f.held {
		f.held = n + heldBytes
		f.err = holdKey(f.op, f.held)
	}
	return v
}

const displayPrefix = "CollationKey(0x"

// Display returns a folded value in the form that MongoDB shows: each collation key is in
// hexadecimal.
func Display(folded bsonx.Value) bsonx.Value {
	switch folded.Type {
	case bsonx.TypeString:
		if len(folded.StrBytes()) == 0 {
			return folded // the smallest string, which is not a collation key
		}
		return bsonx.String(displayPrefix + hex.EncodeToString(folded.StrBytes()) + ")")
	case bsonx.TypeDocument:
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for it := folded.Doc().Iter(); it.Next(); {
			b.ValueBytes(it.Key(), Display(it.Value()))
		}
		b.End()
		return bsonx.Document(b.Bytes())
	case bsonx.TypeArray:
		b := bsonx.NewBuilder(nil)
		b.StartArray()
		for it := folded.Doc().Iter(); it.Next(); {
			b.Elem(Display(it.Value()))
		}
		b.End()
		return bsonx.Array(b.Bytes())
	default:
		return folded
	}
}

// IsDisplayed reports whether a string is a collation key in the form of Display.
func IsDisplayed(s []byte) bool { return bytes.HasPrefix(s, []byte(displayPrefix)) }

// Displayed returns the form that MongoDB shows for a value in an index with this collation. It
// fails in the same cases as Fold.
func (c *Collator) Displayed(v bsonx.Value, r *interrupt.Running) (bsonx.Value, error) {
	if c == nil {
		return v, nil
	}
	folded, err := c.Fold(v, r)
	if err != nil {
		return bsonx.Missing, err
	}
	return Display(folded), nil
}
