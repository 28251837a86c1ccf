package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/plan/candidate"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/plan/trial"
	"github.com/sheafdb/sheaf/internal/storage"
)

// only returns the choice of a plan without an alternative.
func (p *Planner) only(cq *canonical.Query, s *node.Solution, r storage.Reader, records Counter) *trial.Choice {
	t := p.start(cq, s, r, records)
	return &trial.Choice{Query: cq, Candidates: []*trial.Candidate{&t}}
}

// open plans a query and returns its execution.
func (p *Planner) open(ctx context.Context, q *query.Query, r storage.Reader, pu canonical.Purpose,
) (*Execution, error) {
	if q.Coll == nil {
		cq, s, err := candidate.Nowhere(q, pu)
		if err != nil {
			return nil, err
		}
		return p.single(cq, s, r, nil), nil
	}
	if id, ok := q.PointID(); ok {
		cq, s := candidate.ForID(q, pu, id)
		return p.single(cq, s, r, nil), nil
	}
	exec.Pin(r)
	cq, solutions, err := p.enumerate(ctx, q, pu, "")
	if err != nil {
		return nil, err
	}
	if len(solutions) == 1 {
		e := p.single(cq, solutions[0], r, nil)
		e.cq = cq
		return e, nil
	}
	c, err := p.pick(ctx, cq, solutions, r, true)
	if err != nil {
		return nil, err
	}
	c.CloseLosers()
	node.CountUses(q, c.Winner().Plan.Root)
	return chosen(c), nil
}

// chosen returns the execution of the winner. It continues where the trial has ended.
func chosen(c *trial.Choice) *Execution {
	e := executionOf(c.Winner())
	e.cq, e.key, e.cached = c.Query, c.Key, c.Cached
	return e
}

// start builds the operators of a candidate.
func (p *Planner) start(cq *canonical.Query, s *node.Solution, r storage.Reader, records Counter) trial.Candidate {
	env := exec.NewEnv(r)
	env.TempDir, env.SortMemory, env.AllowDiskUse = p.opts.TempDir, int(p.sortMemory.Load()), cq.Asked.AllowDiskUse
	env.Memory = p.opts.Memory
	return trial.New(env, cq, s, records)
}

// executionOf returns the execution of a candidate. It continues where the trial has ended.
func executionOf(t *trial.Candidate) *Execution {
	return &Execution{env: t.Env, root: t.Resume(), plan: t.Plan}
}

// single returns the execution of the only candidate.
func (p *Planner) single(cq *canonical.Query, s *node.Solution, r storage.Reader, records Counter) *Execution {
	t := p.start(cq, s, r, records)
	node.CountUses(cq.Asked, s.Root)
	return executionOf(&t)
}

// enumerate returns the candidate plans of a query. Its errors are query.Refused. field is the
// field of a distinct.
func (p *Planner) enumerate(ctx context.Context, q *query.Query, pu canonical.Purpose, field string,
) (*canonical.Query, []*node.Solution, error) {
	cq, solutions, err := candidate.Of(ctx, q, pu, candidate.Options{
		Indexes: p.catalog.Indexes(q.Coll), CollatedRegex: p.collatedRegex.Load(),
		NoScans: p.noScans.Load(), Distinct: field,
	})
	if err != nil {
		if pu == canonical.Count { // as in MongoDB, error messages of count leave out skip and limit
			bare := *q
			bare.Skip, bare.Limit = 0, 0
			q = &bare
		}
		return nil, nil, query.Refuse(q, err)
	}
	return cq, solutions, nil
}

// pick chooses one of the solutions: from the plan cache if useCache is true and the cache has an
// entry, otherwise by a trial.
func (p *Planner) pick(ctx context.Context, cq *canonical.Query, solutions []*node.Solution, r storage.Reader,
	useCache bool,
) (*trial.Choice, error) {
	if len(solutions) == 1 {
		return p.only(cq, solutions[0], r, nil), nil
	}
	shape := cq.Shape()
	key := node.AppendKey(shape, solutions)
	if cq.Ended != nil {
		return nil, cq.Ended
	}
	c := &trial.Choice{Query: cq, Key: key, Shape: shape}
	if useCache {
		t, err := p.fromCache(ctx, cq, key, solutions, r)
		if err != nil {
			return nil, err
		}
		if t != nil {
			c.Candidates, c.Cached = append(c.Room[:0], t), true
			return c, nil
		}
	}
	for _, s := range solutions {
		t := p.start(cq, s, r, nil)
		c.Candidates = append(c.Candidates, &t)
	}
	if err := trial.Race(ctx, c.Candidates, trial.Results(cq)); err != nil {
		c.CloseLosers()
		c.Winner().Root.Close()
		return nil, err
	}
	if useCache {
		p.cache.Put(cq.Asked.Coll.ID, key, cq.Asked.Coll.Version, p.outcome(c))
	}
	return c, nil
}

// fromCache starts the plan that the cache names. It returns nil if the cache does not name a plan,
// or if the plan proves far more expensive than in its trial.
func (p *Planner) fromCache(ctx context.Context, cq *canonical.Query, key []byte, solutions []*node.Solution,
	r storage.Reader,
) (*trial.Candidate, error) {
	signature, works, ok := p.cache.Get(cq.Asked.Coll.ID, key, cq.Asked.Coll.Version)
	if !ok {
		return nil, nil
	}
	for _, s := range solutions {
		if string(s.Signature) != signature {
			continue
		}
		t := p.start(cq, s, r, nil)
		if t.Run(ctx, works*limits.ReplanFactor, trial.Results(cq)) {
			return &t, nil
		}
		t.Root.Close()
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		break
	}
	p.cache.Replans.Add(1)
	p.cache.Deactivate(cq.Asked.Coll.ID, key)
	return nil, nil
}
