package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
)

// wildcardAccesses appends the ways to a conjunction through the forms of a wildcard index.
func (cq *canonical) wildcardAccesses(out []access, x *indexInfo, c, need *conjunction) []access {
	var tried []string
	for _, p := range c.predicates {
		if slices.Contains(tried, p.path) || !x.wild.serves(p) {
			continue
		}
		tried = append(tried, p.path)
		out = cq.indexAccesses(out, x.formFor(p.path), c, need)
		if len(out) >= maxCandidates {
			return out
		}
	}
	if x.wild.at > 0 && c.bounds(x.fields[0]) {
		out = cq.indexAccesses(out, x.formFor(index.PathField), c, need)
	}
	return out
}

// serves reports whether the index has an entry of every document that a predicate matches, at its path or below.
func (w *wildcard) serves(p *predicate) bool {
	c, ok := p.node.(*filter.Compare)
	present := impliesPresence(p.node) || ok && c.Op == filter.Eq // null has no keys
	if p.expression || !present || !w.paths.Has(p.path) || !hasWildcardKeys(p.node) {
		return false
	}
	// A position in an array is no part of the paths in the index.
	return !hasNumber(p.path) || w.arrays.Components(p.path) == 0
}

// hasWildcardKeys reports whether what a predicate compares with has keys in a wildcard index: documents and arrays have
// none but where they are empty, and what is missing has none where null has one.
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
	default:
		return true
	}
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

// documents are the values of which a wildcard index holds only what is in them.
var documents = intervals{{bsonx.Document(bsonx.Empty), bsonx.Array(bsonx.Empty), false, false}}

// wildcardBounds are the bounds of a predicate on the value of a wildcard field. Where a document could match they are
// everything: scan.boundPaths then adds what is below the path.
func (p *predicate) wildcardBounds(b *predicateBounds, x *indexInfo) *predicateBounds {
	if !b.ok || len(b.ivs.intersect(documents)) == 0 {
		return b
	}
	all := &predicateBounds{ok: true, made: true}
	all.ivs, all.tight = allValues, inexactFetch
	if _, exists := p.node.(*filter.Exists); exists && len(p.elems) == 0 && len(x.fields) == 2 {
		all.tight = exact
	}
	return all
}

// boundPaths bounds the path of a scan of a wildcard index.
func (n *indexScan) boundPaths() {
	w := n.index.wild
	path := n.index.fields[w.at+1].Path
	switch {
	case w.generic:
		n.bounds[w.at] = intervals{point(bsonx.MinKey), {bsonx.String(""), bsonx.Document(bsonx.Empty), true, false}}
	case len(n.bounds[w.at+1].intersect(documents)) > 0:
		n.bounds[w.at+1] = allValues
		n.bounds[w.at] = intervals{point(bsonx.String(path)), {bsonx.String(path + "."), bsonx.String(path + "/"), true, false}}
	default:
		n.bounds[w.at] = intervals{point(bsonx.String(path))}
		return
	}
	n.dedup = true // a document has an entry for each path
}

// hasOnePath reports whether all entries of a scan are of the paths of the index's fields.
func (n *indexScan) hasOnePath() bool {
	return n.index.wild == nil || n.bounds[n.index.wild.at].isPoint()
}
