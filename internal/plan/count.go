package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/storage"
)

// countQuery returns the query that a count plans: without what does not change a number.
func countQuery(q *query.Query) *query.Query {
	c := *q
	c.Sort, c.Projection = nil, nil
	return &c
}

func (p *Planner) count(ctx context.Context, q *query.Query, r storage.Reader, records Counter) (int64, error) {
	t, err := p.planCount(ctx, countQuery(q), r, records)
	if err != nil {
		return 0, err
	}
	root := t.winner().root
	t.closeLosers()
	t.winner().env.Unlimited()
	countUses(q, t.winner().sol.root)
	run := chosen(t)
	announce(ctx, run)
	defer run.Close()
	if c, ok := root.(*exec.Count); ok {
		c.Share(p.processors)
	}
	if !t.winner().done {
		if _, err := root.Next(ctx); err != nil {
			return 0, err
		}
	}
	return counted(root), nil
}

func counted(n exec.Node) int64 { return int64(n.Stats().Counted) }

// planCount plans a count. Only without a filter can the stored number of records answer.
func (p *Planner) planCount(ctx context.Context, q *query.Query, r storage.Reader, records Counter) (*choice, error) {
	if q.Coll == nil {
		cq, s, err := nowhere(q, purposeCount)
		if err != nil {
			return nil, err
		}
		return p.only(cq, newSolution(&count{in: s.root}), r, records), nil
	}
	switch id, isPoint := q.PointID(); {
	case q.MatchesAll() && records != nil && q.Hint.IsMissing() && q.Min == nil && q.Max == nil:
		cq, s := fastCountOf(q)
		return p.only(cq, s, r, records), nil
	case isPoint:
		cq, s := forID(q, purposeCount, id)
		return p.only(cq, s, r, records), nil
	}
	exec.Pin(r)
	cq, solutions, err := p.enumerate(ctx, q, purposeCount, "")
	if err != nil {
		return nil, err
	}
	return p.pick(ctx, cq, solutions, r, true)
}
