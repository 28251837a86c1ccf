package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// finisher completes plans: it adds to the access of a query what the access does not cover, in MongoDB's order:
// residual filter, sort, skip, projection, limit.
type finisher struct{ cq *canonical }

// idPlan is the plan of a query for one _id.
func (fi finisher) idPlan(id bsonx.Value) *solution {
	n := node(&idHack{id})
	if fi.cq.purpose == purposeCount {
		return newSolution(&count{n, fi.cq.q.Skip, fi.cq.q.Limit})
	}
	if fi.cq.purpose != purposeFind {
		return newSolution(n)
	}
	if p := fi.cq.q.Projection; p != nil && !p.IsIdentity() {
		n = &project{in: n, p: p, spec: fi.cq.q.ShownProjection()}
	}
	return newSolution(n)
}

// asExpress gives the plan for one _id the name that explain has for it.
func (fi finisher) asExpress(s *solution) *solution {
	p := fi.cq.q.Projection
	if fi.cq.purpose != purposeFind || p != nil && !p.IsSimple() {
		return s
	}
	return newSolution(&express{indexinfo.OfID(fi.cq.q.Coll), s.root})
}

// cluster makes a scan of the index of a collection that was created with a clusteredIndex what MongoDB makes of it: a scan of
// the collection, bounded where the index's is. Several ranges stay what they are: nothing between them is read.
func (fi finisher) cluster(n node) node {
	scan, ok := n.(*indexScan)
	if !ok || !scan.index.Clustered || len(scan.bounds[0]) != 1 {
		return n
	}
	out := &collScan{filter: fi.cq.root, clustered: true, backward: scan.backward, ids: scan.bounds[0][0], hasIDs: true}
	if scan.min != nil {
		out.ids.Low = scan.min.First().Value
	}
	if scan.max != nil {
		out.ids.High, out.ids.HighIncl = scan.max.First().Value, false
	}
	if out.ids.Low.Type == bsonx.TypeMinKey && out.ids.High.Type == bsonx.TypeMaxKey {
		out.ids, out.hasIDs = bounds.Interval{}, false
	}
	return out
}

func isClustered(cq *canonical) bool { return len(cq.indexes) > 0 && cq.indexes[0].Clustered }

// above puts above an access what it leaves to do. ordered is true where it provides the sort.
func (fi finisher) above(n node, residual []filter.Node, ordered bool) *solution {
	n = fi.cluster(n)
	if len(fi.cq.sort) == 0 {
		ordered = true
	}
	if ordered {
		if s := fi.withoutFetch(n, residual); s != nil {
			return s
		}
	}
	f := n
	_, isWhole := n.(*collScan) // which has the whole filter
	_, isText := n.(*textMatch) // which reads the records that it asks
	if !isWhole && (len(residual) > 0 || !isText && !hasRecords(n)) {
		f = &fetch{in: n, filter: allOf(residual)}
	}
	if ordered {
		return fi.finish(f)
	}
	return fi.sorted(f, fi.cq.sort)
}

// sorted sorts what a tree gives, if asked to, and finishes it.
func (fi finisher) sorted(n node, sort []sortField) *solution {
	if fi.cq.natural == 0 && len(fi.cq.sort) > 0 {
		sort = fi.cq.sort
	}
	if len(sort) == 0 {
		return fi.finish(n)
	}
	s := &sortNode{in: n, pattern: fi.cq.q.Sort}
	if fi.cq.q.Limit > 0 && fi.cq.purpose != purposeCount {
		s.limit = fi.cq.q.Limit + fi.cq.q.Skip
	}
	if entries := fi.sortableEntries(n, s.limit); entries != nil {
		s.in, s.entries = entries, true
		return fi.finish(&fetch{in: s})
	}
	fi.rank(n, s.limit)
	if s.limit == 0 && fi.projectsSorted() {
		s.in = &project{in: n, p: fi.cq.q.Projection, spec: fi.cq.q.ShownProjection()}
		if scan := fi.coversSorted(n); scan != nil {
			s.in = &project{in: scan, p: fi.cq.q.Projection, spec: fi.cq.q.ShownProjection(), covered: scan}
		}
	}
	return fi.finish(s)
}

// withoutFetch finishes a plan whose results can be made from index entries, or returns nil.
func (fi finisher) withoutFetch(n node, residual []filter.Node) *solution {
	if len(residual) > 0 {
		return nil
	}
	if inputs, isUnion := unionOf(n); isUnion {
		return fi.unionWithoutFetch(n, inputs)
	}
	scan, ok := n.(*indexScan)
	if !ok {
		return nil
	}
	switch {
	case fi.cq.purpose == purposeCount:
		lean := *scan
		lean.noRecord = true
		return fi.finish(&lean)
	case fi.cq.purpose != purposeFind || fi.cq.q.ShowRecordID || !scan.hasOnePath():
		return nil
	case fi.cq.q.ReturnsSortKey(): // they are made of documents
		return nil
	case fi.cq.q.ReturnKey:
		return fi.finish(scan)
	case fi.cq.q.Projection == nil:
		return nil
	}
	paths, ok := fi.cq.q.Projection.Reads()
	if !ok || len(paths) == 0 || !coveredBy(scan.index, paths) {
		return nil
	}
	root := node(scan)
	if fi.cq.q.Skip > 0 {
		root = &skip{root, fi.cq.q.Skip}
	}
	return fi.limited(&project{in: root, p: fi.cq.q.Projection, spec: fi.cq.q.ShownProjection(), covered: scan})
}

// finish adds skip, projection and limit in MongoDB's order.
func (fi finisher) finish(n node) *solution {
	if fi.cq.purpose == purposeCount {
		if fi.cq.isRootedOr() {
			n = &subplan{n}
		}
		return newSolution(&count{n, fi.cq.q.Skip, fi.cq.q.Limit})
	}
	if fi.cq.q.Skip > 0 {
		n = skipped(n, fi.cq.q.Skip)
	}
	if fi.cq.purpose == purposeFind {
		switch {
		case fi.cq.q.ReturnKey:
			n = &returnKey{n}
		case fi.projects(n):
			n = &project{in: n, p: fi.cq.q.Projection, spec: fi.cq.q.ShownProjection()}
		}
		if fi.cq.q.ShowRecordID && !fi.cq.q.ReturnKey {
			n = &recordID{n}
		}
	}
	return fi.limited(n)
}

// projects reports whether the projection is to be done above a tree.
func (fi finisher) projects(n node) bool {
	p := fi.cq.q.Projection
	if p == nil || p.IsIdentity() || isProjected(n) {
		return false
	}
	if s, ok := n.(*skip); ok {
		n = s.in
	}
	_, sorted := n.(*sortNode)
	return sorted || !fi.cq.q.OptionalProjection
}

// isProjected reports whether the projection was done below a sort.
func isProjected(n node) bool {
	if s, ok := n.(*skip); ok {
		n = s.in
	}
	s, ok := n.(*sortNode)
	if !ok {
		return false
	}
	_, ok = s.in.(*project)
	return ok
}

// skipped skips rows, before their records are read where that is possible.
func skipped(n node, count int64) node {
	if f, ok := n.(*fetch); ok && f.filter == nil {
		return &fetch{in: &skip{f.in, count}}
	}
	return &skip{n, count}
}

func (fi finisher) limited(n node) *solution {
	if fi.cq.q.Limit > 0 && !(len(fi.cq.sort) > 0 && has[*sortNode](n)) {
		n = &limit{n, fi.cq.q.Limit}
	}
	if fi.cq.isRootedOr() {
		n = &subplan{n}
	}
	return newSolution(n)
}

// rank makes the search below a sort with a limit give its best rows first, where the sort begins with the score.
func (fi finisher) rank(n node, limit int64) {
	if fi.cq.text == nil || len(fi.cq.sort) == 0 || fi.cq.sort[0].path != index.ScorePath {
		return
	}
	if or := searchBelow(n); or != nil {
		or.ranked, or.limit = true, limit
	}
}
