package canonical

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// hashedBounds are the bounds of a predicate on a field that holds hashes. Different values can
// have one hash: the document must always be looked at.
func (p *Predicate) hashedBounds(x *indexinfo.Index, c *collation.Collator) *Bounds {
	b := &Bounds{made: true}
	b.Tight = bounds.InexactFetch
	mismatch := !x.Collation.Same(c)
	switch n := p.Node.(type) {
	case *filter.Compare:
		if n.Op == filter.Eq {
			b.Intervals, b.Ok = hashPoints([]bsonx.Value{n.Value}, c, mismatch)
		}
	case *filter.In:
		if len(n.Regexes) == 0 {
			b.Intervals, b.Ok = hashPoints(n.Values, c, mismatch)
		}
	case *filter.Exists:
		b.Intervals, b.Ok = bounds.All, true
	case *filter.Not:
		if _, exists := n.Child.(*filter.Exists); exists {
			b.Intervals, b.Ok = bounds.Intervals{bounds.Point(index.HashOf(bsonx.Null))}, true
		}
	case *filter.And, *filter.Or, *filter.ElemMatchObject, *filter.ElemMatchValue, *filter.Size,
		*filter.Regex, *filter.Mod, *filter.Bits, *filter.Nor, *filter.TypeOf, *filter.Geo,
		*filter.Where, *filter.Expr, *filter.AlwaysFalse, *filter.AlwaysTrue, *filter.GeoNear,
		*filter.Text, *filter.SampleRate, *filter.JSONSchema: // a hash tells none of them
	}
	b.Points = b.Intervals.IsPoints()
	return b
}

// hashPoints are the hashes of values. Arrays have none: no document with one is in the index.
func hashPoints(values []bsonx.Value, c *collation.Collator, mismatch bool) (bounds.Intervals, bool) {
	var arrays bounds.Intervals
	points := make(bounds.Intervals, 0, len(values))
	for _, v := range values {
		switch {
		case mismatch && collation.Concerns(v):
			return nil, false
		case v.Type == bsonx.TypeArray:
			arrays = arrays.Union(bounds.Equality(v, bounds.Context{}).Intervals)
		default:
			folded, err := c.Fold(v, nil)
			if err != nil {
				return nil, false // too large a value for bounds
			}
			points = append(points, bounds.Point(index.HashOf(folded)))
		}
	}
	slices.SortFunc(points, bounds.CompareLow)
	return arrays.Union(points), true
}
