package pipeline

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// removeNoops implements RuleNoop. It removes {$match: {}}, {$skip: 0}, a $sort with the same
// pattern as the previous one, and a $replaceRoot by $$ROOT.
func removeNoops(steps []step) []step {
	var before step
	return deleteSteps(steps, func(s step) bool {
		last := before
		before = s
		switch stage := s.Stage.(type) {
		case *match:
			return stage.filter.Spec().IsEmpty()
		case *skip:
			return stage.n == 0
		case *sort:
			earlier, ok := last.Stage.(*sort)
			return ok && string(earlier.pattern) == string(stage.pattern)
		case *replaceRoot:
			return expr.IsRoot(stage.newRoot)
		default:
			return false
		}
	})
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

// canFail reports whether a stage may return an error. It is true for stages that were not
// examined.
func canFail(s step) bool {
	switch stage := s.Stage.(type) {
	case *limit, *skip, *unwind.Stage:
		return false
	case *match:
		return slices.ContainsFunc(stage.predicates(), func(p predicate) bool { return p.canFail || p.fixed })
	case *project:
		return stage.projection.NeedsDetails() || len(stage.projection.MayFail()) > 0
	default:
		return true
	}
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
	switch first := steps[0].Stage.(type) {
	case *match:
		return mergeMatches(steps, first)
	case *limit:
		least, n := first.n, 1
		for ; n < len(steps); n++ {
			next, ok := steps[n].Stage.(*limit)
			if !ok {
				break
			}
			least = min(least, next.n)
		}
		if n == 1 {
			return 1, steps[0]
		}
		return n, step{"$limit", bsonx.Int64(least), &limit{least}}
	case *skip:
		sum, n := first.n, 1
		for ; n < len(steps); n++ {
			next, ok := steps[n].Stage.(*skip)
			if !ok || next.n > math.MaxInt64-sum {
				break
			}
			sum += next.n
		}
		if n == 1 {
			return 1, steps[0]
		}
		return n, step{"$skip", bsonx.Int64(sum), &skip{sum}}
	default:
		return 1, steps[0]
	}
}

// mergeMatchRuns merges adjacent $match stages. Predicates of the second can then move even if
// predicates of the first must stay.
func mergeMatchRuns(steps []step) []step {
	var merged []step
	for i := 0; i < len(steps); {
		n, one := 1, steps[i]
		if first, ok := one.Stage.(*match); ok {
			n, one = mergeMatches(steps[i:], first)
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

func mergeMatches(steps []step, first *match) (int, step) {
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
	var all []predicate
	for _, s := range steps[:n] {
		m, _ := s.Stage.(*match)
		all = append(all, predicate{spec: m.filter.Spec()})
	}
	one, ok := first.of(all)
	if !ok {
		return 1, steps[0]
	}
	return n, one
}
