package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

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
		u, ok := steps[i+1].Stage.(*unwindStage)
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
func takesApart(u *unwindStage, as []string) bool {
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

// lookupReads tells what a $lookup reads.
type lookupReads struct{ *lookup }

func (l lookupReads) narrow(fields []string) parsing.Stage {
	narrowed := *l.lookup
	narrowed.wanted = fields
	if l.unwind != nil {
		narrowed.unwind = narrowUnwind(l.unwind, fields)
	}
	return &narrowed
}

func (l lookupReads) needs(n *needs) {
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
