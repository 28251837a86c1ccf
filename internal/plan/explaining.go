package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Explain plans a query, runs it where the verbosity asks for it, and describes both. It changes nothing. The plan
// cache is neither asked nor filled, as in MongoDB.
func (p *Planner) Explain(ctx context.Context, req *ExplainRequest, r storage.Reader) (*Explanation, error) {
	start := p.opts.Clock.Now()
	c, err := p.explainChoice(ctx, req, r)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range c.candidates {
			t.root.Close()
		}
	}()
	return explainRun(ctx, req, c, p.opts.Clock.Now().Sub(start), p.opts.Clock)
}

// explainChoice plans as the command would.
func (p *Planner) explainChoice(ctx context.Context, req *ExplainRequest, r storage.Reader) (*choice, error) {
	q := *req.Query
	q.Timed = req.Verbosity != QueryPlanner
	exec.Pin(r)
	switch req.Command {
	case ExplainCount, ExplainMatches:
		return p.planCount(ctx, countQuery(&q), r, req.Records)
	case ExplainDistinct:
		return p.planDistinct(ctx, &q, req.Field, r)
	default: // the others need nothing here
	}
	pu := purposeFind
	if req.writes() {
		pu = purposeTargets
		if !req.Multi && !q.Sort.IsEmpty() {
			q.Limit = 1 // without a sort the stage that writes ends after the first target
		}
	}
	one := func(cq *canonical, s *solution) *choice { return p.only(cq, s, r, nil) }
	if q.Coll == nil {
		cq, s, err := nowhere(&q, pu)
		if err != nil {
			return nil, err
		}
		return one(cq, s), nil
	}
	if id, ok := q.PointID(); ok {
		return one(expressForID(&q, pu, id)), nil
	}
	cq, solutions, err := p.enumerate(ctx, &q, pu, "")
	if err != nil {
		return nil, err
	}
	return p.pick(ctx, cq, solutions, r, false)
}
