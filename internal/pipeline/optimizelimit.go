package pipeline

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/unwind"
)

// oneToOne reports whether a stage yields exactly one document for each input document, in the same
// order.
func oneToOne(s step) bool {
	stage, ok := s.Stage.(parsing.OneToOne)
	return ok && stage.IsOneToOne()
}

// moveLimits implements RuleLimitFirst: it moves $limit and $skip before stages that are
// one-to-one.
func moveLimits(steps []step) []step {
	copied := false
	for i := 1; i < len(steps); i++ {
		switch steps[i].Stage.(type) {
		case *limit, *skip:
		default:
			continue
		}
		for at := i; at > 0; at-- {
			swaps, copies := oneToOne(steps[at-1]), limitsInput(steps[at], steps[at-1])
			if !swaps && !copies {
				break
			}
			if !copied {
				steps, copied = slices.Clone(steps), true
			}
			if swaps {
				steps[at-1], steps[at] = steps[at], steps[at-1]
			} else {
				steps = slices.Insert(steps, at-1, steps[at])
				i++
			}
		}
	}
	return steps
}

// limitsInput reports whether a $limit also holds for the input of the previous stage. That is true
// for an $unwind that yields at least one document per input document.
func limitsInput(s, before step) bool {
	_, isLimit := s.Stage.(*limit)
	u, isUnwind := before.Stage.(*unwind.Stage)
	return isLimit && isUnwind && u.Keep
}

// limitSorts implements RuleTopK: a $sort followed by $skip and $limit keeps only the documents
// that they read.
func limitSorts(steps []step) []step {
	copied := false
	for i, s := range steps {
		sorted, ok := s.Stage.(*sort)
		if !ok {
			continue
		}
		n := readAfter(steps[i+1:])
		if n == 0 {
			continue
		}
		first := *sorted
		first.limit = n
		if !copied {
			steps, copied = slices.Clone(steps), true
		}
		steps[i].Stage = &first
	}
	return steps
}

// readAfter returns the number of documents that the leading $skip and $limit of steps read. 0
// means all.
func readAfter(steps []step) int64 {
	skipped := int64(0)
	for _, s := range steps {
		switch stage := s.Stage.(type) {
		case *skip:
			if stage.n > math.MaxInt64-skipped {
				return 0
			}
			skipped += stage.n
		case *limit:
			if stage.n > math.MaxInt64-skipped {
				return 0
			}
			return skipped + stage.n
		default:
			return 0
		}
	}
	return 0
}
