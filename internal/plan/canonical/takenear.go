package canonical

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// TakeNear removes the predicate that sorts by distance from the filter, if there is one. It must
// be a conjunct of the whole filter.
func (cq *Query) TakeNear() error {
	if cq.Root == nil || !query.HasNear(cq.Root) {
		return nil
	}
	for _, n := range cq.Whole.Conjuncts {
		near, ok := n.(*filter.GeoNear)
		switch {
		case ok && cq.Near != nil:
			return mongoerr.New(mongoerr.BadValue, "Too many geoNear expressions")
		case ok:
			cq.Near = near
		case query.HasNear(n):
			return mongoerr.New(mongoerr.BadValue, "geo $near must be top-level expr")
		}
	}
	switch {
	case cq.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "geoNear expression not allowed with $natural sort order")
	case cq.Hint.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "geoNear expression not allowed with $natural hint")
	case cq.Asked.Tailable:
		return mongoerr.New(mongoerr.BadValue, "Tailable cursors and geo $near cannot be used together")
	}
	isNear := func(n filter.Node) bool { return n == filter.Node(cq.Near) }
	cq.Whole.Conjuncts = slices.DeleteFunc(cq.Whole.Conjuncts, isNear)
	cq.Whole.Predicates = slices.DeleteFunc(cq.Whole.Predicates, func(p *Predicate) bool { return isNear(p.Node) })
	return nil
}
