package plan

import (
	"cmp"
	"slices"

	"github.com/sheafdb/sheaf/internal/exec"
)

// score ranks a candidate after its trial as MongoDB does: how much it gave per work, small bonuses for plans without
// fetches and blocking sorts, and a large one for a plan that reached its end.
func (t *candidate) score() float64 {
	works := max(t.env.Works(), 1)
	advanced := uint64(len(t.rows))
	if c, ok := exec.Bare(t.root).(*exec.Count); ok {
		advanced = c.Inputs()[0].Stats().Advanced
	}
	productivity := float64(advanced) / float64(works)
	epsilon := min(1.0/float64(10*works), 1e-4)
	score := 1 + productivity + epsilon // no candidate intersects indexes
	if !t.sol.hasFetch {
		score += epsilon
	}
	if !t.sol.hasSort {
		score += epsilon
	}
	if t.done {
		score++
	}
	return score
}

// rank orders candidates by score, best first. Of equal ones the one comes first that looked at fewer documents, then
// the one whose scans are bounded in more fields; the rest keep their order. Candidates that failed come last.
func rank(cs []*candidate) {
	slices.SortStableFunc(cs, func(a, b *candidate) int {
		if (a.err == nil) != (b.err == nil) {
			if a.err == nil {
				return -1
			}
			return 1
		}
		_, docsA := exec.Examined(a.root)
		_, docsB := exec.Examined(b.root)
		return cmp.Or(cmp.Compare(b.score(), a.score()), cmp.Compare(docsA, docsB),
			cmp.Compare(b.sol.boundedFields(), a.sol.boundedFields()))
	})
}
