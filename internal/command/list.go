package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/session"
)

// List is a list of documents that a command answers with. They are made one by one, because
// together they may be large.
type List struct {
	N int
	// at makes the i-th document, nil for one that is left out.
	At func(i int) (bsonx.Doc, error)
	// bytes is what the list itself keeps in memory.
	bytes int64
}

// entryBytes is about what an element of a list takes beside its document.
const entryBytes = 32

// ListOf is a list of documents that are in memory.
func ListOf(docs []bsonx.Doc) List {
	bytes := int64(0)
	for _, doc := range docs {
		bytes += int64(len(doc)) + entryBytes
	}
	return List{N: len(docs), bytes: bytes, At: func(i int) (bsonx.Doc, error) { return docs[i], nil }}
}

// ReplyList answers with a cursor over a list.
func ReplyList(ctx context.Context, req *Request, reply *bsonx.Builder, collection string, docs List) error {
	size, err := req.ListBatch()
	if err != nil {
		return err
	}
	src := &listSource{List: docs}
	b := Batch{
		Req: req, Field: "firstBatch", Size: size, Source: src, Single: src.done(ctx),
		Cursor: &session.Cursor{Source: src, DB: req.DB, Collection: collection, Owner: req.Owner()},
	}
	err = b.First(ctx, reply)
	if collection != BulkWriteCursor {
		req.Op.Debug.NReturned = -1 // what a list tells of the catalog does not count as documents
	}
	return err
}

// ListBatch returns the size of the first batch of a list, -1 where the command does not say it.
func (r *Request) ListBatch() (int64, error) {
	size := int64(-1)
	cursor := r.Doc("cursor")
	if cursor == nil {
		return size, nil
	}
	err := ParseFields(r.Def.Name+".cursor", cursor, CursorFields, func(_ int, v bsonx.Value) error {
		size = SaturatingInt64(v)
		return nil
	})
	return size, err
}

// listSource is a cursor over a list.
type listSource struct {
	List
	next  int
	ahead bsonx.Doc // was made to see whether there is another one
}

// Next implements session.Source.
func (s *listSource) Next(ctx context.Context) (bsonx.Doc, error) {
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

func (s *listSource) done(ctx context.Context) bool {
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
func (s *listSource) Kept() int64 {
	return s.bytes + int64(len(s.ahead)) + entryBytes*int64(s.N-s.next)
}

// Save implements session.Source.
func (*listSource) Save() {}

// Restore implements session.Source.
func (*listSource) Restore(context.Context) error { return nil }

// Close implements session.Source.
func (*listSource) Close() {}
