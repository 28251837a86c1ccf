package explain

import (
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/plan/trial"
)

// wrap writes the stage of a writing command around the plan of its targets.
func (e *explainer) wrap(w *node.Writer, t *trial.Candidate, plan func()) {
	name := e.writeStage()
	switch {
	case name == "":
		plan()
		return
	case e.isExpress(t):
		e.expressWrite(w)
		return
	}
	w.B.String("stage", name)
	w.B.StartDocField("inputStage")
	plan()
	w.B.End()
}

// projected writes the stage of a findAndModify's projection around the stage of the write. Without
// a projection it writes only the stage of the write. run says whether the stages ran.
func (e *explainer) projected(w *node.Writer, t *trial.Candidate, run bool, stage func()) {
	if !e.projects() {
		stage()
		return
	}
	w.B.String("stage", "PROJECTION_DEFAULT")
	if run {
		own := e.writeStats()
		w.Counters(&own, node.Works(t.Plan.Root, t.Root)+own.Advanced)
	}
	w.Doc("transformBy", e.req.Fields)
	w.B.StartDocField("inputStage")
	stage()
	w.B.End()
}

// projects reports whether a findAndModify has a projection and its collection exists.
func (e *explainer) projects() bool { return !e.req.Fields.IsEmpty() && e.writeStage() != "" }

// isExpress reports whether one stage stands for both the write and the plan of its target. An
// upsert and a write with a projection have separate stages.
func (e *explainer) isExpress(t *trial.Candidate) bool {
	return isPoint(t.Plan.Root) && !e.req.Upsert && !e.projects()
}

// isPoint reports whether a plan reads one record by its _id.
func isPoint(n node.Node) bool {
	_, ok := n.(*node.IDHack)
	return ok
}

// expressWrite writes the stage of changing one record by its _id.
func (e *explainer) expressWrite(w *node.Writer) {
	x := indexinfo.OfID(e.req.Query.Coll)
	name := "EXPRESS_UPDATE"
	if e.deletes() {
		name = "EXPRESS_DELETE"
	}
	w.B.String("stage", name)
	if !x.Clustered {
		w.B.Doc("keyPattern", x.Key)
		w.B.String("indexName", x.Name)
	}
}

func (e *explainer) deletes() bool {
	return e.req.Command == Delete || e.req.Command == FindAndDelete
}

// writeStage returns the name of the stage above the plan of the targets, or "" if there is no such
// stage.
func (e *explainer) writeStage() string {
	if e.req.Query.Coll == nil {
		return "" // nothing is written if the collection does not exist
	}
	switch e.req.Command {
	case Update, FindAndUpdate:
		return "UPDATE"
	case Delete:
		if e.req.Multi {
			return "BATCHED_DELETE"
		}
		return "DELETE"
	case FindAndDelete:
		return "DELETE"
	default:
		return ""
	}
}
