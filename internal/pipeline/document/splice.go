package document

import (
	"encoding/binary"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Splicer gives a document's value at a path several values in turn, as setPath does, and keeps the fields that are wanted.
// What stays the same is put together once; the results share one buffer.
type Splicer struct {
	path []string
	// keep names the fields that are wanted; nil wants all of them.
	keep []string

	head, tail []byte // the elements before and behind that of path[0]
	old        bsonx.Value
	Wanted     bool // path[0] is
	Out        []byte
}

// NewSplicer returns a splicer for a path that keeps the named fields, all of them if keep is nil.
func NewSplicer(path, keep []string) Splicer {
	return Splicer{path: path, keep: keep, Wanted: keep == nil || slices.Contains(keep, path[0])}
}

// Start takes a document, of whose bytes it keeps none unless the path is dotted: then it borrows the value.
func (s *Splicer) Start(doc bsonx.Doc) {
	s.head, s.tail, s.old = s.head[:0], s.tail[:0], bsonx.Missing
	found := false
	missing := len(s.keep)
	for it := doc.Iter(); it.Next(); {
		key := it.Key()
		switch {
		case string(key) == s.path[0] && !found:
			found = true
			if len(s.path) > 1 {
				s.old = it.Value()
			}
			if s.Wanted {
				missing--
			}
		case s.keep != nil && !s.wants(key):
			continue
		case found:
			s.tail = appendElement(s.tail, key, it.Value())
			missing--
		default:
			s.head = appendElement(s.head, key, it.Value())
			missing--
		}
		if s.keep != nil && missing <= 0 {
			return
		}
	}
}

func (s *Splicer) wants(key []byte) bool {
	for _, name := range s.keep {
		if len(name) == len(key) && name == string(key) {
			return true
		}
	}
	return false
}

// With returns the document with a value, or without one where it is missing. The result is borrowed until the next call.
func (s *Splicer) With(v bsonx.Value) bsonx.Doc {
	out := append(append(s.Out[:0], 0, 0, 0, 0), s.head...)
	if s.Wanted {
		if v = childValue(s.old, s.path[1:], v); !v.IsMissing() {
			out = append(append(append(out, byte(v.Type)), s.path[0]...), 0)
			out = append(out, v.Data...)
		}
	}
	out = append(append(out, s.tail...), 0)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	s.Out = out
	return out
}

// Room returns how much memory with needs beside what the splicer has, for a value.
func (s *Splicer) Room(v bsonx.Value) int64 {
	n := len(s.head) + len(s.tail) + len(s.old.Data) + len(v.Data)
	return int64(max(0, n-cap(s.Out)))
}

// Save keeps what is borrowed.
func (s *Splicer) Save() { s.old, s.Out = s.old.Clone(), source.Idle(s.Out) }

// Kept returns how many bytes the splicer keeps after save.
func (s *Splicer) Kept() int64 {
	return int64(cap(s.head) + cap(s.tail) + len(s.old.Data) + cap(s.Out))
}

// Forget gives up the document that was taken last: nothing will be made of it any more.
func (s *Splicer) Forget() {
	s.head, s.tail, s.Out, s.old = source.Idle(s.head), source.Idle(s.tail), source.Idle(s.Out), bsonx.Missing
}

func appendElement(dst []byte, key []byte, v bsonx.Value) []byte {
	dst = append(append(append(dst, byte(v.Type)), key...), 0)
	return append(dst, v.Data...)
}
