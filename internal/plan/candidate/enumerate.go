package candidate

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// solutions returns the candidate plans of a query, at least one. Earlier candidates win ties.
func (e *enumerator) solutions() ([]*node.Solution, error) {
	out, err := e.candidates()
	if e.cq.Ended != nil {
		return nil, e.cq.Ended
	}
	return out, err
}

func (e *enumerator) candidates() ([]*node.Solution, error) {
	if e.cq.Root != nil && alwaysFalse(e.cq.Root) {
		return []*node.Solution{node.NewSolution(&node.EOF{Why: node.AlwaysFalse})}, nil
	}
	if e.cq.Text == nil {
		return e.enumerate()
	}
	accesses := e.accesses(nil, &e.cq.Whole, nil)
	if len(accesses) == 0 {
		return nil, e.checkTextPlanned()
	}
	return []*node.Solution{e.finisher().above(accesses[0].node, accesses[0].residual, false)}, nil
}

// enumerate returns the candidates of a query without $text.
func (e *enumerator) enumerate() ([]*node.Solution, error) {
	if e.cq.Natural != 0 || e.cq.Hint.Natural != 0 || e.cq.Asked.Tailable {
		return []*node.Solution{e.finisher().sorted(e.naturalScan(), nil)}, nil
	}
	if s := e.expressPlan(); s != nil {
		return []*node.Solution{s}, nil
	}
	c := &e.cq.Whole
	if e.cq.Near != nil {
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
	if len(e.cq.Sort) > 0 && !ordered {
		out = append(out, e.sortScans(c)...)
	}
	if e.cq.Hint.Index != nil && len(out) == 0 {
		if e.cq.Hint.Index.IsWildcard() {
			return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans,
				"error processing query: planner returned error :: caused by :: "+
					"$hint: refusing to build whole-index solution, because it's a wildcard index")
		}
		out = append(out, e.wholeIndex(e.cq.Hint.Index, c))
	}
	if len(out) == 0 {
		out = append(out, e.finisher().sorted(&node.CollScan{Filter: e.cq.Root, Clustered: isClustered(&e.cq)}, nil))
	}
	return e.unique(out), nil
}

// withoutScans drops plans that scan a whole collection, if the parameter notablescan forbids them.
// It fails if there is no other plan.
func (e *enumerator) withoutScans(solutions []*node.Solution) ([]*node.Solution, error) {
	c := e.cq.Asked.Coll
	if e.cq.Root == nil || query.IsTrue(e.cq.Root) || c == nil || strings.HasPrefix(c.Name, "system.") ||
		catalog.IsInternalDatabase(c.DB) {
		return solutions, nil
	}
	var kept []*node.Solution
	for _, s := range solutions {
		whole := false
		node.Walk(s.Root, func(n node.Node) {
			scan, ok := n.(*node.CollScan)
			whole = whole || ok && !scan.HasIDs
		})
		if !whole {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		why := "No indexed plans available, and running with 'notablescan' 2"
		if e.cq.Hint.Natural != 0 {
			why = "could not force a collection scan with a $natural hint :: caused by :: " +
				"not allowed to output a collection scan because 'notablescan' is enabled"
		}
		return nil, mongoerr.New(mongoerr.NoQueryExecutionPlans, query.CannotPlanPrefix+"%s", why)
	}
	return kept, nil
}

// unique drops plans that are equal to an earlier one.
func (e *enumerator) unique(in []*node.Solution) []*node.Solution {
	if len(in) == 1 {
		return in
	}
	out := in[:0]
	for _, s := range in {
		if e.cq.Stopped(len(in) * interrupt.Step) {
			break
		}
		e.signatures = s.Sign(e.signatures)
		if !slices.ContainsFunc(out, func(other *node.Solution) bool { return e.same(s, other) }) {
			out = append(out, s)
		}
	}
	return out
}

// same reports whether two plans have the same signature and the same bounds.
func (e *enumerator) same(s, other *node.Solution) bool {
	return bytes.Equal(s.Signature, other.Signature) && e.bounds(s) == e.bounds(other)
}

// boundWork is counted for each interval that is described as text; see package interrupt.
const boundWork = 8 * interrupt.Step

// bounds describes the bounds of all scans as text. The result is useless if the operation has
// ended.
func (e *enumerator) bounds(s *node.Solution) string {
	if s.Described != "" {
		return s.Described
	}
	var b strings.Builder
	node.Walk(s.Root, func(n node.Node) {
		scan := node.ScanOf(n)
		if scan == nil {
			return
		}
		for _, ivs := range scan.Bounds {
			for _, iv := range ivs {
				if e.cq.Stopped(boundWork) {
					return
				}
				b.WriteString(iv.Text(false, false))
				b.WriteByte(',')
			}
			b.WriteByte(';')
		}
	})
	s.Described = b.String()
	return s.Described
}

func alwaysFalse(n filter.Node) bool {
	if in, ok := n.(*filter.In); ok {
		return len(in.Values) == 0 && len(in.Regexes) == 0
	}
	_, ok := n.(*filter.AlwaysFalse)
	return ok
}

func (e *enumerator) naturalScan() node.Node {
	direction := e.cq.Natural
	if direction == 0 {
		direction = e.cq.Hint.Natural
	}
	scan := &node.CollScan{Filter: e.cq.Root, Backward: direction < 0, Tailable: e.cq.Asked.Tailable}
	scan.Clustered = isClustered(&e.cq)
	if e.cq.Asked.Coll == nil || !e.cq.Asked.Coll.Oplog && !scan.Clustered {
		return scan
	}
	// The oplog is ordered by ts, and a clustered collection by _id. So a predicate on ts or _id
	// restricts the scan: a reader that follows the oplog does not read it from the beginning.
	for _, a := range e.accesses(nil, &e.cq.Whole, nil) {
		if a.scan != nil && a.scan.Index.Clustered && len(a.scan.Bounds[0]) == 1 {
			scan.IDs, scan.HasIDs = a.scan.Bounds[0][0], true
		}
	}
	return scan
}

// sortScans returns plans that scan a whole index to provide the sort. They leave out indexes that
// may lack a matching document, except a hinted index.
func (e *enumerator) sortScans(c *canonical.Conjunction) []*node.Solution {
	var out []*node.Solution
	for _, x := range e.cq.Indexes {
		hinted := e.cq.Hint.Index == x
		if !e.cq.MayUse(x) || x.IsWildcard() || x.IsGeo() || !hinted && x.Sparse {
			continue
		}
		scan := node.NewScan(x)
		ok := false
		scan.Backward, ok = e.ordering().provides(x, scan.Bounds)
		if !ok || !e.cq.Holds(x, c) {
			continue
		}
		out = append(out, e.finisher().above(scan, e.onEntries(scan, c), true))
	}
	return out
}

// wholeIndex returns a plan that scans all of a hinted index.
func (e *enumerator) wholeIndex(x *indexinfo.Index, c *canonical.Conjunction) *node.Solution {
	scan := node.NewScan(x)
	return e.finisher().above(scan, e.onEntries(scan, c), false)
}
