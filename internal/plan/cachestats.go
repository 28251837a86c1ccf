package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/cache"
)

// outcome is what the cache remembers of a trial.
func (p *Planner) outcome(c *choice) cache.Outcome {
	t := c.winner()
	keys, docs := exec.Examined(t.root)
	return cache.Outcome{
		Signature: string(t.sol.signature), Works: t.env.Works(), Reads: keys + docs,
		QueryHash: cache.Hash(c.shape), At: p.opts.Clock.Now(), Describe: c.describe,
	}
}

// describe writes what $planCacheStats tells of a trial. Nothing of it borrows the query.
func (c *choice) describe() *cache.Debug {
	e := &explainer{ctx: context.Background(), req: &ExplainRequest{Query: c.cq.q}, choice: c}
	d := &cache.Debug{Query: c.cq.q.Shown()}
	for _, t := range c.candidates {
		d.Scores = append(d.Scores, t.score())
	}
	for _, tr := range e.noteTrials() {
		d.Stats = append(d.Stats, tr.doc)
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	newStageWriter(context.Background(), b, c.cq.q, 0, c.winner().env.SortMemory).node(c.winner().sol.root, nil)
	b.End()
	d.Plan = bsonx.Doc(b.Bytes())
	return d
}

// CacheStats describes the plan cache for serverStatus.
func (p *Planner) CacheStats() cache.Stats { return p.cache.Stats() }
