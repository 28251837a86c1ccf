package explain

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/trial"
)

// Trial returns the data of a trial that $planCacheStats shows. The result does not borrow from the
// query.
func Trial(c *trial.Choice) *cache.Debug {
	e := &explainer{ctx: context.Background(), req: &Request{Query: c.Query.Asked}, choice: c}
	d := &cache.Debug{Query: c.Query.Asked.Shown()}
	for _, t := range c.Candidates {
		d.Scores = append(d.Scores, t.Score())
	}
	for _, tr := range e.noteTrials() {
		d.Stats = append(d.Stats, tr.doc)
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	node.NewWriter(context.Background(), b, c.Query.Asked, 0, c.Winner().Env.SortMemory).Node(c.Winner().Plan.Root, nil)
	b.End()
	d.Plan = bsonx.Doc(b.Bytes())
	return d
}
