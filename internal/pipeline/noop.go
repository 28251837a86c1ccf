package pipeline

import (
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
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
