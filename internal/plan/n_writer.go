package plan

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// stageWriter writes the stages of a plan into an open document, with the counters of its operators where it ran.
type stageWriter struct {
	ctx context.Context
	b   *bsonx.Builder
	q   *query.Query
	// sortMemory is the budget of a blocking sort when the plan was made.
	sortMemory int
	// targets is true for the plan of a write, whose rows say where the records are.
	targets bool
	// start is where the tree begins in b, used the size of the reply's other parts.
	start, used int
}

// What an explanation shows is cut so that the reply stays a document that clients accept.
const (
	// maxExplainedTree bounds one tree of stages (internalQueryExplainSizeThresholdBytes).
	maxExplainedTree = 10 << 20
	// maxExplainedQuery bounds the query that is shown.
	maxExplainedQuery = 12 << 20
	// maxExplained bounds all parts together, without what is certain to be short.
	maxExplained = 16<<20 - 64<<10

	treeTooLarge = "stats tree exceeded BSON size limit for explain"
)

// newStageWriter returns a writer of a tree at the end of b, for a reply that has used bytes elsewhere.
func newStageWriter(ctx context.Context, b *bsonx.Builder, q *query.Query, used, sortMemory int) *stageWriter {
	return &stageWriter{ctx: ctx, b: b, q: q, start: b.Len(), used: used, sortMemory: sortMemory}
}

// fits reports whether n more bytes leave the reply small enough.
func (w *stageWriter) fits(n int) bool {
	return w.b.Len()-w.start+n <= maxExplainedTree && w.used+w.b.Len()+n <= maxExplained
}

// doc writes a field of a stage that may be large.
func (w *stageWriter) doc(name string, doc bsonx.Doc) { w.value(name, bsonx.Document(doc)) }

// value is doc for a value of any type.
func (w *stageWriter) value(name string, v bsonx.Value) {
	if w.fits(len(v.Data)) {
		w.b.Value(name, v)
		return
	}
	w.omit(name)
}

// omit says that something is not shown.
func (w *stageWriter) omit(name string) {
	w.b.String("warning", name+" omitted due to BSON size limit for explain")
}

// node writes a plan; run is its operator or nil.
func (w *stageWriter) node(n node, run exec.Node) {
	if w.hasRoom() {
		n.describe(w, run)
	}
}

// hasRoom reports whether the reply has room for another stage, and says so in the reply if it has not.
func (w *stageWriter) hasRoom() bool {
	if w.fits(0) {
		return true
	}
	w.b.String("warning", treeTooLarge)
	return false
}

// begin writes what every stage begins with: its name, its filter, and its counters where it ran.
func (w *stageWriter) begin(n node, run exec.Node) {
	w.b.String("stage", n.stage())
	if f := n.residual(); f != nil {
		if shown := shownFilter(w.ctx, f); shown != nil {
			w.doc("filter", shown)
		} else {
			w.omit("filter")
		}
	}
	if run != nil {
		w.counters(run.Stats(), works(n, run))
	}
}

// input writes the only input of a stage.
func (w *stageWriter) input(n node, run exec.Node) {
	w.b.StartDocField("inputStage")
	w.node(n.input(0), input(run, 0))
	w.b.End()
}

// inputs writes the inputs of a stage that has several.
func (w *stageWriter) inputs(n node, run exec.Node) {
	w.b.StartArrayField("inputStages")
	for i := 0; n.input(i) != nil; i++ {
		w.b.StartDocElem()
		w.node(n.input(i), input(run, i))
		w.b.End()
	}
	w.b.End()
}

// duplicates writes the counters of a stage that drops records that it has given.
func (w *stageWriter) duplicates(run exec.Node) {
	if run != nil {
		w.b.Int32("dupsTested", int32(run.Stats().DupsTested))
		w.b.Int32("dupsDropped", int32(run.Stats().DupsDropped))
	}
}

// counted writes the counters of a stage that counts.
func (w *stageWriter) counted(run exec.Node) {
	if run != nil {
		w.b.Int64("nCounted", int64(run.Stats().Counted))
		w.b.Int64("nSkipped", int64(run.Stats().Skipped))
	}
}

// input returns the i-th input of an operator; nil where there is none or no operator.
func input(run exec.Node, i int) exec.Node {
	if run == nil || i >= len(run.Inputs()) {
		return nil
	}
	return run.Inputs()[i]
}

// works returns how often MongoDB would have worked a stage: leaves count their steps, the stages above them work
// when their inputs do, and blocking stages work once more per row.
func works(n node, run exec.Node) uint64 {
	own := run.Stats().Works
	for i := 0; n.input(i) != nil; i++ {
		if r := input(run, i); r != nil {
			own += works(n.input(i), r)
		}
	}
	if _, ok := n.(*limit); ok && run.Stats().IsEOF && run.Stats().Advanced > 0 && !run.Inputs()[0].Stats().IsEOF {
		own++ // a limit that is reached has an end of its own
	}
	return own
}

// counters writes what every stage counts.
func (w *stageWriter) counters(s *exec.Stats, works uint64) {
	eof := uint64(btoi(s.IsEOF))
	last := eof + uint64(btoi(s.Failed)) // the work that ended the stage
	works = max(works, s.Advanced+last)
	b := w.b
	b.Int32("nReturned", int32(s.Advanced))
	b.Int32("executionTimeMillisEstimate", int32(s.Elapsed.Milliseconds()))
	b.Int32("works", int32(works))
	b.Int32("advanced", int32(s.Advanced))
	b.Int32("needTime", int32(works-s.Advanced-last))
	b.Int32("needYield", 0)
	b.Int32("saveState", int32(s.SaveStates))
	b.Int32("restoreState", int32(s.RestoreStates))
	if s.Failed {
		b.Bool("failed", true)
	}
	b.Int32("isEOF", int32(eof))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func direction(backward bool) string {
	if backward {
		return "backward"
	}
	return "forward"
}

func (w *stageWriter) indexKeys(x *indexinfo.Index) {
	b := w.b
	b.Doc("keyPattern", x.Key)
	b.String("indexName", x.Name)
	if x.Collation != nil {
		b.Doc("collation", x.Collation.Spec())
	}
	b.Bool("isMultiKey", x.IsMultikey())
	switch x.Kind {
	case index.Hashed, index.Text, index.Plane:
		return // MongoDB does not know which paths were arrays
	default:
	}
	b.StartDocField("multiKeyPaths")
	for i, f := range x.Fields {
		b.StartArrayField(f.Path)
		bits, parts := x.Bits(i), strings.Split(f.Path, ".")
		for k := range parts {
			if bits&(1<<k) != 0 {
				b.Elem(bsonx.String(strings.Join(parts[:k+1], ".")))
			}
		}
		b.End()
	}
	b.End()
}

func (w *stageWriter) indexFlags(x *indexinfo.Index) {
	w.b.Bool("isUnique", x.Unique)
	w.b.Bool("isSparse", x.Sparse)
	w.b.Bool("isPartial", x.IsPartial)
}

// bounds writes the bounds of each field in the direction of the scan.
func (w *stageWriter) bounds(n *indexScan) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if n.min == nil && n.max == nil && n.index.Kind != index.Text {
		for i, f := range n.index.Fields {
			b.StartArrayField(f.Path)
			w.intervals(b, n.bounds[i], f.Desc != n.backward, n.index.Collation != nil && f.Kind == index.Ordered)
			b.End()
		}
	}
	b.End()
	if !w.fits(b.Len()) {
		w.b.String("warning", "index bounds omitted due to BSON size limit for explain")
		return
	}
	w.b.Doc("indexBounds", b.Bytes())
}

// intervals writes intervals as texts, up to the one after which they are too many to be shown.
func (w *stageWriter) intervals(b *bsonx.Builder, ivs bounds.Intervals, reverse, collated bool) {
	var meter interrupt.Meter
	for i := range ivs {
		if !w.fits(b.Len()) || meter.Passed(w.ctx, intervalWork) != nil {
			return
		}
		at := i
		if reverse {
			at = len(ivs) - 1 - i
		}
		b.Elem(bsonx.String(ivs[at].Text(reverse, collated)))
	}
}

// intervalWork is the work of writing an interval as a text.
const intervalWork = 8 * interrupt.Step

// shownFilter is filter.Serialize, or nil if the operation may not hold so much. What it returns
// after the operation has ended is shown to nobody.
func shownFilter(ctx context.Context, n filter.Node) bsonx.Doc {
	doc, err := filter.SerializeWithin(ctx, n)
	if err != nil {
		return nil
	}
	return doc
}
