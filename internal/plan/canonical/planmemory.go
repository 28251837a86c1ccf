package canonical

import (
	"context"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Estimates of the memory that planning takes, in bytes. predicateBytes is for every predicate.
// servedBytes is added for a predicate that an index may serve: its bounds, the compared plans, and
// the operator of its branch.
const (
	predicateBytes = 384
	servedBytes    = 1792
)

// manyPredicates is the number of predicates from which the memory of planning is counted.
const manyPredicates = 1 << 7

// countPredicates adds the estimated memory of planning the query's predicates to the memory of the
// operation.
func (cq *Query) countPredicates(ctx context.Context) error {
	if cq.Root == nil || cq.Asked.Filter.Predicates() < manyPredicates {
		return nil
	}
	served, wildcard := map[string]bool{}, false
	for _, x := range cq.Indexes {
		for _, f := range x.Fields {
			served[f.Path] = true
			wildcard = wildcard || f.Kind == index.Wildcard
		}
	}
	n := int64(0)
	filter.WalkNodes(cq.Root, func(node filter.Node) bool {
		if cq.Stopped(interrupt.Step) {
			return false
		}
		if l, ok := node.(filter.Leaf); ok {
			n += predicateBytes
			if wildcard || served[l.FieldPath().String()] {
				n += servedBytes
			}
		}
		return true
	})
	if cq.Ended != nil {
		return cq.Ended
	}
	return memory.Of(ctx).Add(n)
}
