package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// outcome is what the cache remembers of a trial.
func (p *Planner) outcome(c *choice) trialOutcome {
	t := c.winner()
	keys, docs := examined(t.root)
	return trialOutcome{
		signature: string(t.sol.signature), works: t.env.Works(), reads: keys + docs,
		queryHash: hash8(c.shape), at: p.opts.Clock.Now(), describe: c.describe,
	}
}

// describe writes what $planCacheStats tells of a trial. Nothing of it borrows the query.
func (c *choice) describe() *cacheDebug {
	e := &explainer{ctx: context.Background(), req: &ExplainRequest{Query: c.cq.q}, choice: c}
	d := &cacheDebug{query: c.cq.q.shown()}
	for _, t := range c.candidates {
		d.scores = append(d.scores, t.score())
	}
	for _, tr := range e.noteTrials() {
		d.stats = append(d.stats, tr.doc)
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	newStageWriter(context.Background(), b, c.cq.q, 0, c.winner().env.SortMemory).node(c.winner().sol.root, nil)
	b.End()
	d.plan = bsonx.Doc(b.Bytes())
	return d
}

// CacheStats describes the plan cache for serverStatus.
func (p *Planner) CacheStats() CacheStats { return p.cache.stats() }
