package canonical

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// hasWildcardKeys reports whether a wildcard index has keys for the values that a predicate
// compares with. It has keys for documents and arrays only if they are empty. It returns false for
// null: such a predicate also matches a missing field, which has no key.
func hasWildcardKeys(n filter.Node) bool {
	switch n := n.(type) {
	case *filter.Compare:
		return n.Op == filter.Eq && isEmptyContainer(n.Value) || isWildcardValue(n.Value)
	case *filter.In:
		for _, v := range n.Values {
			if !isEmptyContainer(v) && !isWildcardValue(v) {
				return false
			}
		}
		return true
	case *filter.ElemMatchValue:
		for _, child := range n.Children {
			if !hasWildcardKeys(child) {
				return false
			}
		}
		return true
	case *filter.Or:
		return !slices.ContainsFunc(n.Children, func(child filter.Node) bool { return !hasWildcardKeys(child) })
	case *filter.And, *filter.ElemMatchObject, *filter.Size, *filter.Regex, *filter.Mod,
		*filter.Exists, *filter.Bits, *filter.Not, *filter.Nor, *filter.TypeOf, *filter.Geo,
		*filter.Where, *filter.Expr, *filter.AlwaysFalse, *filter.AlwaysTrue, *filter.GeoNear,
		*filter.Text, *filter.SampleRate, *filter.JSONSchema:
	}
	return true
}

func isEmptyContainer(v bsonx.Value) bool {
	return (v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray) && v.Doc().IsEmpty()
}

func isWildcardValue(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeDocument, bsonx.TypeArray, bsonx.TypeNull:
		return false
	default:
		return true
	}
}

// WildcardBounds returns the bounds of a predicate on the value of a wildcard field. If a document
// that is not empty could match, they contain every value; IndexScan.BoundPaths then adds the paths
// below.
func (p *Predicate) WildcardBounds(b *Bounds, x *indexinfo.Index) *Bounds {
	if !b.Ok || len(b.Intervals.Intersect(bounds.Documents)) == 0 {
		return b
	}
	all := &Bounds{Ok: true, made: true}
	all.Intervals, all.Tight = bounds.All, bounds.InexactFetch
	if _, exists := p.Node.(*filter.Exists); exists && len(p.Elems) == 0 && len(x.Fields) == 2 {
		all.Tight = bounds.Exact
	}
	return all
}

// Serves reports whether the index has an entry for every document that a predicate matches, at its
// path or below.
func Serves(w *indexinfo.Wildcard, p *Predicate) bool {
	c, ok := p.Node.(*filter.Compare)
	// An equality with null is refused by hasWildcardKeys.
	present := bounds.ImpliesPresence(p.Node) || ok && c.Op == filter.Eq
	if p.Expression || !present || !w.Paths.Has(p.Path) || !hasWildcardKeys(p.Node) {
		return false
	}
	// The paths in the index do not contain array positions.
	return !bounds.HasNumber(p.Path) || w.Arrays.Components(p.Path) == 0
}
