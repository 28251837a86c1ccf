package plan

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// wildcardAccesses appends the ways to a conjunction through the forms of a wildcard index.
func (e *enumerator) wildcardAccesses(out []access, x *indexinfo.Index, c, need *conjunction) []access {
	var tried []string
	for _, p := range c.predicates {
		if slices.Contains(tried, p.path) || !serves(x.Wild, p) {
			continue
		}
		tried = append(tried, p.path)
		out = e.indexAccesses(out, x.FormFor(p.path), c, need)
		if len(out) >= maxCandidates {
			return out
		}
	}
	if x.Wild.At > 0 && c.bounds(x.Fields[0]) {
		out = e.indexAccesses(out, x.FormFor(index.PathField), c, need)
	}
	return out
}
