package foreign

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// A $lookup with a fused $unwind yields the found documents one by one. It never builds a document
// with the whole array, so the found documents may together exceed the size of a document.

// unwinding is the state of the fused $unwind: the found documents for the current input document
// that are not returned yet.
type unwinding struct {
	elems bsonx.Iter
	next  bsonx.Doc     // the document after elems; nil if elems has all
	rest  source.Source // the documents after next; nil if there are no more
	count int64
}

// nextUnwound implements Next for a $lookup with a fused $unwind.
func (s *lookupSource) nextUnwound(ctx context.Context) (bsonx.Doc, error) {
	for {
		found, err := s.nextFound(ctx)
		if err != nil {
			return nil, err
		}
		if found != nil {
			s.count++
			return s.unwound(bsonx.Document(found)), nil
		}
		doc, err := s.Src.Next(ctx)
		if err != nil || doc == nil {
			return nil, err
		}
		array, err := s.find(ctx, doc)
		if err != nil {
			return nil, err
		}
		s.elems, s.count = *array.Doc().Iter(), 0
		empty := array.Doc().IsEmpty() && s.rest == nil
		if empty && !s.lookup.Unwind.Keep {
			continue
		}
		s.doc.Start(doc)
		if err := s.hold(0); err != nil {
			return nil, err
		}
		if empty {
			return s.unwoundNone(array), nil
		}
	}
}

// nextFound returns the next document found for the current input document, or nil at the end.
func (s *lookupSource) nextFound(ctx context.Context) (bsonx.Doc, error) {
	if s.elems.Next() {
		return s.elems.Value().Doc(), nil
	}
	if s.next != nil {
		doc := s.next
		s.next = nil
		return doc, nil
	}
	if s.rest == nil {
		return nil, nil
	}
	doc, err := s.rest.Next(ctx)
	if doc == nil {
		s.closeRest()
	}
	return doc, err
}

// unwound returns the current document with v, the found document number s.count counted from 1, at
// the path of the array.
func (s *lookupSource) unwound(v bsonx.Value) bsonx.Doc {
	return s.lookup.Unwind.Indexed(s.doc.With(v), s.count)
}

// unwoundNone returns the current document without the field. It first sets the empty array and
// then removes it, so that missing documents on the path are created as without fusion.
func (s *lookupSource) unwoundNone(empty bsonx.Value) bsonx.Doc {
	doc := s.doc.With(empty)
	if s.doc.Wanted {
		doc = document.SetPath(doc, s.lookup.As, bsonx.Missing)
	}
	return s.lookup.Unwind.Indexed(doc, 0)
}

func (s *lookupSource) closeRest() {
	if s.rest != nil {
		s.rest.Close()
		s.rest = nil
	}
}

// Save implements source.Source. The found documents are already copies. The Splicer still borrows
// from the input document, and copies that part.
func (s *lookupSource) Save() {
	if s.lookup.Unwind == nil {
		s.doc.Forget()
		source.IdleBuilder(s.out)
	} else {
		s.doc.Save()
	}
	// The computed values borrow from documents that are no longer valid.
	clear(s.locals)
	clear(s.letValues)
	s.ctx.Rest()
	s.foreign.hits.buf = source.Idle(s.foreign.hits.buf)
	if s.rest != nil {
		s.rest.Save()
	}
	s.held.Shrink(s.kept())
	s.Input.Save()
}

// Kept implements memory.Keeper.
func (s *lookupSource) Kept() int64 {
	return s.held.Beyond(s.kept()) + memory.KeptBy(s.rest) + s.foreign.kept() + s.Input.Kept()
}

// Restore implements source.Source.
func (s *lookupSource) Restore(ctx context.Context) error {
	if s.rest != nil {
		if err := s.rest.Restore(ctx); err != nil {
			return err
		}
	}
	return s.Input.Restore(ctx)
}

// Close implements source.Source.
func (s *lookupSource) Close() {
	s.closeRest()
	s.foreign.Close()
	s.held.Release()
	s.Input.Close()
}

// takesApart reports whether u unwinds the array at the path as, and does not write its index into
// the same top-level field.
func takesApart(u *unwind.Stage, as []string) bool {
	return slices.Equal(u.Path, as) && (u.Index == nil || u.Index[0] != as[0])
}

// Fuse returns the stage merged with the following $unwind of its array.
func (l *Lookup) Fuse(u *unwind.Stage) (parsing.Stage, bool) {
	if l.Unwind != nil || !takesApart(u, l.As) {
		return nil, false
	}
	joined := *l
	joined.Unwind = u
	return &joined, true
}
