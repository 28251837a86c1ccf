package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
)

// removeNoops implements RuleNoop. It removes {$match: {}}, {$skip: 0}, a $sort with the same
// pattern as the previous one, and a $replaceRoot by $$ROOT.
func removeNoops(steps []step) []step {
	var before step
	return deleteSteps(steps, func(s step) bool {
		last := before
		before = s
		n, ok := s.Stage.(noop)
		return ok && n.isNoop(last.Stage)
	})
}

// noop is a stage that may change nothing.
type noop interface {
	// isNoop reports whether the stage changes nothing after the stage before, which is nil for the
	// first stage.
	isNoop(before parsing.Stage) bool
}

// deleteSteps returns a new slice without the steps for which drop returns true.
func deleteSteps(steps []step, drop func(step) bool) []step {
	kept := make([]step, 0, len(steps))
	for _, s := range steps {
		if !drop(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// markConstants implements RuleConstant: a $match that no document can satisfy yields nothing and
// does not read its input. That is only allowed if the stages before cannot fail.
func markConstants(steps []step) []step {
	for i, s := range steps {
		if i > 0 && canFail(steps[i-1]) {
			break
		}
		m, ok := s.Stage.(*match)
		if ok && m.filter.Normalize().Root.Kind() == filter.KindAlwaysFalse {
			steps = slices.Clone(steps)
			s.Stage = &match{filter: m.filter, opts: m.opts, never: true}
			steps[i] = s
		}
	}
	return steps
}

// canFail reports whether a stage may return an error.
func canFail(s step) bool {
	stage, ok := s.Stage.(parsing.Failing)
	return !ok || stage.CanFail()
}

// mergeAdjacent implements RuleMerge: it merges adjacent $match, $limit or $skip stages.
func mergeAdjacent(steps []step) []step {
	merged := make([]step, 0, len(steps))
	for i := 0; i < len(steps); {
		n, one := mergeRun(steps[i:])
		merged = append(merged, one)
		i += n
	}
	return merged
}

// mergeRun merges the first steps that can become one, and returns how many they are and the merged
// step.
func mergeRun(steps []step) (int, step) {
	if first, ok := steps[0].Stage.(merger); ok {
		return first.merge(steps)
	}
	return 1, steps[0]
}

// merger is a stage that can become one with the following stages of its kind.
type merger interface {
	// merge returns how many steps become one, and the merged step. The stage is the first of
	// steps.
	merge(steps []step) (int, step)
}

// mergeMatchRuns merges adjacent $match stages. Predicates of the second can then move even if
// predicates of the first must stay.
func mergeMatchRuns(steps []step) []step {
	var merged []step
	for i := 0; i < len(steps); {
		n, one := 1, steps[i]
		if first, ok := one.Stage.(*match); ok {
			n, one = first.merge(steps[i:])
		}
		if merged == nil && n > 1 {
			merged = slices.Clone(steps[:i])
		}
		if merged != nil {
			merged = append(merged, one)
		}
		i += n
	}
	if merged == nil {
		return steps
	}
	return merged
}

// merge implements merger.
func (m *match) merge(steps []step) (int, step) {
	n := 1
	for n < len(steps) {
		if _, ok := steps[n].Stage.(*match); !ok {
			break
		}
		n++
	}
	if n == 1 {
		return 1, steps[0]
	}
	var all []passage.Predicate
	for _, s := range steps[:n] {
		next, _ := s.Stage.(*match)
		all = append(all, passage.Predicate{Spec: next.filter.Spec()})
	}
	one, ok := m.of(all)
	if !ok {
		return 1, steps[0]
	}
	return n, one
}
