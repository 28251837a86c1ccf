package plan

import (
	"context"
	"errors"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Verbosity is how much explain tells.
type Verbosity string

// The verbosities of the explain command.
const (
	QueryPlanner      Verbosity = "queryPlanner"
	ExecutionStats    Verbosity = "executionStats"
	AllPlansExecution Verbosity = "allPlansExecution"
)

// Command is the kind of command that is explained.
type Command int

// The commands that can be explained.
const (
	ExplainFind Command = iota
	ExplainCount
	ExplainDistinct
	ExplainUpdate
	ExplainDelete
	ExplainFindAndUpdate
	ExplainFindAndDelete
	// ExplainMatches is the input of a pipeline that asks only how many documents match.
	ExplainMatches
)

// ExplainRequest is what explain wants to know.
type ExplainRequest struct {
	Query     *query.Query
	Command   Command
	Verbosity Verbosity
	// Field is the key of distinct.
	Field string
	// Multi tells updates and deletes of many documents from those of one.
	Multi bool
	// Upsert is true for an update that would insert where nothing matches.
	Upsert bool
	// Returns is true for a findAndModify that answers with the document that it inserts.
	Returns bool
	// Fields is the projection of a findAndModify, which is not run; empty for none.
	Fields bsonx.Doc
	// Try applies the update to a document without storing the result. It may be nil.
	Try func(ctx context.Context, doc bsonx.Doc) error
	// TryUpsert builds the document that an upsert would insert. It may be nil.
	TryUpsert func() error
	// Records is the record count for ExplainCount; see Planner.Count.
	Records Counter
	// WholePipeline says that the query is all of an aggregation's pipeline.
	WholePipeline bool
	// Consume reads the documents where the plan is run; nil reads all. It may stop before the end. A document is borrowed
	// until the following one; the documents of ExplainMatches are empty.
	Consume func(ctx context.Context, next func(ctx context.Context) (bsonx.Doc, error)) error
}

// Explanation holds the parts of an explain reply: the caller puts them under queryPlanner and executionStats.
type Explanation struct {
	QueryPlanner bsonx.Doc
	// ExecutionStats is nil for the verbosity queryPlanner.
	ExecutionStats bsonx.Doc
}

// explainer writes the parts of the reply. Where the operation has ended it leaves out what takes
// long.
type explainer struct {
	ctx      context.Context
	req      *ExplainRequest
	choice   *choice
	planning time.Duration
	returned uint64
	replayed int // how many rows of the trial were consumed
	// failure is the error with which the run ended; nil for none.
	failure *mongoerr.Error
}

// shows reports whether the error of a run is part of what explain shows, and notes it. An
// operation that was interrupted has no answer, nor has a pipeline whose stages failed.
func (e *explainer) shows(ctx context.Context, err error) bool {
	return e.req.Consume == nil && interrupt.Cause(ctx) == nil && errors.As(err, &e.failure)
}

// run runs the winner to its end. A write of one document would end with the first.
func (e *explainer) run(ctx context.Context) error {
	e.choice.winner().env.Unlimited()
	if e.req.Consume != nil {
		return e.req.Consume(ctx, e.next)
	}
	for {
		row, err := e.row(ctx)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if e.req.Try != nil {
			if err := e.req.Try(ctx, row.Doc); err != nil {
				return err
			}
		}
		e.returned++
		if e.single() {
			return nil
		}
	}
	if e.upserts() && e.req.TryUpsert != nil {
		return e.req.TryUpsert()
	}
	return nil
}

// upserts reports whether the update would insert a document.
func (e *explainer) upserts() bool { return e.req.Upsert && e.returned == 0 }

// next returns the next document of the winner, nil at the end.
func (e *explainer) next(ctx context.Context) (bsonx.Doc, error) {
	if e.req.Command == ExplainMatches {
		return e.nextMatch(ctx)
	}
	row, err := e.row(ctx)
	if err != nil || row == nil {
		return nil, err
	}
	e.returned++
	return row.Doc, nil
}

// row returns the next row of the winner, nil at the end. The rows of its trial come first.
func (e *explainer) row(ctx context.Context) (*exec.Row, error) {
	t := e.choice.winner()
	if e.replayed < len(t.rows) {
		e.replayed++
		return t.rows[e.replayed-1], nil
	}
	if t.done {
		return nil, nil
	}
	return t.root.Next(ctx)
}

// nextMatch returns an empty document for each that the winner counts.
func (e *explainer) nextMatch(ctx context.Context) (bsonx.Doc, error) {
	t := e.choice.winner()
	if !t.done {
		t.done = true
		if _, err := t.root.Next(ctx); err != nil {
			return nil, err
		}
	}
	if e.returned == uint64(counted(t.root)) {
		return nil, ctx.Err()
	}
	e.returned++
	return bsonx.Empty, nil
}

// plan returns what is shown of a candidate: of matches that a pipeline counts, what finds them.
func (e *explainer) plan(t *candidate) (node, exec.Node) {
	if c, ok := t.sol.root.(*count); ok && e.req.Command == ExplainMatches {
		return c.in, input(t.root, 0)
	}
	return t.sol.root, t.root
}

// single reports whether the command changes at most one document.
func (e *explainer) single() bool { return e.writes() && !e.req.Multi }

func (e *explainer) writes() bool { return e.req.writes() }

func (r *ExplainRequest) writes() bool {
	return r.Command >= ExplainUpdate && r.Command != ExplainMatches
}

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

// wrap writes the stage of a writing command around the plan of its targets.
func (e *explainer) wrap(w *stageWriter, t *candidate, plan func()) {
	name := e.writeStage()
	switch {
	case name == "":
		plan()
		return
	case e.isExpress(t):
		e.expressWrite(w)
		return
	}
	w.b.String("stage", name)
	w.b.StartDocField("inputStage")
	plan()
	w.b.End()
}

// projected writes the stage of a findAndModify's projection, where there is one, around that of
// the write. run says whether the stages ran.
func (e *explainer) projected(w *stageWriter, t *candidate, run bool, stage func()) {
	if !e.projects() {
		stage()
		return
	}
	w.b.String("stage", "PROJECTION_DEFAULT")
	if run {
		own := e.writeStats()
		w.counters(&own, works(t.sol.root, t.root)+own.Advanced)
	}
	w.doc("transformBy", e.req.Fields)
	w.b.StartDocField("inputStage")
	stage()
	w.b.End()
}

// projects reports whether a findAndModify has a projection, where the collection exists.
func (e *explainer) projects() bool { return !e.req.Fields.IsEmpty() && e.writeStage() != "" }

// isExpress reports whether one stage stands for a write and the plan of its target. An upsert has
// both, and so has a write with a projection.
func (e *explainer) isExpress(t *candidate) bool {
	return isPoint(t.sol.root) && !e.req.Upsert && !e.projects()
}

// isPoint reports whether a plan of targets reads one record by its _id.
func isPoint(n node) bool {
	_, ok := n.(*idHack)
	return ok
}

// expressWrite writes the stage of a change of one record by its _id.
func (e *explainer) expressWrite(w *stageWriter) {
	x := indexinfo.OfID(e.req.Query.Coll)
	name := "EXPRESS_UPDATE"
	if e.deletes() {
		name = "EXPRESS_DELETE"
	}
	w.b.String("stage", name)
	if !x.Clustered {
		w.b.Doc("keyPattern", x.Key)
		w.b.String("indexName", x.Name)
	}
}

func (e *explainer) deletes() bool {
	return e.req.Command == ExplainDelete || e.req.Command == ExplainFindAndDelete
}

// writeStage is the stage above the plan of the targets; "" where there is none.
func (e *explainer) writeStage() string {
	if e.req.Query.Coll == nil {
		return "" // nothing is written where the collection does not exist
	}
	switch e.req.Command {
	case ExplainUpdate, ExplainFindAndUpdate:
		return "UPDATE"
	case ExplainDelete:
		if e.req.Multi {
			return "BATCHED_DELETE"
		}
		return "DELETE"
	case ExplainFindAndDelete:
		return "DELETE"
	default:
		return ""
	}
}

// executionStats writes what the run was like, for a reply that already has used bytes.
func (e *explainer) executionStats(took time.Duration, trials []trialStats, used int) bsonx.Doc {
	t := e.choice.winner()
	keys, docs := exec.Examined(t.root)
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Bool("executionSuccess", e.failure == nil)
	if e.failure != nil {
		b.String("errorMessage", e.failure.Message)
		b.Int32("errorCode", int32(e.failure.Code))
	}
	returned := e.returned
	switch {
	case e.writes():
		returned = e.writeStats().Advanced
	case e.req.Command == ExplainCount:
		returned = 0
	}
	b.Int32("nReturned", int32(returned))
	b.Int32("executionTimeMillis", int32(took.Milliseconds()))
	b.Int32("totalKeysExamined", int32(keys))
	b.Int32("totalDocsExamined", int32(docs))
	if e.failure != nil && !(e.writes() && e.isExpress(t)) {
		b.Bool("failed", true)
	}
	w := e.stages(b, t, used)
	b.StartDocField("executionStages")
	b.Bool("isCached", e.choice.cached)
	e.projected(w, t, true, func() { e.executionStages(w, t) })
	b.End()
	if e.req.Verbosity == AllPlansExecution {
		b.StartArrayField("allPlansExecution")
		for _, tr := range trials {
			b.StartDocElem()
			if w.fits(len(tr.doc)) {
				b.Fields(tr.doc)
			} else {
				b.String("warning", treeTooLarge)
			}
			b.End()
		}
		b.End()
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

func (e *explainer) executionStages(w *stageWriter, t *candidate) {
	name := e.writeStage()
	if name == "" {
		w.node(e.plan(t))
		return
	}
	b := w.b
	if e.isExpress(t) {
		e.expressWriteStats(w, t)
		return
	}
	b.String("stage", name)
	own := e.writeStats()
	w.counters(&own, works(t.sol.root, t.root)+own.Advanced)
	switch e.req.Command {
	case ExplainUpdate, ExplainFindAndUpdate:
		b.Int64("nMatched", int64(e.returned))
		b.Int64("nWouldModify", int64(e.returned))
		b.Int64("nWouldUpsert", int64(btoi(e.upserts() && e.failure == nil)))
	default:
		b.Int64("nWouldDelete", int64(e.returned))
	}
	b.StartDocField("inputStage")
	w.node(t.sol.root, t.root)
	b.End()
}

// writeStats returns the counters of the stage that writes. That of findAndModify returns a
// document.
func (e *explainer) writeStats() exec.Stats {
	s := exec.Stats{IsEOF: e.failure == nil, Failed: e.failure != nil}
	finds := e.req.Command == ExplainFindAndUpdate || e.req.Command == ExplainFindAndDelete
	if finds && e.failure == nil && (e.returned > 0 || e.upserts() && e.req.Returns) {
		s.Advanced = 1
	}
	return s
}

// expressWriteStats writes what a change of one record by its _id would do.
func (e *explainer) expressWriteStats(w *stageWriter, t *candidate) {
	e.expressWrite(w)
	keys, docs := exec.Examined(t.root)
	found, b := int64(e.returned), w.b
	b.Int32("nReturned", int32(e.writeStats().Advanced))
	b.Int32("executionTimeMillisEstimate", int32(t.root.Stats().Elapsed.Milliseconds()))
	b.Int32("keysExamined", int32(keys))
	b.Int32("docsExamined", int32(docs))
	modified, deleted := found, int64(0)
	if e.deletes() {
		modified, deleted = 0, found
	}
	b.Int64("nWouldModify", modified)
	b.Int64("nWouldUpsert", 0)
	b.Int64("nWouldDelete", deleted)
}

// trialStats is what allPlansExecution says of a candidate.
type trialStats struct{ doc bsonx.Doc }

func (e *explainer) noteTrials() []trialStats {
	var out []trialStats
	used := 0
	for _, t := range e.choice.candidates {
		keys, docs := exec.Examined(t.root)
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		b.Int32("nReturned", int32(len(t.rows)))
		b.Int32("executionTimeMillisEstimate", int32(t.root.Stats().Elapsed.Milliseconds()))
		b.Int32("totalKeysExamined", int32(keys))
		b.Int32("totalDocsExamined", int32(docs))
		b.Double("score", t.score())
		b.StartDocField("executionStages")
		b.Bool("isCached", false)
		e.stages(b, t, used).node(e.plan(t))
		b.End()
		b.End()
		out = append(out, trialStats{bsonx.Doc(b.Bytes())})
		used += len(b.Bytes())
	}
	return out
}
