package plan

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// solutions enumerates the candidate plans of a query, at least one, in the order in which ties are settled.
func (cq *canonical) solutions() ([]*solution, error) {
	out, err := cq.candidates()
	if cq.ended != nil {
		return nil, cq.ended
	}
	return out, err
}

func (cq *canonical) candidates() ([]*solution, error) {
	if cq.root != nil && alwaysFalse(cq.root) {
		return []*solution{newSolution(&eof{eofAlwaysFalse})}, nil
	}
	if cq.text == nil {
		return cq.enumerate()
	}
	accesses := cq.accesses(nil, &cq.whole, nil)
	if len(accesses) == 0 {
		return nil, cq.checkTextPlanned()
	}
	return []*solution{cq.above(accesses[0].node, accesses[0].residual, false)}, nil
}

// enumerate is solutions without a $text.
func (cq *canonical) enumerate() ([]*solution, error) {
	if cq.natural != 0 || cq.hint.Natural != 0 || cq.q.Tailable {
		return []*solution{cq.sorted(cq.naturalScan(), nil)}, nil
	}
	if s := cq.expressPlan(); s != nil {
		return []*solution{s}, nil
	}
	c := &cq.whole
	if cq.near != nil {
		return cq.unique(cq.nearest), nil
	}
	accesses := cq.accesses(cq.room.accesses[:0], c, nil)
	out := cq.room.solutions[:0]
	ordered := false
	for i := range accesses {
		a := &accesses[i]
		if n := cq.ordered(a); n != nil {
			ordered = true
			out = append(out, cq.above(n, a.residual, true))
			continue
		}
		out = append(out, cq.above(a.node, a.residual, false))
	}
	if len(cq.sort) > 0 && !ordered {
		out = append(out, cq.sortScans(c)...)
	}
	if cq.hint.Index != nil && len(out) == 0 {
		if cq.hint.Index.IsWildcard() {
			return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, "error processing query: planner returned error :: caused by :: "+
				"$hint: refusing to build whole-index solution, because it's a wildcard index")
		}
		out = append(out, cq.wholeIndex(cq.hint.Index, c))
	}
	if len(out) == 0 {
		out = append(out, cq.sorted(&collScan{filter: cq.root, clustered: isClustered(cq)}, nil))
	}
	return cq.unique(out), nil
}

// withoutScans drops the plans that scan a whole collection, where notablescan forbids them.
func (cq *canonical) withoutScans(solutions []*solution) ([]*solution, error) {
	c := cq.q.Coll
	if cq.root == nil || query.IsTrue(cq.root) || c == nil || strings.HasPrefix(c.Name, "system.") || catalog.IsInternalDatabase(c.DB) {
		return solutions, nil
	}
	var kept []*solution
	for _, s := range solutions {
		whole := false
		walk(s.root, func(n node) {
			scan, ok := n.(*collScan)
			whole = whole || ok && !scan.hasIDs
		})
		if !whole {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		why := "No indexed plans available, and running with 'notablescan' 2"
		if cq.hint.Natural != 0 {
			why = "could not force a collection scan with a $natural hint :: caused by :: " +
				"not allowed to output a collection scan because 'notablescan' is enabled"
		}
		return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, query.CannotPlanPrefix+"%s", why)
	}
	return kept, nil
}

// cluster makes a scan of the index of a collection that was created with a clusteredIndex what MongoDB makes of it: a scan of
// the collection, bounded where the index's is. Several ranges stay what they are: nothing between them is read.
func (cq *canonical) cluster(n node) node {
	scan, ok := n.(*indexScan)
	if !ok || !scan.index.Clustered || len(scan.bounds[0]) != 1 {
		return n
	}
	out := &collScan{filter: cq.root, clustered: true, backward: scan.backward, ids: scan.bounds[0][0], hasIDs: true}
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

// unique drops plans that were made twice.
func (cq *canonical) unique(in []*solution) []*solution {
	if len(in) == 1 {
		return in
	}
	out := in[:0]
	for _, s := range in {
		if cq.stopped(len(in) * interrupt.Step) {
			break
		}
		cq.signatures = s.sign(cq.signatures)
		if !slices.ContainsFunc(out, func(other *solution) bool { return cq.same(s, other) }) {
			out = append(out, s)
		}
	}
	return out
}

// same reports whether two plans that were signed do the same.
func (cq *canonical) same(s, other *solution) bool {
	return bytes.Equal(s.signature, other.signature) && cq.bounds(s) == cq.bounds(other)
}

// boundWork is the work of describing an interval.
const boundWork = 8 * interrupt.Step

// bounds describes the bounds of all scans. If the operation ends it is of no use.
func (cq *canonical) bounds(s *solution) string {
	if s.described != "" {
		return s.described
	}
	var b strings.Builder
	walk(s.root, func(n node) {
		scan := n.reads().scan
		if scan == nil {
			return
		}
		for _, ivs := range scan.bounds {
			for _, iv := range ivs {
				if cq.stopped(boundWork) {
					return
				}
				b.WriteString(iv.Text(false, false))
				b.WriteByte(',')
			}
			b.WriteByte(';')
		}
	})
	s.described = b.String()
	return s.described
}

func alwaysFalse(n filter.Node) bool {
	switch n := n.(type) {
	case *filter.AlwaysFalse:
		return true
	case *filter.In:
		return len(n.Values) == 0 && len(n.Regexes) == 0
	default:
		return false
	}
}

func (cq *canonical) naturalScan() node {
	direction := cq.natural
	if direction == 0 {
		direction = cq.hint.Natural
	}
	scan := &collScan{filter: cq.root, backward: direction < 0, tailable: cq.q.Tailable}
	scan.clustered = isClustered(cq)
	if cq.q.Coll == nil || !cq.q.Coll.Oplog && !scan.clustered {
		return scan
	}
	// The order of the log is that of its stamps: who follows it from one on does not read it from its beginning. The order
	// of a clustered collection is that of its _ids.
	for _, a := range cq.accesses(nil, &cq.whole, nil) {
		if a.scan != nil && a.scan.index.Clustered && len(a.scan.bounds[0]) == 1 {
			scan.ids, scan.hasIDs = a.scan.bounds[0][0], true
		}
	}
	return scan
}

// sortScans are scans of whole indexes that provide the sort. Indexes that do not hold every document do not.
func (cq *canonical) sortScans(c *conjunction) []*solution {
	var out []*solution
	for _, x := range cq.indexes {
		hinted := cq.hint.Index == x
		if !cq.mayUse(x) || x.IsWildcard() || x.IsGeo() || !hinted && x.Sparse {
			continue
		}
		scan := newScan(x)
		ok := false
		scan.backward, ok = cq.provides(x, scan.bounds)
		if !ok || !cq.holds(x, c) {
			continue
		}
		out = append(out, cq.above(scan, cq.onEntries(scan, c), true))
	}
	return out
}

// wholeIndex scans all of a hinted index.
func (cq *canonical) wholeIndex(x *indexinfo.Index, c *conjunction) *solution {
	scan := newScan(x)
	return cq.above(scan, cq.onEntries(scan, c), false)
}

// above puts above an access what it leaves to do. ordered is true where it provides the sort.
func (cq *canonical) above(n node, residual []filter.Node, ordered bool) *solution {
	n = cq.cluster(n)
	if len(cq.sort) == 0 {
		ordered = true
	}
	if ordered {
		if s := cq.withoutFetch(n, residual); s != nil {
			return s
		}
	}
	f := n
	switch n.(type) {
	case *collScan:
	case *textMatch:
		if len(residual) > 0 {
			f = &fetch{in: n, filter: allOf(residual)}
		}
	case *or, *sortMerge:
		if len(residual) > 0 || !hasRecords(n) {
			f = &fetch{in: n, filter: allOf(residual)}
		}
	default:
		f = &fetch{in: n, filter: allOf(residual)}
	}
	if ordered {
		return cq.finish(f)
	}
	return cq.sorted(f, cq.sort)
}

// sorted sorts what a tree gives, if asked to, and finishes it.
func (cq *canonical) sorted(n node, sort []sortField) *solution {
	if cq.natural == 0 && len(cq.sort) > 0 {
		sort = cq.sort
	}
	if len(sort) == 0 {
		return cq.finish(n)
	}
	s := &sortNode{in: n, pattern: cq.q.Sort}
	if cq.q.Limit > 0 && cq.purpose != purposeCount {
		s.limit = cq.q.Limit + cq.q.Skip
	}
	if entries := cq.sortableEntries(n, s.limit); entries != nil {
		s.in, s.entries = entries, true
		return cq.finish(&fetch{in: s})
	}
	cq.rank(n, s.limit)
	if s.limit == 0 && cq.projectsSorted() {
		s.in = &project{in: n, p: cq.q.Projection, spec: cq.q.ShownProjection()}
		if scan := cq.coversSorted(n); scan != nil {
			s.in = &project{in: scan, p: cq.q.Projection, spec: cq.q.ShownProjection(), covered: scan}
		}
	}
	return cq.finish(s)
}

// withoutFetch finishes a plan whose results can be made from index entries, or returns nil.
func (cq *canonical) withoutFetch(n node, residual []filter.Node) *solution {
	if len(residual) > 0 {
		return nil
	}
	switch u := n.(type) {
	case *or:
		return cq.unionWithoutFetch(u, u.in)
	case *sortMerge:
		return cq.unionWithoutFetch(u, u.in)
	default: // a scan, or what has no entries
	}
	scan, ok := n.(*indexScan)
	if !ok {
		return nil
	}
	switch {
	case cq.purpose == purposeCount:
		lean := *scan
		lean.noRecord = true
		return cq.finish(&lean)
	case cq.purpose != purposeFind || cq.q.ShowRecordID || !scan.hasOnePath():
		return nil
	case cq.q.ReturnsSortKey(): // they are made of documents
		return nil
	case cq.q.ReturnKey:
		return cq.finish(scan)
	case cq.q.Projection == nil:
		return nil
	}
	paths, ok := cq.q.Projection.Reads()
	if !ok || len(paths) == 0 || !coveredBy(scan.index, paths) {
		return nil
	}
	root := node(scan)
	if cq.q.Skip > 0 {
		root = &skip{root, cq.q.Skip}
	}
	return cq.limited(&project{in: root, p: cq.q.Projection, spec: cq.q.ShownProjection(), covered: scan})
}

// finish adds skip, projection and limit in MongoDB's order.
func (cq *canonical) finish(n node) *solution {
	if cq.purpose == purposeCount {
		if cq.isRootedOr() {
			n = &subplan{n}
		}
		return newSolution(&count{n, cq.q.Skip, cq.q.Limit})
	}
	if cq.q.Skip > 0 {
		n = skipped(n, cq.q.Skip)
	}
	if cq.purpose == purposeFind {
		switch {
		case cq.q.ReturnKey:
			n = &returnKey{n}
		case cq.projects(n):
			n = &project{in: n, p: cq.q.Projection, spec: cq.q.ShownProjection()}
		}
		if cq.q.ShowRecordID && !cq.q.ReturnKey {
			n = &recordID{n}
		}
	}
	return cq.limited(n)
}

// projects reports whether the projection is to be done above a tree.
func (cq *canonical) projects(n node) bool {
	p := cq.q.Projection
	if p == nil || p.IsIdentity() || isProjected(n) {
		return false
	}
	if s, ok := n.(*skip); ok {
		n = s.in
	}
	_, sorted := n.(*sortNode)
	return sorted || !cq.q.OptionalProjection
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

func (cq *canonical) limited(n node) *solution {
	if cq.q.Limit > 0 && !(len(cq.sort) > 0 && has[*sortNode](n)) {
		n = &limit{n, cq.q.Limit}
	}
	if cq.isRootedOr() {
		n = &subplan{n}
	}
	return newSolution(n)
}
