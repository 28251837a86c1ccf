package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/cache"
)

// describeTrial writes what $planCacheStats tells of a trial. Nothing of it borrows the query.
func describeTrial(c *choice) *cache.Debug {
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
