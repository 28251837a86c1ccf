package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/pipeline/passage"
)

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
