package canonical

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// TestEndedPlansTakeNoMemory plans a filter of 100,000 conditions in an operation that has ended.
// It must allocate memory only for few of them: all of them would take hundreds of megabytes.
func TestEndedPlansTakeNoMemory(t *testing.T) {
	const children = 100_000
	and := &filter.And{Children: make([]filter.Node, children)}
	for i := range and.Children {
		and.Children[i] = filter.NewCompare("a", filter.Gt, bsonx.Int32(int32(i)), nil)
	}
	for _, ended := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if ended {
			cancel()
		}
		cq := &Query{}
		cq.Running.Set(ctx)
		c := cq.ConjunctionOf(and)
		if len(c.Conjuncts) != children {
			t.Fatalf("%d conjuncts", len(c.Conjuncts))
		}
		least, most := children, children
		if ended {
			least, most = 0, interrupt.Interval/interrupt.Step+maxPredicateBlock
		}
		if n := len(c.Predicates); n < least || n > most {
			t.Errorf("ended %v: %d predicates", ended, n)
		}
		if n := cap(c.block); n > maxPredicateBlock {
			t.Errorf("ended %v: memory for %d predicates at once", ended, n)
		}
	}
}
