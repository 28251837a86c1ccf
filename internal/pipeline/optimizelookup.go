package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// fuseLookups implements RuleFuse: it merges a $lookup with a following $unwind of its array, and
// with the predicates on found documents of a $match after that. A $graphLookup is merged only with
// the $unwind.
func fuseLookups(steps []step) []step {
	fused := make([]step, 0, len(steps))
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		fused = append(fused, s)
		if i+1 == len(steps) {
			continue
		}
		u, ok := steps[i+1].Stage.(*unwind.Stage)
		if g, is := s.Stage.(*foreign.GraphLookup); is && ok && g.Unwind == nil && takesApart(u, g.As) {
			i++
			joined := *g
			joined.Unwind = u
			fused[len(fused)-1].Stage = &joined
			continue
		}
		l, is := s.Stage.(*foreign.Lookup)
		if !is || !ok || l.Unwind != nil || !takesApart(u, l.As) {
			continue
		}
		i++
		joined := *l
		joined.Unwind = u
		fused[len(fused)-1].Stage = &joined
		if i+1 < len(steps) && !u.Keep && u.Index == nil {
			if rest, ok := absorb(&joined, steps[i+1]); ok {
				i++
				fused = append(fused, rest...)
			}
		}
	}
	return fused
}

// takesApart reports whether u unwinds the array at the path as, and does not write its index into
// the same top-level field.
func takesApart(u *unwind.Stage, as []string) bool {
	return slices.Equal(u.Path, as) && (u.Index == nil || u.Index[0] != as[0])
}

// absorb moves the predicates of a $match on the found documents into the $lookup. It returns the
// $match with the remaining predicates, and false if there is nothing to move.
func absorb(l *foreign.Lookup, s step) (rest []step, ok bool) {
	m, ok := s.Stage.(*match)
	if !ok {
		return nil, false
	}
	prefix := strings.Join(l.As, ".") + "."
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
	l.Only = []bsonx.Value{bsonx.Document(bsonx.NewDoc(asked.name, asked.spec))}
	return rest, true
}

// startsWithPosition reports whether the first component of a path may be an array index.
func startsWithPosition(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	_, is := bsonx.ArrayIndex(first)
	return is
}
