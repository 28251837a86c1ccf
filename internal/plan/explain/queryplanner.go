package explain

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/plan/candidate"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/trial"
)

func (e *explainer) queryPlanner() bsonx.Doc {
	q, t := e.req.Query, e.choice.Winner()
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
	b.Bool("maxIndexedAndSolutionsReached", len(e.choice.Candidates) >= candidate.Max)
	b.Bool("maxScansToExplodeReached", false)
	b.Bool("prunedSimilarIndexes", false)
	w := e.stages(b, t, 0)
	b.StartDocField("winningPlan")
	b.Bool("isCached", e.choice.Cached)
	root, _ := e.plan(t)
	e.projected(w, t, false, func() { e.wrap(w, t, func() { w.Node(root, nil) }) })
	b.End()
	b.StartArrayField("rejectedPlans")
	for _, l := range e.choice.Candidates[1:] {
		b.StartDocElem()
		b.Bool("isCached", false)
		root, _ = e.plan(l)
		w.Start = b.Len()
		w.Node(root, nil)
		b.End()
	}
	b.End()
	b.End()
	return bsonx.Doc(b.Bytes())
}

// unparsed reports whether MongoDB executes the command without a canonical query. Then explain
// shows none.
func (e *explainer) unparsed() bool {
	root := e.choice.Winner().Plan.Root
	if _, ok := root.(*node.FastCount); ok {
		return true
	}
	if _, ok := root.(*node.IDHack); ok {
		return e.writes()
	}
	if c, ok := root.(*node.Count); ok {
		if e.req.Command != Count {
			return false
		}
		root = c.In
	}
	none, ok := root.(*node.EOF)
	return ok && none.Why == node.NoNamespace && (e.writes() || e.req.Command == Count)
}

// canonicalQuery writes the parsed query and its collation.
func (e *explainer) canonicalQuery(b *bsonx.Builder) {
	if parsed := e.parsedQuery(); parsed != nil && len(parsed) <= node.MaxQuery {
		b.Doc("parsedQuery", parsed)
	} else {
		b.String("warning", "'parsedQuery' has been omitted due to BSON size limit")
	}
	if c := e.req.Query.Collation; c != nil {
		b.Doc("collation", c.Spec())
	}
	b.Bool("indexFilterSet", false)
	b.String("queryHash", cache.Hash(e.choice.Query.Shape()))
	b.String("planCacheShapeHash", cache.Hash(e.choice.Query.Shape()))
	b.String("planCacheKey", cache.Hash(e.planCacheKey()))
}

func (e *explainer) parsedQuery() bsonx.Doc {
	if cq := e.choice.Query; cq.Filter != nil && cq.Root != nil {
		return node.ShownFilter(e.ctx, cq.Root)
	}
	if f := e.req.Query.Filter; f != nil && e.choice.Query.Filter != nil {
		return node.ShownFilter(e.ctx, f.Normalize().Root)
	}
	return bsonx.Empty
}

// stages returns a writer of the stages of a candidate. used is the number of bytes that the reply
// already has.
func (e *explainer) stages(b *bsonx.Builder, t *trial.Candidate, used int) *node.Writer {
	w := node.NewWriter(e.ctx, b, e.req.Query, used, t.Env.SortMemory)
	w.Targets = e.writes()
	return w
}

func (e *explainer) planCacheKey() []byte {
	var solutions []*node.Solution
	for _, t := range e.choice.Candidates {
		solutions = append(solutions, t.Plan)
	}
	return node.AppendKey(e.choice.Query.Shape(), solutions)
}
