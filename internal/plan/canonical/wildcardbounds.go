package canonical

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// hasWildcardKeys reports whether what a predicate compares with has keys in a wildcard index:
// documents and arrays have none but where they are empty, and what is missing has none where null
// has one.
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

// WildcardBounds are the bounds of a predicate on the value of a wildcard field. Where a document
// could match they are everything: IndexScan.BoundPaths then adds what is below the path.
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

// Serves reports whether the index has an entry of every document that a predicate matches, at its
// path or below.
func Serves(w *indexinfo.Wildcard, p *Predicate) bool {
	c, ok := p.Node.(*filter.Compare)
	present := bounds.ImpliesPresence(p.Node) || ok && c.Op == filter.Eq // null has no keys
	if p.Expression || !present || !w.Paths.Has(p.Path) || !hasWildcardKeys(p.Node) {
		return false
	}
	// A position in an array is no part of the paths in the index.
	return !bounds.HasNumber(p.Path) || w.Arrays.Components(p.Path) == 0
}
