package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// narrowStages implements RuleNarrow: it tells each parsing.Narrower which top-level fields the
// later stages read.
func narrowStages(steps []step) []step {
	changed := slices.Clone(steps)
	for i, s := range steps {
		narrower, ok := s.Stage.(parsing.Narrower)
		if !ok {
			continue
		}
		if n, ok := needsOf(steps[i+1:]); ok {
			changed[i].Stage = narrower.Narrow(n.TopFields())
		}
	}
	return changed
}
