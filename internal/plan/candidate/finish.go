package candidate

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// finisher completes plans: it adds the operators that the access does not cover, in MongoDB's
// order: residual filter, sort, skip, projection, limit.
type finisher struct{ cq *canonical.Query }

// idPlan returns the plan of a query for one _id.
func (fi finisher) idPlan(id bsonx.Value) *node.Solution {
	n := node.Node(&node.IDHack{ID: id})
	if fi.cq.Purpose == canonical.Count {
		return node.NewSolution(&node.Count{In: n, Skip: fi.cq.Asked.Skip, Limit: fi.cq.Asked.Limit})
	}
	if fi.cq.Purpose != canonical.Find {
		return node.NewSolution(n)
	}
	if p := fi.cq.Asked.Projection; p != nil && !p.IsIdentity() {
		n = &node.Project{In: n, Projection: p, Spec: fi.cq.Asked.ShownProjection()}
	}
	return node.NewSolution(n)
}

// asExpress makes explain show the plan for one _id as express.
func (fi finisher) asExpress(s *node.Solution) *node.Solution {
	p := fi.cq.Asked.Projection
	if fi.cq.Purpose != canonical.Find || p != nil && !p.IsSimple() {
		return s
	}
	return node.NewSolution(&node.Express{Index: indexinfo.OfID(fi.cq.Asked.Coll), In: s.Root})
}

// cluster turns a scan of a clusteredIndex into a bounded collection scan, as in MongoDB. A scan
// with several ranges stays an index scan, because it skips the records between the ranges.
func (fi finisher) cluster(n node.Node) node.Node {
	scan, ok := n.(*node.IndexScan)
	if !ok || !scan.Index.Clustered || len(scan.Bounds[0]) != 1 {
		return n
	}
	out := &node.CollScan{
		Filter: fi.cq.Root, Clustered: true, Backward: scan.Backward, IDs: scan.Bounds[0][0], HasIDs: true,
	}
	if scan.Min != nil {
		out.IDs.Low = scan.Min.First().Value
	}
	if scan.Max != nil {
		out.IDs.High, out.IDs.HighIncl = scan.Max.First().Value, false
	}
	if out.IDs.Low.Type == bsonx.TypeMinKey && out.IDs.High.Type == bsonx.TypeMaxKey {
		out.IDs, out.HasIDs = bounds.Interval{}, false
	}
	return out
}

func isClustered(cq *canonical.Query) bool { return len(cq.Indexes) > 0 && cq.Indexes[0].Clustered }

// above adds the operators that the access does not cover: residual filter, sort, skip,
// projection, limit. ordered says that the access provides the sort.
func (fi finisher) above(n node.Node, residual []filter.Node, ordered bool) *node.Solution {
	n = fi.cluster(n)
	if len(fi.cq.Sort) == 0 {
		ordered = true
	}
	if ordered {
		if s := fi.withoutFetch(n, residual); s != nil {
			return s
		}
	}
	f := n
	_, isWhole := n.(*node.CollScan) // a collection scan applies the whole filter
	_, isText := n.(*node.TextMatch) // a text match reads the records itself
	if !isWhole && (len(residual) > 0 || !isText && !hasRecords(n)) {
		f = &node.Fetch{In: n, Filter: canonical.AllOf(residual)}
	}
	if ordered {
		return fi.finish(f)
	}
	return fi.sorted(f, fi.cq.Sort)
}

// sorted adds a sort, if the query has one, and the operators after it.
func (fi finisher) sorted(n node.Node, sort []canonical.SortField) *node.Solution {
	if fi.cq.Natural == 0 && len(fi.cq.Sort) > 0 {
		sort = fi.cq.Sort
	}
	if len(sort) == 0 {
		return fi.finish(n)
	}
	s := &node.Sort{In: n, Pattern: fi.cq.Asked.Sort}
	if fi.cq.Asked.Limit > 0 && fi.cq.Purpose != canonical.Count {
		s.Limit = fi.cq.Asked.Limit + fi.cq.Asked.Skip
	}
	if entries := fi.sortableEntries(n, s.Limit); entries != nil {
		s.In, s.Entries = entries, true
		return fi.finish(&node.Fetch{In: s})
	}
	fi.rank(n, s.Limit)
	if s.Limit == 0 && fi.projectsSorted() {
		s.In = &node.Project{In: n, Projection: fi.cq.Asked.Projection, Spec: fi.cq.Asked.ShownProjection()}
		if scan := fi.coversSorted(n); scan != nil {
			s.In = &node.Project{
				In: scan, Projection: fi.cq.Asked.Projection, Spec: fi.cq.Asked.ShownProjection(),
				Covered: scan,
			}
		}
	}
	return fi.finish(s)
}

// withoutFetch completes a plan whose results can be built from index entries. It returns nil if
// the plan needs the records.
func (fi finisher) withoutFetch(n node.Node, residual []filter.Node) *node.Solution {
	if len(residual) > 0 {
		return nil
	}
	if inputs, isUnion := unionOf(n); isUnion {
		return fi.unionWithoutFetch(n, inputs)
	}
	scan, ok := n.(*node.IndexScan)
	if !ok {
		return nil
	}
	switch {
	case fi.cq.Purpose == canonical.Count:
		lean := *scan
		lean.NoRecord = true
		return fi.finish(&lean)
	case fi.cq.Purpose != canonical.Find || fi.cq.Asked.ShowRecordID || !scan.HasOnePath():
		return nil
	case fi.cq.Asked.ReturnsSortKey(): // sort keys are built from documents
		return nil
	case fi.cq.Asked.ReturnKey:
		return fi.finish(scan)
	case fi.cq.Asked.Projection == nil:
		return nil
	}
	paths, ok := fi.cq.Asked.Projection.Reads()
	if !ok || len(paths) == 0 || !coveredBy(scan.Index, paths) {
		return nil
	}
	root := node.Node(scan)
	if fi.cq.Asked.Skip > 0 {
		root = &node.Skip{In: root, Count: fi.cq.Asked.Skip}
	}
	return fi.limited(&node.Project{
		In: root, Projection: fi.cq.Asked.Projection,
		Spec: fi.cq.Asked.ShownProjection(), Covered: scan,
	})
}

// finish adds skip, projection and limit in MongoDB's order.
func (fi finisher) finish(n node.Node) *node.Solution {
	if fi.cq.Purpose == canonical.Count {
		if fi.cq.IsRootedOr() {
			n = &node.Subplan{In: n}
		}
		return node.NewSolution(&node.Count{In: n, Skip: fi.cq.Asked.Skip, Limit: fi.cq.Asked.Limit})
	}
	if fi.cq.Asked.Skip > 0 {
		n = skipped(n, fi.cq.Asked.Skip)
	}
	if fi.cq.Purpose == canonical.Find {
		switch {
		case fi.cq.Asked.ReturnKey:
			n = &node.ReturnKey{In: n}
		case fi.projects(n):
			n = &node.Project{In: n, Projection: fi.cq.Asked.Projection, Spec: fi.cq.Asked.ShownProjection()}
		}
		if fi.cq.Asked.ShowRecordID && !fi.cq.Asked.ReturnKey {
			n = &node.RecordID{In: n}
		}
	}
	return fi.limited(n)
}

// projects reports whether the projection must be added above a tree.
func (fi finisher) projects(n node.Node) bool {
	p := fi.cq.Asked.Projection
	if p == nil || p.IsIdentity() || isProjected(n) {
		return false
	}
	if s, ok := n.(*node.Skip); ok {
		n = s.In
	}
	_, sorted := n.(*node.Sort)
	return sorted || !fi.cq.Asked.OptionalProjection
}

// isProjected reports whether the projection is below a sort.
func isProjected(n node.Node) bool {
	if s, ok := n.(*node.Skip); ok {
		n = s.In
	}
	s, ok := n.(*node.Sort)
	if !ok {
		return false
	}
	_, ok = s.In.(*node.Project)
	return ok
}

// skipped adds a skip: below a fetch, if possible, so that skipped records are not read.
func skipped(n node.Node, count int64) node.Node {
	if f, ok := n.(*node.Fetch); ok && f.Filter == nil {
		return &node.Fetch{In: &node.Skip{In: f.In, Count: count}}
	}
	return &node.Skip{In: n, Count: count}
}

func (fi finisher) limited(n node.Node) *node.Solution {
	if fi.cq.Asked.Limit > 0 && !(len(fi.cq.Sort) > 0 && node.Has[*node.Sort](n)) {
		n = &node.Limit{In: n, Count: fi.cq.Asked.Limit}
	}
	if fi.cq.IsRootedOr() {
		n = &node.Subplan{In: n}
	}
	return node.NewSolution(n)
}

// rank makes the text search below a sort with a limit yield its best rows first, if the sort
// begins with the score.
func (fi finisher) rank(n node.Node, limit int64) {
	if fi.cq.Text == nil || len(fi.cq.Sort) == 0 || fi.cq.Sort[0].Path != index.ScorePath {
		return
	}
	if or := node.SearchBelow(n); or != nil {
		or.Ranked, or.Limit = true, limit
	}
}
