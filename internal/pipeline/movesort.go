package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// moveSorts implements RuleSortFirst: it moves a $sort before an $unwind. Fewer documents are
// sorted then, and an index may give the order.
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

// passes reports whether the $sort can move before the last of the stages in before, without new
// errors. It does not move before an $unwind after a fuser, because RuleFuse may merge these two.
func (s *sort) passes(before []step) bool {
	last := len(before) - 1
	u, ok := before[last].Stage.(*unwind.Stage)
	if !ok {
		return false
	}
	if last > 0 {
		if _, fuses := before[last-1].Stage.(fuser); fuses {
			return false
		}
	}
	changed := func(f index.Field) bool {
		name := parsing.TopField(f.Path)
		return f.IsMeta() || name == u.Path[0] || len(u.Index) > 0 && name == u.Index[0]
	}
	return !slices.ContainsFunc(s.keys, changed) && (u.Keep || !s.fails())
}

// fails reports whether a document can have a sort key that does not exist: arrays in several
// fields of the pattern. _id is never an array.
func (s *sort) fails() bool {
	fields := 0
	for _, f := range s.keys {
		if f.Path != "_id" {
			fields++
		}
	}
	return fields > 1
}
