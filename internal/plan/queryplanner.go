package plan

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/cache"
)

func (e *explainer) queryPlanner() bsonx.Doc {
	q, t := e.req.Query, e.choice.winner()
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("namespace", q.Namespace())
	if !e.unparsed() {
		e.canonicalQuery(b)
	}
	b.Int32("optimizationTimeMillis", int32(e.planning.Milliseconds()))
	if e.req.WholePipeline {
		b.Bool("optimizedPipeline", true)
	}
	b.Bool("maxIndexedOrSolutionsReached", false)
	b.Bool("maxIndexedAndSolutionsReached", len(e.choice.candidates) >= maxCandidates)
	b.Bool("maxScansToExplodeReached", false)
	b.Bool("prunedSimilarIndexes", false)
	w := e.stages(b, t, 0)
	b.StartDocField("winningPlan")
	b.Bool("isCached", e.choice.cached)
	root, _ := e.plan(t)
	e.projected(w, t, false, func() { e.wrap(w, t, func() { w.node(root, nil) }) })
	b.End()
	b.StartArrayField("rejectedPlans")
	for _, l := range e.choice.candidates[1:] {
		b.StartDocElem()
		b.Bool("isCached", false)
		root, _ = e.plan(l)
		w.start = b.Len()
		w.node(root, nil)
		b.End()
	}
	b.End()
	b.End()
	return bsonx.Doc(b.Bytes())
}

// unparsed reports whether MongoDB answers the command without a canonical query, so that explain
// has nothing to show of it.
func (e *explainer) unparsed() bool {
	root := e.choice.winner().sol.root
	if _, ok := root.(*fastCount); ok {
		return true
	}
	if _, ok := root.(*idHack); ok {
		return e.writes()
	}
	if c, ok := root.(*count); ok {
		if e.req.Command != ExplainCount {
			return false
		}
		root = c.in
	}
	none, ok := root.(*eof)
	return ok && none.why == eofNoNamespace && (e.writes() || e.req.Command == ExplainCount)
}

// canonicalQuery writes what the query was read as.
func (e *explainer) canonicalQuery(b *bsonx.Builder) {
	if parsed := e.parsedQuery(); parsed != nil && len(parsed) <= maxExplainedQuery {
		b.Doc("parsedQuery", parsed)
	} else {
		b.String("warning", "'parsedQuery' has been omitted due to BSON size limit")
	}
	if c := e.req.Query.Collation; c != nil {
		b.Doc("collation", c.Spec())
	}
	b.Bool("indexFilterSet", false)
	b.String("queryHash", cache.Hash(e.choice.cq.shape()))
	b.String("planCacheShapeHash", cache.Hash(e.choice.cq.shape()))
	b.String("planCacheKey", cache.Hash(e.planCacheKey()))
}

func (e *explainer) parsedQuery() bsonx.Doc {
	if cq := e.choice.cq; cq.filter != nil && cq.root != nil {
		return shownFilter(e.ctx, cq.root)
	}
	if f := e.req.Query.Filter; f != nil && e.choice.cq.filter != nil {
		return shownFilter(e.ctx, f.Normalize().Root)
	}
	return bsonx.Empty
}

// stages returns what writes the stages of a candidate, for a reply that already has used bytes.
func (e *explainer) stages(b *bsonx.Builder, t *candidate, used int) *stageWriter {
	w := newStageWriter(e.ctx, b, e.req.Query, used, t.env.SortMemory)
	w.targets = e.writes()
	return w
}

func (e *explainer) planCacheKey() []byte {
	var solutions []*solution
	for _, t := range e.choice.candidates {
		solutions = append(solutions, t.sol)
	}
	return appendKey(e.choice.cq.shape(), solutions)
}
