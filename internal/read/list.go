package read

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// List is a list of documents that a command returns. They are produced one by one, because
// together they may be large.
type List struct {
	N int
	// At returns the i-th document, or nil if the document is left out.
	At func(i int) (bsonx.Doc, error)
	// bytes is the size of the documents that the list itself keeps in memory.
	bytes int64
}

// entryBytes estimates the memory of a list element without its document, in bytes.
const entryBytes = 32

// ListOf returns a list of documents in memory.
func ListOf(docs []bsonx.Doc) List {
	bytes := int64(0)
	for _, doc := range docs {
		bytes += int64(len(doc)) + entryBytes
	}
	return List{N: len(docs), bytes: bytes, At: func(i int) (bsonx.Doc, error) { return docs[i], nil }}
}

// ListSource is the source of a cursor over a list.
type ListSource struct {
	List
	next  int
	ahead bsonx.Doc // produced in advance by IsDone
}

// Next implements session.Source.
func (s *ListSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if doc := s.ahead; doc != nil {
		s.ahead = nil
		return doc, nil
	}
	for s.next < s.N {
		if err := interrupt.Cause(ctx); err != nil {
			return nil, err
		}
		doc, err := s.At(s.next)
		if err != nil {
			return nil, err
		}
		s.next++
		if doc != nil {
			return doc, nil
		}
	}
	return nil, nil
}

// IsDone reports whether the list has no further document. It may produce the next document to find
// out.
func (s *ListSource) IsDone(ctx context.Context) bool {
	if s.ahead == nil {
		doc, err := s.Next(ctx)
		if err != nil {
			return false // the next read returns the error
		}
		s.ahead = doc
	}
	return s.ahead == nil
}

// Kept implements memory.Keeper.
func (s *ListSource) Kept() int64 {
	return s.bytes + int64(len(s.ahead)) + entryBytes*int64(s.N-s.next)
}

// Save implements session.Source.
func (*ListSource) Save() {}

// Restore implements session.Source.
func (*ListSource) Restore(context.Context) error { return nil }

// Close implements session.Source.
func (*ListSource) Close() {}

// Source returns a source that yields the documents of a list.
func (l List) Source() *ListSource { return &ListSource{List: l} }
