package explain

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/trial"
)

// executionStats returns the statistics of the run. used is the number of bytes that the reply
// already has.
func (e *explainer) executionStats(took time.Duration, trials []trialStats, used int) bsonx.Doc {
	t := e.choice.Winner()
	keys, docs := exec.Examined(t.Root)
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
	case e.req.Command == Count:
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
	b.Bool("isCached", e.choice.Cached)
	e.projected(w, t, true, func() { e.executionStages(w, t) })
	b.End()
	if e.req.Verbosity == AllPlansExecution {
		b.StartArrayField("allPlansExecution")
		for _, tr := range trials {
			b.StartDocElem()
			if w.Fits(len(tr.doc)) {
				b.Fields(tr.doc)
			} else {
				b.String("warning", node.TreeTooLarge)
			}
			b.End()
		}
		b.End()
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

func (e *explainer) executionStages(w *node.Writer, t *trial.Candidate) {
	name := e.writeStage()
	if name == "" {
		w.Node(e.plan(t))
		return
	}
	b := w.B
	if e.isExpress(t) {
		e.expressWriteStats(w, t)
		return
	}
	b.String("stage", name)
	own := e.writeStats()
	w.Counters(&own, node.Works(t.Plan.Root, t.Root)+own.Advanced)
	switch e.req.Command {
	case Update, FindAndUpdate:
		b.Int64("nMatched", int64(e.returned))
		b.Int64("nWouldModify", int64(e.returned))
		upserts := int64(0)
		if e.upserts() && e.failure == nil {
			upserts = 1
		}
		b.Int64("nWouldUpsert", upserts)
	default:
		b.Int64("nWouldDelete", int64(e.returned))
	}
	b.StartDocField("inputStage")
	w.Node(t.Plan.Root, t.Root)
	b.End()
}

// writeStats returns the counters of the writing stage. The stage of a findAndModify returns a
// document.
func (e *explainer) writeStats() exec.Stats {
	s := exec.Stats{IsEOF: e.failure == nil, Failed: e.failure != nil}
	finds := e.req.Command == FindAndUpdate || e.req.Command == FindAndDelete
	if finds && e.failure == nil && (e.returned > 0 || e.upserts() && e.req.Returns) {
		s.Advanced = 1
	}
	return s
}

// expressWriteStats writes the statistics of changing one record by its _id.
func (e *explainer) expressWriteStats(w *node.Writer, t *trial.Candidate) {
	e.expressWrite(w)
	keys, docs := exec.Examined(t.Root)
	found, b := int64(e.returned), w.B
	b.Int32("nReturned", int32(e.writeStats().Advanced))
	b.Int32("executionTimeMillisEstimate", int32(t.Root.Stats().Elapsed.Milliseconds()))
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

// trialStats is the description of a candidate in allPlansExecution.
type trialStats struct{ doc bsonx.Doc }

func (e *explainer) noteTrials() []trialStats {
	var out []trialStats
	used := 0
	for _, t := range e.choice.Candidates {
		keys, docs := exec.Examined(t.Root)
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		b.Int32("nReturned", int32(len(t.Rows)))
		b.Int32("executionTimeMillisEstimate", int32(t.Root.Stats().Elapsed.Milliseconds()))
		b.Int32("totalKeysExamined", int32(keys))
		b.Int32("totalDocsExamined", int32(docs))
		b.Double("score", t.Score())
		b.StartDocField("executionStages")
		b.Bool("isCached", false)
		e.stages(b, t, used).Node(e.plan(t))
		b.End()
		b.End()
		out = append(out, trialStats{bsonx.Doc(b.Bytes())})
		used += len(b.Bytes())
	}
	return out
}
