package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// takeNear takes the predicate out of the filter that sorts by distance, if there is one: it must be a conjunct of the whole
// filter.
func (cq *canonical) takeNear() error {
	if cq.root == nil || !query.HasNear(cq.root) {
		return nil
	}
	for _, n := range cq.whole.conjuncts {
		near, ok := n.(*filter.GeoNear)
		switch {
		case ok && cq.near != nil:
			return mongoerr.New(mongoerr.BadValue, "Too many geoNear expressions")
		case ok:
			cq.near = near
		case query.HasNear(n):
			return mongoerr.New(mongoerr.BadValue, "geo $near must be top-level expr")
		}
	}
	switch {
	case cq.natural != 0:
		return mongoerr.New(mongoerr.BadValue, "geoNear expression not allowed with $natural sort order")
	case cq.hint.Natural != 0:
		return mongoerr.New(mongoerr.BadValue, "geoNear expression not allowed with $natural hint")
	case cq.q.Tailable:
		return mongoerr.New(mongoerr.BadValue, "Tailable cursors and geo $near cannot be used together")
	}
	isNear := func(n filter.Node) bool { return n == filter.Node(cq.near) }
	cq.whole.conjuncts = slices.DeleteFunc(cq.whole.conjuncts, isNear)
	cq.whole.predicates = slices.DeleteFunc(cq.whole.predicates, func(p *predicate) bool { return isNear(p.node) })
	return nil
}
