package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
)

// hashedBounds are the bounds of a predicate on a field that holds hashes. Different values can have one hash: the document
// must always be looked at.
func (p *predicate) hashedBounds(x *indexInfo, c *collation.Collator) *predicateBounds {
	b := &predicateBounds{made: true}
	b.tight = inexactFetch
	mismatch := !x.collation.Same(c)
	switch n := p.node.(type) {
	case *filter.Compare:
		if n.Op == filter.Eq {
			b.ivs, b.ok = hashPoints([]bsonx.Value{n.Value}, c, mismatch)
		}
	case *filter.In:
		if len(n.Regexes) == 0 {
			b.ivs, b.ok = hashPoints(n.Values, c, mismatch)
		}
	case *filter.Exists:
		b.ivs, b.ok = allValues, true
	case *filter.Not:
		if _, exists := n.Child.(*filter.Exists); exists {
			b.ivs, b.ok = intervals{point(index.HashOf(bsonx.Null))}, true
		}
	default: // ranges cannot be told by hashes
	}
	b.points = b.ivs.isPoints()
	return b
}

// hashPoints are the hashes of values. Arrays have none: no document with one is in the index.
func hashPoints(values []bsonx.Value, c *collation.Collator, mismatch bool) (intervals, bool) {
	var arrays intervals
	points := make(intervals, 0, len(values))
	for _, v := range values {
		switch {
		case mismatch && collation.Concerns(v):
			return nil, false
		case v.Type == bsonx.TypeArray:
			arrays = arrays.union(equalityBounds(v, boundsContext{}).ivs)
		default:
			folded, err := c.Fold(v, nil)
			if err != nil {
				return nil, false // too large a value for bounds
			}
			points = append(points, point(index.HashOf(folded)))
		}
	}
	slices.SortFunc(points, compareLow)
	return arrays.union(points), true
}
