package oplog

import (
	"bytes"
	"strconv"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Differ computes diffs of documents. It reuses its memory and is not safe for concurrent use.
type Differ struct {
	// Fine asks for a diff that shows what update operators changed. A changed embedded document is
	// never replaced as a whole. An array that became shorter is always replaced as a whole.
	Fine bool
	// Running is the operation that needs the diff. A nil Running never ends.
	Running *interrupt.Running

	levels []*level
	meter  interrupt.Meter
	ended  error // why the operation ended
}

// level has the parts of the diff of one document.
type level struct {
	deletes, updates, inserts []bsonx.Elem
	subs                      []sub
	scratch                   []byte
}

// sub is the diff of a field's document or array. Its bytes are in the level's scratch buffer.
type sub struct {
	key      []byte
	from, to int
}

// Fields appends the fields of the diff from old to doc. It appends none if they are equal. The
// algorithm is MongoDB's document_diff_calculator: fields that both documents have in the same
// order are compared. Other fields are deleted, and inserted at the end. Fields fails if the
// operation ends.
func (d *Differ) Fields(b *bsonx.Builder, old, doc bsonx.Doc) error {
	d.ended = nil
	d.document(b, 0, old, doc)
	return d.ended
}

// goesOn counts the work on a field and its values, and reports whether the operation still runs.
// After its end the diff must not be used.
func (d *Differ) goesOn(bytes int) bool {
	if d.ended == nil {
		d.ended = d.meter.Did(interrupt.Step+bytes, d.Running)
	}
	return d.ended == nil
}

func (d *Differ) level(n int) *level {
	if n == len(d.levels) {
		d.levels = append(d.levels, &level{})
	}
	l := d.levels[n]
	l.deletes, l.updates, l.inserts, l.subs = l.deletes[:0], l.updates[:0], l.inserts[:0], l.subs[:0]
	l.scratch = l.scratch[:0]
	return l
}

// document adds the fields of a document's diff to b.
func (d *Differ) document(b *bsonx.Builder, depth int, old, doc bsonx.Doc) {
	l := d.level(depth)
	before, after := old.Iter(), doc.Iter()
	moreBefore, moreAfter := before.Next(), after.Next()
	for moreBefore && moreAfter && d.goesOn(len(before.Value().Data)) {
		if !bytes.Equal(before.Key(), after.Key()) {
			l.deletes = append(l.deletes, before.Elem())
			moreBefore = before.Next()
			continue
		}
		if !before.Value().Identical(after.Value()) {
			d.value(l, depth, after.Key(), before.Value(), after.Value())
		}
		moreBefore, moreAfter = before.Next(), after.Next()
	}
	for ; moreBefore && d.goesOn(0); moreBefore = before.Next() {
		l.deletes = append(l.deletes, before.Elem())
	}
	for ; moreAfter && d.goesOn(0); moreAfter = after.Next() {
		l.inserts = append(l.inserts, after.Elem())
	}
	d.dropReplaced(l)
	d.append(b, l)
}

// worth reports whether a diff of that size is used instead of the new value.
func (d *Differ) worth(size int, old, v bsonx.Value) bool {
	switch {
	case !d.Fine:
		return size < len(v.Data)
	case v.Type == bsonx.TypeDocument:
		return true
	default:
		return old.Doc().Len() <= v.Doc().Len()
	}
}

// value adds a changed field: as a diff if that pays off, or else as the new value.
func (d *Differ) value(l *level, depth int, key []byte, old, v bsonx.Value) {
	nested := old.Type == v.Type && (v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray)
	if nested {
		from := len(l.scratch)
		b := bsonx.NewBuilder(l.scratch)
		b.StartDoc()
		if v.Type == bsonx.TypeArray {
			d.array(b, depth+1, old.Doc(), v.Doc())
		} else {
			d.document(b, depth+1, old.Doc(), v.Doc())
		}
		b.End()
		if d.worth(b.Len()-from, old, v) {
			l.scratch = b.Bytes()
			l.subs = append(l.subs, sub{key: key, from: from, to: len(l.scratch)})
			return
		}
		l.scratch = b.Bytes()[:from]
	}
	l.updates = append(l.updates, bsonx.Elem{Key: key, Value: v})
}

// dropReplaced drops the deletions of fields that are inserted again, because an insertion moves a
// field to the end.
func (d *Differ) dropReplaced(l *level) {
	if len(l.deletes) == 0 || len(l.inserts) == 0 {
		return
	}
	inserted := make(map[string]bool, len(l.inserts))
	for _, e := range l.inserts {
		if !d.goesOn(0) {
			return
		}
		inserted[string(e.Key)] = true
	}
	kept := l.deletes[:0]
	for _, e := range l.deletes {
		if !d.goesOn(0) {
			return
		}
		if !inserted[string(e.Key)] {
			kept = append(kept, e)
		}
	}
	l.deletes = kept
}

// append adds the parts of a level to b.
func (d *Differ) append(b *bsonx.Builder, l *level) {
	section := func(name string, elems []bsonx.Elem, deleted bool) {
		if len(elems) == 0 {
			return
		}
		b.StartDocField(name)
		for _, e := range elems {
			if !d.goesOn(len(e.Value.Data)) {
				break
			}
			if deleted {
				b.ValueBytes(e.Key, bsonx.Bool(false))
			} else {
				b.ValueBytes(e.Key, e.Value)
			}
		}
		b.End()
	}
	section("d", l.deletes, true)
	section("u", l.updates, false)
	section("i", l.inserts, false)
	for _, s := range l.subs {
		if !d.goesOn(s.to - s.from) {
			return
		}
		b.Doc("s"+string(s.key), l.scratch[s.from:s.to])
	}
}

// array adds the fields of an array's diff to b.
func (d *Differ) array(b *bsonx.Builder, depth int, old, doc bsonx.Doc) {
	l := d.level(depth)
	b.Bool("a", true)
	before, after := old.Iter(), doc.Iter()
	n := 0
	for after.Next() && d.goesOn(len(after.Value().Data)) {
		v := after.Value()
		if !before.Next() {
			b.Value("u"+strconv.Itoa(n), v)
			n++
			for after.Next() && d.goesOn(len(after.Value().Data)) {
				b.Value("u"+strconv.Itoa(n), after.Value())
				n++
			}
			return
		}
		if !before.Value().Identical(v) {
			l.updates, l.subs, l.scratch = l.updates[:0], l.subs[:0], l.scratch[:0]
			d.value(l, depth, after.Key(), before.Value(), v)
			if len(l.subs) > 0 {
				b.Doc("s"+strconv.Itoa(n), l.scratch[l.subs[0].from:l.subs[0].to])
			} else {
				b.Value("u"+strconv.Itoa(n), v)
			}
		}
		n++
	}
	if before.Next() {
		b.Int32("l", int32(n))
	}
}
