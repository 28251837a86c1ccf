package pipeline

import (
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
