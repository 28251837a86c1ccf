package canonical

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// image is the function by which a field of an index stores values; see index.Definition.
type image = func(v bsonx.Value, r *interrupt.Running) (bsonx.Value, error)

// imageBounds returns the bounds that a predicate gives to a field that holds images of values.
// Different values can have one image, so that the predicate must be tested on the document.
func (p *Predicate) imageBounds(x *indexinfo.Index, field int, c *collation.Collator) *Bounds {
	of := x.Fields[field].Kind.Definition().Image
	b := &Bounds{made: true}
	b.Tight = bounds.InexactFetch
	mismatch := !x.Collation.Same(c)
	switch n := p.Node.(type) {
	case *filter.Compare:
		if n.Op == filter.Eq {
			b.Intervals, b.Ok = imagePoints(of, []bsonx.Value{n.Value}, c, mismatch)
		}
	case *filter.In:
		if len(n.Regexes) == 0 {
			b.Intervals, b.Ok = imagePoints(of, n.Values, c, mismatch)
		}
	case *filter.Exists:
		b.Intervals, b.Ok = bounds.All, true
	case *filter.Not:
		if _, exists := n.Child.(*filter.Exists); exists {
			null, err := of(bsonx.Null, nil)
			b.Intervals, b.Ok = bounds.Intervals{bounds.Point(null)}, err == nil
		}
	case *filter.And, *filter.Or, *filter.ElemMatchObject, *filter.ElemMatchValue, *filter.Size,
		*filter.Regex, *filter.Mod, *filter.Bits, *filter.Nor, *filter.TypeOf, *filter.Geo,
		*filter.Where, *filter.Expr, *filter.AlwaysFalse, *filter.AlwaysTrue, *filter.GeoNear,
		*filter.Text, *filter.SampleRate, *filter.JSONSchema: // an image does not tell whether they match
	}
	b.Points = b.Intervals.IsPoints()
	return b
}

// imagePoints returns the images of values. An array has no image, because an index of images
// refuses arrays. It returns false if the values cannot be bounded.
func imagePoints(of image, values []bsonx.Value, c *collation.Collator, mismatch bool) (bounds.Intervals, bool) {
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
				return nil, false // the value is too large for bounds
			}
			v, err := of(folded, nil)
			if err != nil {
				return nil, false
			}
			points = append(points, bounds.Point(v))
		}
	}
	slices.SortFunc(points, bounds.CompareLow)
	return arrays.Union(points), true
}
