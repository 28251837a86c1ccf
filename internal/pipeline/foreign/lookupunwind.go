package foreign

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/pipeline/document"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// A $lookup whose array the next stage takes apart yields the documents one by one. It never makes the array part of a
// document, and what is found may be longer than a document.

// unwinding is the state of taking apart what a $lookup found for one document.
type unwinding struct {
	elems bsonx.Iter
	next  bsonx.Doc     // follows elems, nil for none
	rest  source.Source // follows next, nil for none
	count int64
}

// nextUnwound is Next of a $lookup that takes its array apart.
func (s *LookupSource) nextUnwound(ctx context.Context) (bsonx.Doc, error) {
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

// nextFound returns the next document that was found for the current one, nil at the end.
func (s *LookupSource) nextFound(ctx context.Context) (bsonx.Doc, error) {
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

// unwound returns the current document with one of those found, the count-th; 0 is none.
func (s *LookupSource) unwound(v bsonx.Value) bsonx.Doc {
	return s.lookup.Unwind.Indexed(s.doc.With(v), s.count)
}

// unwoundNone returns the current document without the field. The empty array that would have stood there leaves the
// documents around it.
func (s *LookupSource) unwoundNone(empty bsonx.Value) bsonx.Doc {
	doc := s.doc.With(empty)
	if s.doc.Wanted {
		doc = document.SetPath(doc, s.lookup.As, bsonx.Missing)
	}
	return s.lookup.Unwind.Indexed(doc, 0)
}

func (s *LookupSource) closeRest() {
	if s.rest != nil {
		s.rest.Close()
		s.rest = nil
	}
}

// Save implements Source. What was found is the stage's own, but for the place where the document had it.
func (s *LookupSource) Save() {
	if s.lookup.Unwind == nil {
		s.doc.Forget()
		source.IdleBuilder(s.out)
	} else {
		s.doc.Save()
	}
	// These borrow from documents that are gone.
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
func (s *LookupSource) Kept() int64 {
	return s.held.Beyond(s.kept()) + memory.KeptBy(s.rest) + s.foreign.kept() + s.Input.Kept()
}

// Restore implements Source.
func (s *LookupSource) Restore(ctx context.Context) error {
	if s.rest != nil {
		if err := s.rest.Restore(ctx); err != nil {
			return err
		}
	}
	return s.Input.Restore(ctx)
}

// Close implements Source.
func (s *LookupSource) Close() {
	s.closeRest()
	s.foreign.Close()
	s.held.Release()
	s.Input.Close()
}
