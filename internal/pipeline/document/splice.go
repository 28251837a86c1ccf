package document

import (
	"encoding/binary"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Splicer sets several values in turn at one path of a document, like SetPath, and drops unwanted
// fields. It encodes the unchanged parts once. All results share one buffer.
type Splicer struct {
	path []string
	// keep lists the wanted top-level fields. If it is nil, all fields are kept.
	keep []string

	head, tail []byte // the encoded elements before and after the field path[0]
	old        bsonx.Value
	Wanted     bool // the field path[0] is wanted
	Out        []byte
}

// NewSplicer returns a Splicer for path that keeps the named top-level fields, or all if keep is
// nil.
func NewSplicer(path, keep []string) Splicer {
	return Splicer{path: path, keep: keep, Wanted: keep == nil || slices.Contains(keep, path[0])}
}

// Start sets the document to change. The Splicer copies what it needs, except for a path with
// several components: then it borrows the value of the field path[0].
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

// With returns the document with v at the path, or without the field if v is missing. The result is
// borrowed until the next call.
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

// Room estimates the number of bytes that With(v) would allocate.
func (s *Splicer) Room(v bsonx.Value) int64 {
	n := len(s.head) + len(s.tail) + len(s.old.Data) + len(v.Data)
	return int64(max(0, n-cap(s.Out)))
}

// Save copies the borrowed value of Start, so that the document can be released.
func (s *Splicer) Save() { s.old, s.Out = s.old.Clone(), source.Idle(s.Out) }

// Kept returns the number of bytes that the Splicer keeps after Save.
func (s *Splicer) Kept() int64 {
	return int64(cap(s.head) + cap(s.tail) + len(s.old.Data) + cap(s.Out))
}

// Forget drops the document that Start set, when no more results of it are needed.
func (s *Splicer) Forget() {
	s.head, s.tail, s.Out, s.old = source.Idle(s.head), source.Idle(s.tail), source.Idle(s.Out), bsonx.Missing
}

func appendElement(dst []byte, key []byte, v bsonx.Value) []byte {
	dst = append(append(append(dst, byte(v.Type)), key...), 0)
	return append(dst, v.Data...)
}
