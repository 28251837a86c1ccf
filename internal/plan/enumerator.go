package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

import ()

// enumerator makes the candidate plans of a query. It is one piece of memory for all that planning works in.
type enumerator struct {
	cq      canonical
	nearest []*solution // the searches by distance that answer a near

	work workspace
	room struct {
		accesses  [usualCandidates]access
		solutions [usualCandidates]*solution
	}
	// signatures holds those of the candidates, one behind the other.
	signatures []byte
}

// usualCandidates is how many candidates a query has at most as a rule.
const usualCandidates = 2

// options are what the candidates of a query depend on beside it.
type options struct {
	indexes []*indexinfo.Index
	// collatedRegex says that regular expressions may read indexes with a collation.
	collatedRegex bool
	// noScans refuses plans that scan the whole collection.
	noScans bool
	// distinct is the field of a query for purposeDistinct.
	distinct string
}

// candidatesOf makes the candidate plans of a query of a collection that exists, at least one, in the order in which
// ties are settled.
func candidatesOf(ctx context.Context, q *query.Query, pu purpose, o options) (*canonical, []*solution, error) {
	e := new(enumerator)
	e.cq.q, e.cq.purpose, e.cq.collatedRegex = q, pu, o.collatedRegex
	if err := e.cq.read(ctx, o.indexes); err != nil {
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
		return &e.cq, e.narrowed([]*solution{s}, o.distinct), nil
	}
	solutions, err := e.solutions()
	if err != nil {
		return nil, nil, err
	}
	if o.noScans {
		if solutions, err = e.withoutScans(solutions); err != nil {
			return nil, nil, err
		}
	}
	if s := e.groupScan(solutions); s != nil {
		solutions = []*solution{s}
	}
	if err := countBounds(ctx, solutions); err != nil {
		return nil, nil, err
	}
	return &e.cq, e.narrowed(solutions, o.distinct), nil
}

func (e *enumerator) finisher() finisher { return finisher{&e.cq} }

func (e *enumerator) ordering() ordering { return ordering{&e.cq} }

// prepare reads the hint, and takes out of the filter what is planned apart.
func (e *enumerator) prepare() error {
	cq := &e.cq
	h, err := indexinfo.ParseHint(cq.q.Hint, cq.q.Coll, cq.indexes)
	if cq.q.Tailable && h.Natural == 0 && (cq.root == nil || !query.HasNear(cq.root)) {
		return nil // there is but one plan: a hint of an index is not even looked up
	}
	if err != nil {
		return err
	}
	cq.hint = h
	e.factor()
	if err := cq.takeNear(); err != nil {
		return err
	}
	if cq.near != nil {
		if e.nearest = e.nearSolutions(&cq.whole); len(e.nearest) == 0 {
			return errNoNearIndex()
		}
	}
	if cq.natural != 0 {
		return query.CheckNatural(cq.natural, h.Natural, h.Index != nil)
	}
	return nil
}

// narrowed returns the plan that makes a trial of others needless where there is one: for a count the range of an
// index, for a distinct a scan of the values.
func (e *enumerator) narrowed(solutions []*solution, distinct string) []*solution {
	var only *solution
	if e.cq.purpose == purposeCount {
		only = countScanOf(solutions)
	}
	if e.cq.purpose == purposeDistinct {
		only = e.distinctScan(solutions, distinct)
	}
	if only == nil {
		return solutions
	}
	return []*solution{only}
}

// forID returns the plan of a query for one _id.
func forID(q *query.Query, pu purpose, id bsonx.Value) (*canonical, *solution) {
	cq := &canonical{q: q, filter: q.Filter, purpose: pu}
	return cq, finisher{cq}.idPlan(id)
}

// expressForID is forID with the name that explain has for the plan.
func expressForID(q *query.Query, pu purpose, id bsonx.Value) (*canonical, *solution) {
	cq, s := forID(q, pu, id)
	cq.root = q.Filter.Root
	return cq, finisher{cq}.asExpress(s)
}

// fastCountOf returns the plan of a count of all records.
func fastCountOf(q *query.Query) (*canonical, *solution) {
	cq := &canonical{q: q, filter: q.Filter, purpose: purposeCount}
	return cq, newSolution(&fastCount{q.Skip, q.Limit})
}

// nowhere plans a query of a collection that does not exist. Only what needs no collection is
// checked.
func nowhere(q *query.Query, pu purpose) (*canonical, *solution, error) {
	if _, err := query.HintDirection(q.Hint); err != nil {
		return nil, nil, query.Refuse(q, err)
	}
	if pu != purposeCount && q.Filter != nil && q.Filter.Text() != nil {
		return nil, nil, query.NewRefused(query.NoTextIndex(q.Namespace()))
	}
	cq := &canonical{q: q, purpose: pu}
	cq.readFilter()
	return cq, newSolution(&eof{eofNoNamespace}), nil
}
