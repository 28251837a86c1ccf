package candidate

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// wildcardAccesses appends the accesses to a conjunction through a wildcard index. For the path of
// each predicate, it uses the index as if it were an index on this path; see Index.FormFor.
func (e *enumerator) wildcardAccesses(out []access, x *indexinfo.Index, c, need *canonical.Conjunction) []access {
	var tried []string
	for _, p := range c.Predicates {
		if slices.Contains(tried, p.Path) || !canonical.Serves(x.Wild, p) {
			continue
		}
		tried = append(tried, p.Path)
		out = e.indexAccesses(out, x.FormFor(p.Path), c, need)
		if len(out) >= Max {
			return out
		}
	}
	if x.Wild.At > 0 && c.Bounds(x.Fields[0]) {
		out = e.indexAccesses(out, x.FormFor(index.PathField), c, need)
	}
	return out
}
