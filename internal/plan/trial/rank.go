package trial

import (
	"cmp"
	"slices"

	"github.com/sheafdb/sheaf/internal/exec"
)

// Score rates a candidate after its trial as MongoDB does: rows per work, small bonuses for plans
// without fetches and without blocking sorts, and a large bonus for a plan that has reached its
// end.
func (t *Candidate) Score() float64 {
	works := max(t.Env.Works(), 1)
	advanced := uint64(len(t.Rows))
	if c, ok := exec.Bare(t.Root).(*exec.Count); ok {
		advanced = c.Inputs()[0].Stats().Advanced
	}
	productivity := float64(advanced) / float64(works)
	epsilon := min(1.0/float64(10*works), 1e-4)
	score := 1 + productivity + epsilon // no candidate intersects indexes, so all get this bonus
	if !t.Plan.HasFetch {
		score += epsilon
	}
	if !t.Plan.HasSort {
		score += epsilon
	}
	if t.Done {
		score++
	}
	return score
}

// rank sorts candidates by score, the best first. If scores are equal, a candidate that read fewer
// documents comes first, and then a candidate whose scans are bounded in more fields. Otherwise
// candidates with equal scores keep their order. Candidates that failed come last.
func rank(cs []*Candidate) {
	slices.SortStableFunc(cs, func(a, b *Candidate) int {
		if (a.err == nil) != (b.err == nil) {
			if a.err == nil {
				return -1
			}
			return 1
		}
		_, docsA := exec.Examined(a.Root)
		_, docsB := exec.Examined(b.Root)
		return cmp.Or(cmp.Compare(b.Score(), a.Score()), cmp.Compare(docsA, docsB),
			cmp.Compare(b.Plan.BoundedFields(), a.Plan.BoundedFields()))
	})
}
