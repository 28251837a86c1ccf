package plan

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// solutions enumerates the candidate plans of a query, at least one, in the order in which ties are settled.
func (e *enumerator) solutions() ([]*solution, error) {
	out, err := e.candidates()
	if e.cq.ended != nil {
		return nil, e.cq.ended
	}
	return out, err
}

func (e *enumerator) candidates() ([]*solution, error) {
	if e.cq.root != nil && alwaysFalse(e.cq.root) {
		return []*solution{newSolution(&eof{eofAlwaysFalse})}, nil
	}
	if e.cq.text == nil {
		return e.enumerate()
	}
	accesses := e.accesses(nil, &e.cq.whole, nil)
	if len(accesses) == 0 {
		return nil, e.checkTextPlanned()
	}
	return []*solution{e.finisher().above(accesses[0].node, accesses[0].residual, false)}, nil
}

// enumerate is solutions without a $text.
func (e *enumerator) enumerate() ([]*solution, error) {
	if e.cq.natural != 0 || e.cq.hint.Natural != 0 || e.cq.q.Tailable {
		return []*solution{e.finisher().sorted(e.naturalScan(), nil)}, nil
	}
	if s := e.expressPlan(); s != nil {
		return []*solution{s}, nil
	}
	c := &e.cq.whole
	if e.cq.near != nil {
		return e.unique(e.nearest), nil
	}
	accesses := e.accesses(e.room.accesses[:0], c, nil)
	out := e.room.solutions[:0]
	ordered := false
	for i := range accesses {
		a := &accesses[i]
		if n := e.ordering().ordered(a); n != nil {
			ordered = true
			out = append(out, e.finisher().above(n, a.residual, true))
			continue
		}
		out = append(out, e.finisher().above(a.node, a.residual, false))
	}
	if len(e.cq.sort) > 0 && !ordered {
		out = append(out, e.sortScans(c)...)
	}
	if e.cq.hint.Index != nil && len(out) == 0 {
		if e.cq.hint.Index.IsWildcard() {
			return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, "error processing query: planner returned error :: caused by :: "+
				"$hint: refusing to build whole-index solution, because it's a wildcard index")
		}
		out = append(out, e.wholeIndex(e.cq.hint.Index, c))
	}
	if len(out) == 0 {
		out = append(out, e.finisher().sorted(&collScan{filter: e.cq.root, clustered: isClustered(&e.cq)}, nil))
	}
	return e.unique(out), nil
}

// withoutScans drops the plans that scan a whole collection, where notablescan forbids them.
func (e *enumerator) withoutScans(solutions []*solution) ([]*solution, error) {
	c := e.cq.q.Coll
	if e.cq.root == nil || query.IsTrue(e.cq.root) || c == nil || strings.HasPrefix(c.Name, "system.") || catalog.IsInternalDatabase(c.DB) {
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
		if e.cq.hint.Natural != 0 {
			why = "could not force a collection scan with a $natural hint :: caused by :: " +
				"not allowed to output a collection scan because 'notablescan' is enabled"
		}
		return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, query.CannotPlanPrefix+"%s", why)
	}
	return kept, nil
}

// unique drops plans that were made twice.
func (e *enumerator) unique(in []*solution) []*solution {
	if len(in) == 1 {
		return in
	}
	out := in[:0]
	for _, s := range in {
		if e.cq.stopped(len(in) * interrupt.Step) {
			break
		}
		e.signatures = s.sign(e.signatures)
		if !slices.ContainsFunc(out, func(other *solution) bool { return e.same(s, other) }) {
			out = append(out, s)
		}
	}
	return out
}

// same reports whether two plans that were signed do the same.
func (e *enumerator) same(s, other *solution) bool {
	return bytes.Equal(s.signature, other.signature) && e.bounds(s) == e.bounds(other)
}

// boundWork is the work of describing an interval.
const boundWork = 8 * interrupt.Step

// bounds describes the bounds of all scans. If the operation ends it is of no use.
func (e *enumerator) bounds(s *solution) string {
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
				if e.cq.stopped(boundWork) {
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

func (e *enumerator) naturalScan() node {
	direction := e.cq.natural
	if direction == 0 {
		direction = e.cq.hint.Natural
	}
	scan := &collScan{filter: e.cq.root, backward: direction < 0, tailable: e.cq.q.Tailable}
	scan.clustered = isClustered(&e.cq)
	if e.cq.q.Coll == nil || !e.cq.q.Coll.Oplog && !scan.clustered {
		return scan
	}
	// The order of the log is that of its stamps: who follows it from one on does not read it from its beginning. The order
	// of a clustered collection is that of its _ids.
	for _, a := range e.accesses(nil, &e.cq.whole, nil) {
		if a.scan != nil && a.scan.index.Clustered && len(a.scan.bounds[0]) == 1 {
			scan.ids, scan.hasIDs = a.scan.bounds[0][0], true
		}
	}
	return scan
}

// sortScans are scans of whole indexes that provide the sort. Indexes that do not hold every document do not.
func (e *enumerator) sortScans(c *conjunction) []*solution {
	var out []*solution
	for _, x := range e.cq.indexes {
		hinted := e.cq.hint.Index == x
		if !e.cq.mayUse(x) || x.IsWildcard() || x.IsGeo() || !hinted && x.Sparse {
			continue
		}
		scan := newScan(x)
		ok := false
		scan.backward, ok = e.ordering().provides(x, scan.bounds)
		if !ok || !e.cq.holds(x, c) {
			continue
		}
		out = append(out, e.finisher().above(scan, e.onEntries(scan, c), true))
	}
	return out
}

// wholeIndex scans all of a hinted index.
func (e *enumerator) wholeIndex(x *indexinfo.Index, c *conjunction) *solution {
	scan := newScan(x)
	return e.finisher().above(scan, e.onEntries(scan, c), false)
}
