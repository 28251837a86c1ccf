package plan

import "github.com/sheafdb/sheaf/internal/bsonx"

// outcome is what the cache remembers of a trial.
func (p *Planner) outcome(c *choice) trialOutcome {
	t := c.winner()
	keys, docs := examined(t.root)
	return trialOutcome{
		signature: string(t.sol.signature), works: t.env.Works(), reads: keys + docs,
		queryHash: hash8(c.cq.shape()), at: p.opts.Clock.Now(), describe: c.describe,
	}
}

// describe writes what $planCacheStats tells of a trial. Nothing of it borrows the query.
func (c *choice) describe() *cacheDebug {
	e := &explainer{req: &ExplainRequest{Query: c.cq.q}, choice: c}
	d := &cacheDebug{query: c.cq.q.shown()}
	for _, t := range c.candidates {
		d.scores = append(d.scores, t.score())
	}
	for _, tr := range e.noteTrials() {
		d.stats = append(d.stats, tr.doc)
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	(&stageWriter{b: b, q: c.cq.q}).node(c.winner().sol.root, nil)
	b.End()
	d.plan = bsonx.Doc(b.Bytes())
	return d
}

// shown returns the parts of the query that its shape is made of.
func (q *Query) shown() bsonx.Doc {
	filter, sort := bsonx.Empty, bsonx.Empty
	if q.Filter != nil {
		filter = q.Filter.Spec()
	}
	if q.Sort != nil {
		sort = q.Sort
	}
	return bsonx.NewDoc("query", filter, "sort", sort, "projection", q.projectionSpec())
}
