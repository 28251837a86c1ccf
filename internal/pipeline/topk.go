package pipeline

import (
	"math"
	"slices"
)

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
