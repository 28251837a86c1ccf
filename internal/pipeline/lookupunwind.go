package pipeline

import (
	"context"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
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
		if empty && !s.lookup.unwind.keep {
			continue
		}
		s.doc.start(doc)
		if err := s.hold(0); err != nil {
			return nil, err
		}
		if empty {
			return s.unwoundNone(array), nil
		}
	}
}

// nextFound returns the next document that was found for the current one, nil at the end.
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

// unwound returns the current document with one of those found, the count-th; 0 is none.
func (s *lookupSource) unwound(v bsonx.Value) bsonx.Doc {
	return s.lookup.unwind.indexed(s.doc.with(v), s.count)
}

// unwoundNone returns the current document without the field. The empty array that would have stood there leaves the
// documents around it.
func (s *lookupSource) unwoundNone(empty bsonx.Value) bsonx.Doc {
	doc := s.doc.with(empty)
	if s.doc.wanted {
		doc = setPath(doc, s.lookup.as, bsonx.Missing)
	}
	return s.lookup.unwind.indexed(doc, 0)
}

func (s *lookupSource) closeRest() {
	if s.rest != nil {
		s.rest.Close()
		s.rest = nil
	}
}

// Save implements Source. What was found is the stage's own, but for the place where the document had it.
func (s *lookupSource) Save() {
	if s.lookup.unwind == nil {
		s.doc.forget()
		source.IdleBuilder(s.out)
	} else {
		s.doc.save()
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
func (s *lookupSource) Kept() int64 {
	return s.held.Beyond(s.kept()) + memory.KeptBy(s.rest) + s.foreign.kept() + s.Input.Kept()
}

// Restore implements Source.
func (s *lookupSource) Restore(ctx context.Context) error {
	if s.rest != nil {
		if err := s.rest.Restore(ctx); err != nil {
			return err
		}
	}
	return s.Input.Restore(ctx)
}

// Close implements Source.
func (s *lookupSource) Close() {
	s.closeRest()
	s.foreign.close()
	s.held.Release()
	s.Input.Close()
}

// fuseLookups is RuleFuse: a $lookup takes its array apart itself where the next stage would, and leaves out what a $match
// behind that refuses. So does a $graphLookup, but for the $match.
func fuseLookups(steps []step) []step {
	fused := make([]step, 0, len(steps))
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		fused = append(fused, s)
		if i+1 == len(steps) {
			continue
		}
		u, ok := steps[i+1].Stage.(*unwind)
		if g, is := s.Stage.(*graphLookup); is && ok && g.unwind == nil && takesApart(u, g.as) {
			i++
			joined := *g
			joined.unwind = u
			fused[len(fused)-1].Stage = &joined
			continue
		}
		l, is := s.Stage.(*lookup)
		if !is || !ok || l.unwind != nil || !takesApart(u, l.as) {
			continue
		}
		i++
		joined := *l
		joined.unwind = u
		fused[len(fused)-1].Stage = &joined
		if i+1 < len(steps) && !u.keep && u.index == nil {
			if rest, ok := joined.absorb(steps[i+1]); ok {
				i++
				fused = append(fused, rest...)
			}
		}
	}
	return fused
}

// takesApart reports whether a $unwind is of the array that a stage before it sets, and touches that nowhere else.
func takesApart(u *unwind, as []string) bool {
	return slices.Equal(u.path, as) && (u.index == nil || u.index[0] != as[0])
}

// absorb takes over the predicates of a $match that ask about the documents found, and returns what is left of it.
func (l *lookup) absorb(s step) (rest []step, ok bool) {
	m, ok := s.Stage.(*match)
	if !ok {
		return nil, false
	}
	prefix := strings.Join(l.as, ".") + "."
	var mine, others []predicate
	for _, p := range m.predicates() {
		inside, ok := p.through(func(path string, _ *predicate) (string, bool) {
			below, ok := strings.CutPrefix(path, prefix)
			return below, ok && !startsWithPosition(below)
		})
		if ok {
			mine = append(mine, inside)
		} else {
			others = append(others, p)
		}
	}
	if len(mine) == 0 {
		return nil, false
	}
	asked, ok := m.of(mine)
	if !ok {
		return nil, false
	}
	if len(others) > 0 {
		left, ok := m.of(others)
		if !ok {
			return nil, false
		}
		rest = []step{left}
	}
	l.only = []bsonx.Value{bsonx.Document(bsonx.NewDoc(asked.name, asked.spec))}
	return rest, true
}

// startsWithPosition reports whether a path begins with what may be a position in an array.
func startsWithPosition(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	_, is := bsonx.ArrayIndex(first)
	return is
}

func (l *lookup) narrow(fields []string) parsing.Stage {
	narrowed := *l
	narrowed.wanted = fields
	if l.unwind != nil {
		narrowed.unwind, _ = l.unwind.narrow(fields).(*unwind)
	}
	return &narrowed
}

func (l *lookup) needs(n *needs) {
	if l.local != nil {
		n.field(l.local[0])
	}
	for _, v := range l.let {
		n.expr(v.value)
	}
	n.define(strings.Join(l.as, "."))
	if l.unwind != nil && l.unwind.index != nil {
		n.define(strings.Join(l.unwind.index, "."))
	}
}
