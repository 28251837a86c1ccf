package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/storage"
)

// only is the choice of a plan without an alternative.
func (p *Planner) only(cq *canonical, s *solution, r storage.Reader, records Counter) *choice {
	t := p.start(cq, s, r, records)
	return &choice{cq: cq, candidates: []*candidate{&t}}
}

// open plans a query and returns its execution.
func (p *Planner) open(ctx context.Context, q *query.Query, r storage.Reader, pu purpose) (*Execution, error) {
	if q.Coll == nil {
		cq, s, err := nowhere(q, pu)
		if err != nil {
			return nil, err
		}
		return p.single(cq, s, r, nil), nil
	}
	if id, ok := q.PointID(); ok {
		cq, s := forID(q, pu, id)
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
	c.closeLosers()
	countUses(q, c.winner().sol.root)
	return chosen(c), nil
}

// chosen goes on with the winner.
func chosen(c *choice) *Execution {
	e := executionOf(c.winner())
	e.cq, e.key, e.cached = c.cq, c.key, c.cached
	return e
}

// start builds a candidate.
func (p *Planner) start(cq *canonical, s *solution, r storage.Reader, records Counter) candidate {
	env := exec.NewEnv(r)
	env.TempDir, env.SortMemory, env.AllowDiskUse = p.opts.TempDir, int(p.sortMemory.Load()), cq.q.AllowDiskUse
	env.Memory = p.opts.Memory
	return newCandidate(env, cq, s, records)
}

// executionOf goes on with a candidate after its trial.
func executionOf(t *candidate) *Execution {
	return &Execution{env: t.env, root: t.resume(), plan: t.sol}
}

// single runs the only candidate.
func (p *Planner) single(cq *canonical, s *solution, r storage.Reader, records Counter) *Execution {
	t := p.start(cq, s, r, records)
	countUses(cq.q, s.root)
	return executionOf(&t)
}

// enumerate makes the candidate plans of a query. Its errors are Refused. field is that of a distinct.
func (p *Planner) enumerate(ctx context.Context, q *query.Query, pu purpose, field string) (*canonical, []*solution, error) {
	cq, solutions, err := candidatesOf(ctx, q, pu, options{
		indexes: p.catalog.Indexes(q.Coll), collatedRegex: p.collatedRegex.Load(), noScans: p.noScans.Load(), distinct: field,
	})
	if err != nil {
		if pu == purposeCount { // MongoDB's count has them outside of its query
			bare := *q
			bare.Skip, bare.Limit = 0, 0
			q = &bare
		}
		return nil, nil, query.Refuse(q, err)
	}
	return cq, solutions, nil
}

// pick chooses among solutions, by the cache if that is allowed, else by trial.
func (p *Planner) pick(ctx context.Context, cq *canonical, solutions []*solution, r storage.Reader, useCache bool,
) (*choice, error) {
	if len(solutions) == 1 {
		return p.only(cq, solutions[0], r, nil), nil
	}
	shape := cq.shape()
	key := appendKey(shape, solutions)
	if cq.ended != nil {
		return nil, cq.ended
	}
	c := &choice{cq: cq, key: key, shape: shape}
	if useCache {
		t, err := p.fromCache(ctx, cq, key, solutions, r)
		if err != nil {
			return nil, err
		}
		if t != nil {
			c.candidates, c.cached = append(c.room[:0], t), true
			return c, nil
		}
	}
	for _, s := range solutions {
		t := p.start(cq, s, r, nil)
		c.candidates = append(c.candidates, &t)
	}
	if err := race(ctx, c.candidates, results(cq)); err != nil {
		c.closeLosers()
		c.winner().root.Close()
		return nil, err
	}
	if useCache {
		p.cache.Put(cq.q.Coll.ID, key, cq.q.Coll.Version, p.outcome(c))
	}
	return c, nil
}

// fromCache starts the plan that the cache names, or returns nil where it names none or the plan proves far more
// expensive than it was.
func (p *Planner) fromCache(ctx context.Context, cq *canonical, key []byte, solutions []*solution, r storage.Reader,
) (*candidate, error) {
	signature, works, ok := p.cache.Get(cq.q.Coll.ID, key, cq.q.Coll.Version)
	if !ok {
		return nil, nil
	}
	for _, s := range solutions {
		if string(s.signature) != signature {
			continue
		}
		t := p.start(cq, s, r, nil)
		if t.run(ctx, works*replanFactor, results(cq)) {
			return &t, nil
		}
		t.root.Close()
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		break
	}
	p.cache.Replans.Add(1)
	p.cache.Deactivate(cq.q.Coll.ID, key)
	return nil, nil
}
