package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
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
		joined, ok := fuse(s.Stage, steps[i+1].Stage)
		if !ok {
			continue
		}
		i++
		fused[len(fused)-1].Stage = joined
		if l, ok := joined.(*foreign.Lookup); ok && i+1 < len(steps) && !l.Unwind.Keep && l.Unwind.Index == nil {
			if rest, ok := absorb(l, steps[i+1]); ok {
				i++
				fused = append(fused, rest...)
			}
		}
	}
	return fused
}

// fuser is a stage that can unwind the array that it adds.
type fuser interface {
	// Fuse returns the stage merged with the following $unwind. It returns false if the $unwind is
	// not one of the stage's array.
	Fuse(u *unwind.Stage) (parsing.Stage, bool)
}

// fuse returns a stage merged with the next one, if that is an $unwind of its array.
func fuse(s, next parsing.Stage) (parsing.Stage, bool) {
	f, fuses := s.(fuser)
	u, unwinds := next.(*unwind.Stage)
	if !fuses || !unwinds {
		return nil, false
	}
	return f.Fuse(u)
}

// absorb moves the predicates of a $match on the found documents into the $lookup. It returns the
// $match with the remaining predicates, and false if there is nothing to move.
func absorb(l *foreign.Lookup, s step) (rest []step, ok bool) {
	m, ok := s.Stage.(*match)
	if !ok {
		return nil, false
	}
	prefix := strings.Join(l.As, ".") + "."
	var mine, others []passage.Predicate
	for _, p := range m.predicates() {
		inside, ok := p.Through(func(path string, _ *passage.Predicate) (string, bool) {
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
