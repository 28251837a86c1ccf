package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/candidate"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/trial"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Explain plans a query, runs it if the verbosity demands it, and describes both. It changes no
// data. As in MongoDB, it neither reads nor fills the plan cache.
func (p *Planner) Explain(ctx context.Context, req *explain.Request, r storage.Reader) (*explain.Explanation, error) {
	start := p.opts.Clock.Now()
	c, err := p.explainChoice(ctx, req, r)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range c.Candidates {
			t.Root.Close()
		}
	}()
	return explain.Run(ctx, req, c, p.opts.Clock.Now().Sub(start), p.opts.Clock)
}

// explainChoice plans the query as the explained command would.
func (p *Planner) explainChoice(ctx context.Context, req *explain.Request, r storage.Reader) (*trial.Choice, error) {
	q := *req.Query
	q.Timed = req.Verbosity != explain.QueryPlanner
	exec.Pin(r)
	switch req.Command {
	case explain.Count, explain.Matches:
		return p.planCount(ctx, countQuery(&q), r, req.Records)
	case explain.Distinct:
		return p.planDistinct(ctx, &q, req.Field, r)
	default: // the other commands need no special plan
	}
	pu := canonical.Find
	if req.Writes() {
		pu = canonical.Targets
		if !req.Multi && !q.Sort.IsEmpty() {
			q.Limit = 1 // without a sort the writing stage ends after the first target
		}
	}
	one := func(cq *canonical.Query, s *node.Solution) *trial.Choice { return p.only(cq, s, r, nil) }
	if q.Coll == nil {
		cq, s, err := candidate.Nowhere(&q, pu)
		if err != nil {
			return nil, err
		}
		return one(cq, s), nil
	}
	if id, ok := q.PointID(); ok {
		return one(candidate.ExpressForID(&q, pu, id)), nil
	}
	cq, solutions, err := p.enumerate(ctx, &q, pu, "")
	if err != nil {
		return nil, err
	}
	return p.pick(ctx, cq, solutions, r, false)
}
