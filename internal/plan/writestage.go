package plan

import "github.com/sheafdb/sheaf/internal/plan/indexinfo"

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
