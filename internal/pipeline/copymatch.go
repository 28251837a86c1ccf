package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/pipeline/passage"
)

// copyBeforeRedact copies predicates of a $match to a new $match before the preceding $redact. It
// copies only predicates that match the original document whenever they match the redacted one.
func copyBeforeRedact(steps []step) []step {
	for i := len(steps) - 1; i > 0; i-- {
		m, isMatch := steps[i].Stage.(*match)
		_, isRedact := steps[i-1].Stage.(*redact)
		if !isMatch || !isRedact {
			continue
		}
		kept := slices.DeleteFunc(m.predicates(), func(p passage.Predicate) bool { return !p.SurvivesRedact() })
		if len(kept) == 0 {
			continue
		}
		if copied, ok := m.of(kept); ok {
			steps = slices.Insert(slices.Clone(steps), i-1, copied)
		}
	}
	return steps
}
