package candidate

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// enumerator makes the candidate plans of a query. It is one piece of memory for all that planning
// works in.
type enumerator struct {
	cq      canonical.Query
	nearest []*node.Solution // the searches by distance that answer a near

	work workspace
	room struct {
		accesses  [usualCandidates]access
		solutions [usualCandidates]*node.Solution
	}
	// signatures holds those of the candidates, one behind the other.
	signatures []byte
}

// usualCandidates is how many candidates a query has at most as a rule.
const usualCandidates = 2

// Options are what the candidates of a query depend on beside it.
type Options struct {
	Indexes []*indexinfo.Index
	// CollatedRegex says that regular expressions may read indexes with a collation.
	CollatedRegex bool
	// NoScans refuses plans that scan the whole collection.
	NoScans bool
	// Distinct is the field of a query for purposeDistinct.
	Distinct string
}

// Of makes the candidate plans of a query of a collection that exists, at least one, in the order
// in which ties are settled.
func Of(ctx context.Context, q *query.Query, pu canonical.Purpose, o Options,
) (*canonical.Query, []*node.Solution, error) {
	e := new(enumerator)
	e.cq.Asked, e.cq.Purpose, e.cq.CollatedRegex = q, pu, o.CollatedRegex
	if err := e.cq.Read(ctx, o.Indexes); err != nil {
		return nil, nil, err
	}
	if err := e.prepare(); err != nil {
		return nil, nil, err
	}
	if q.Min != nil || q.Max != nil {
		s, err := e.minMax()
		if err != nil {
			return nil, nil, err
		}
		return &e.cq, e.narrowed([]*node.Solution{s}, o.Distinct), nil
	}
	solutions, err := e.solutions()
	if err != nil {
		return nil, nil, err
	}
	if o.NoScans {
		if solutions, err = e.withoutScans(solutions); err != nil {
			return nil, nil, err
		}
	}
	if s := e.groupScan(solutions); s != nil {
		solutions = []*node.Solution{s}
	}
	if err := node.CountBounds(ctx, solutions); err != nil {
		return nil, nil, err
	}
	return &e.cq, e.narrowed(solutions, o.Distinct), nil
}

func (e *enumerator) finisher() finisher { return finisher{&e.cq} }

func (e *enumerator) ordering() ordering { return ordering{&e.cq} }

// prepare reads the hint, and takes out of the filter what is planned apart.
func (e *enumerator) prepare() error {
	cq := &e.cq
	h, err := indexinfo.ParseHint(cq.Asked.Hint, cq.Asked.Coll, cq.Indexes)
	if cq.Asked.Tailable && h.Natural == 0 && (cq.Root == nil || !query.HasNear(cq.Root)) {
		return nil // there is but one plan: a hint of an index is not even looked up
	}
	if err != nil {
		return err
	}
	cq.Hint = h
	e.factor()
	if err := cq.TakeNear(); err != nil {
		return err
	}
	if cq.Near != nil {
		if e.nearest = e.nearSolutions(&cq.Whole); len(e.nearest) == 0 {
			return errNoNearIndex()
		}
	}
	if cq.Natural != 0 {
		return query.CheckNatural(cq.Natural, h.Natural, h.Index != nil)
	}
	return nil
}

// narrowed returns the plan that makes a trial of others needless where there is one: for a count
// the range of an index, for a distinct a scan of the values.
func (e *enumerator) narrowed(solutions []*node.Solution, distinct string) []*node.Solution {
	var only *node.Solution
	if e.cq.Purpose == canonical.Count {
		only = countScanOf(solutions)
	}
	if e.cq.Purpose == canonical.Distinct {
		only = e.distinctScan(solutions, distinct)
	}
	if only == nil {
		return solutions
	}
	return []*node.Solution{only}
}

// ForID returns the plan of a query for one _id.
func ForID(q *query.Query, pu canonical.Purpose, id bsonx.Value) (*canonical.Query, *node.Solution) {
	cq := &canonical.Query{Asked: q, Filter: q.Filter, Purpose: pu}
	return cq, finisher{cq}.idPlan(id)
}

// ExpressForID is forID with the name that explain has for the plan.
func ExpressForID(q *query.Query, pu canonical.Purpose, id bsonx.Value) (*canonical.Query, *node.Solution) {
	cq, s := ForID(q, pu, id)
	cq.Root = q.Filter.Root
	return cq, finisher{cq}.asExpress(s)
}

// FastCount returns the plan of a count of all records.
func FastCount(q *query.Query) (*canonical.Query, *node.Solution) {
	cq := &canonical.Query{Asked: q, Filter: q.Filter, Purpose: canonical.Count}
	return cq, node.NewSolution(&node.FastCount{Skip: q.Skip, Limit: q.Limit})
}

// Nowhere plans a query of a collection that does not exist. Only what needs no collection is
// checked.
func Nowhere(q *query.Query, pu canonical.Purpose) (*canonical.Query, *node.Solution, error) {
	if _, err := query.HintDirection(q.Hint); err != nil {
		return nil, nil, query.Refuse(q, err)
	}
	if pu != canonical.Count && q.Filter != nil && q.Filter.Text() != nil {
		return nil, nil, query.NewRefused(query.NoTextIndex(q.Namespace()))
	}
	cq := &canonical.Query{Asked: q, Purpose: pu}
	cq.ReadFilter()
	return cq, node.NewSolution(&node.EOF{Why: node.NoNamespace}), nil
}
