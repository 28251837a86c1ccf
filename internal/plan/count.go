package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/candidate"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/plan/trial"
	"github.com/sheafdb/sheaf/internal/storage"
)

// countQuery returns the query that a count plans: without sort and projection, which do not change
// the number.
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
	root := t.Winner().Root
	t.CloseLosers()
	t.Winner().Env.Unlimited()
	node.CountUses(q, t.Winner().Plan.Root)
	run := chosen(t)
	announce(ctx, run)
	defer run.Close()
	if c, ok := root.(*exec.Count); ok {
		c.Share(p.processors)
	}
	if !t.Winner().Done {
		if _, err := root.Next(ctx); err != nil {
			return 0, err
		}
	}
	return counted(root), nil
}

func counted(n exec.Node) int64 { return int64(n.Stats().Counted) }

// planCount plans a count. Without a filter, hint, min and max, the stored number of records is the
// answer.
func (p *Planner) planCount(ctx context.Context, q *query.Query, r storage.Reader, records Counter,
) (*trial.Choice, error) {
	if q.Coll == nil {
		cq, s, err := candidate.Nowhere(q, canonical.Count)
		if err != nil {
			return nil, err
		}
		return p.only(cq, node.NewSolution(&node.Count{In: s.Root}), r, records), nil
	}
	switch id, isPoint := q.PointID(); {
	case q.MatchesAll() && records != nil && q.Hint.IsMissing() && q.Min == nil && q.Max == nil:
		cq, s := candidate.FastCount(q)
		return p.only(cq, s, r, records), nil
	case isPoint:
		cq, s := candidate.ForID(q, canonical.Count, id)
		return p.only(cq, s, r, records), nil
	}
	exec.Pin(r)
	cq, solutions, err := p.enumerate(ctx, q, canonical.Count, "")
	if err != nil {
		return nil, err
	}
	return p.pick(ctx, cq, solutions, r, true)
}
