package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

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
