package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// moveSorts is RuleSortFirst. An index may give the order of the documents, and fewer are sorted.
func moveSorts(steps []step) []step {
	copied := false
	for i, s := range steps {
		sorted, ok := s.Stage.(*sort)
		if !ok {
			continue
		}
		for at := i; at > 0 && sorted.passes(steps[:at]); at-- {
			if !copied {
				steps, copied = slices.Clone(steps), true
			}
			steps[at-1], steps[at] = steps[at], steps[at-1]
		}
	}
	return steps
}

// passes reports whether the order may be made before the last of some stages, and no document
// fails that does not fail after it. A $unwind of what a $lookup has found stays behind it, because
// RuleFuse makes one of both.
func (s *sort) passes(before []step) bool {
	last := len(before) - 1
	u, ok := before[last].Stage.(*unwind.Stage)
	if !ok || last > 0 && (before[last-1].name == "$lookup" || before[last-1].name == "$graphLookup") {
		return false
	}
	changed := func(f index.Field) bool {
		name := parsing.TopField(f.Path)
		return f.IsMeta() || name == u.Path[0] || len(u.Index) > 0 && name == u.Index[0]
	}
	return !slices.ContainsFunc(s.keys, changed) && (u.Keep || !s.fails())
}

// fails reports whether there are documents that cannot be sorted: those with arrays in several
// fields, which _id never is.
func (s *sort) fails() bool {
	fields := 0
	for _, f := range s.keys {
		if f.Path != "_id" {
			fields++
		}
	}
	return fields > 1
}
