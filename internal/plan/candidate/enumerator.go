package candidate

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// enumerator creates the candidate plans of a query. It contains all working memory of planning, so
// that there is one allocation.
type enumerator struct {
	cq      canonical.Query
	nearest []*node.Solution // plans of the searches by distance, if the filter has a near predicate

	work workspace
	room struct {
		accesses  [usualCandidates]access
		solutions [usualCandidates]*node.Solution
	}
	// signatures holds the signatures of the candidates, one after another.
	signatures []byte
}

// usualCandidates is the usual largest number of candidates of a query.
const usualCandidates = 2

// Options are the inputs of Of in addition to the query.
type Options struct {
	Indexes []*indexinfo.Index
	// CollatedRegex allows regular expressions to use indexes with a collation.
	CollatedRegex bool
	// NoScans refuses plans that scan the whole collection.
	NoScans bool
	// Distinct is the field of a query with purpose canonical.Distinct.
	Distinct string
}

// Of returns the candidate plans of a query, at least one. The collection must exist. Earlier
// candidates win ties.
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

// prepare parses the hint, and removes from the filter the parts that are planned separately.
func (e *enumerator) prepare() error {
	cq := &e.cq
	h, err := indexinfo.ParseHint(cq.Asked.Hint, cq.Asked.Coll, cq.Indexes)
	if cq.Asked.Tailable && h.Natural == 0 && (cq.Root == nil || !query.HasNear(cq.Root)) {
		return nil // there is only one plan, so a hint of an index is not looked up
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

// narrowed returns the only plan to use, if one is certainly the best: for a count a scan of one
// index range, for a distinct a distinct scan. Otherwise it returns all solutions.
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

// ExpressForID is ForID with a plan that explain shows as express.
func ExpressForID(q *query.Query, pu canonical.Purpose, id bsonx.Value) (*canonical.Query, *node.Solution) {
	cq, s := ForID(q, pu, id)
	cq.Root = q.Filter.Root
	return cq, finisher{cq}.asExpress(s)
}

// FastCount returns the plan for a count of all records.
func FastCount(q *query.Query) (*canonical.Query, *node.Solution) {
	cq := &canonical.Query{Asked: q, Filter: q.Filter, Purpose: canonical.Count}
	return cq, node.NewSolution(&node.FastCount{Skip: q.Skip, Limit: q.Limit})
}

// Nowhere returns the plan of a query on a collection that does not exist. It only checks the parts
// of the query that need no collection.
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
