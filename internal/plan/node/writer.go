package node

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Writer writes the stages of a plan into an open document. It includes the counters of the
// operators if the plan has run.
type Writer struct {
	ctx context.Context
	B   *bsonx.Builder
	q   *query.Query
	// sortMemory is the memory limit of a blocking sort at the time of planning, in bytes.
	sortMemory int
	// Targets is true for the plan of a write, whose rows include record keys.
	Targets bool
	// Start is the offset in B at which the tree begins. used is the size of the other parts of the
	// reply.
	Start, used int
}

// The output of explain is truncated so that the reply stays a document that clients accept.
const (
	// MaxQuery is the largest size of a query that is shown, in bytes.
	MaxQuery = 12 << 20

	// TreeTooLarge is the warning that replaces omitted stages.
	TreeTooLarge = "stats tree exceeded BSON size limit for explain"
)

// NewWriter returns a writer of a tree at the end of b. used is the size of the other parts of the
// reply.
func NewWriter(ctx context.Context, b *bsonx.Builder, q *query.Query, used, sortMemory int) *Writer {
	return &Writer{ctx: ctx, B: b, q: q, Start: b.Len(), used: used, sortMemory: sortMemory}
}

// Fits reports whether the reply may grow by n bytes.
func (w *Writer) Fits(n int) bool {
	return w.B.Len()-w.Start+n <= limits.ExplainTreeBytes && w.used+w.B.Len()+n <= limits.ExplainBytes
}

// Doc writes a field of a stage that may be large. It writes a warning if the field does not fit.
func (w *Writer) Doc(name string, doc bsonx.Doc) { w.value(name, bsonx.Document(doc)) }

// value is like Doc for a value of any type.
func (w *Writer) value(name string, v bsonx.Value) {
	if w.Fits(len(v.Data)) {
		w.B.Value(name, v)
		return
	}
	w.omit(name)
}

// omit writes a warning that a field is omitted.
func (w *Writer) omit(name string) {
	w.B.String("warning", name+" omitted due to BSON size limit for explain")
}

// Node writes a plan. run is its operator, or nil if the plan has not run.
func (w *Writer) Node(n Node, run exec.Node) {
	if w.hasRoom() {
		n.describe(w, run)
	}
}

// hasRoom reports whether the reply has room for another stage. If it does not, hasRoom writes a
// warning.
func (w *Writer) hasRoom() bool {
	if w.Fits(0) {
		return true
	}
	w.B.String("warning", TreeTooLarge)
	return false
}

// begin writes the fields that begin every stage: its name, its filter, and its counters if it ran.
func (w *Writer) begin(n Node, run exec.Node) {
	w.B.String("stage", n.stage())
	if f := n.residual(); f != nil {
		if shown := ShownFilter(w.ctx, f); shown != nil {
			w.Doc("filter", shown)
		} else {
			w.omit("filter")
		}
	}
	if run != nil {
		w.Counters(run.Stats(), Works(n, run))
	}
}

// input writes the input of a stage with one input.
func (w *Writer) input(n Node, run exec.Node) {
	w.B.StartDocField("inputStage")
	w.Node(n.input(0), InputOf(run, 0))
	w.B.End()
}

// inputs writes the inputs of a stage with several inputs.
func (w *Writer) inputs(n Node, run exec.Node) {
	w.B.StartArrayField("inputStages")
	for i := 0; n.input(i) != nil; i++ {
		w.B.StartDocElem()
		w.Node(n.input(i), InputOf(run, i))
		w.B.End()
	}
	w.B.End()
}

// duplicates writes the counters of a stage that drops duplicate records.
func (w *Writer) duplicates(run exec.Node) {
	if run != nil {
		w.B.Int32("dupsTested", int32(run.Stats().DupsTested))
		w.B.Int32("dupsDropped", int32(run.Stats().DupsDropped))
	}
}

// counted writes the counters of a stage that counts.
func (w *Writer) counted(run exec.Node) {
	if run != nil {
		w.B.Int64("nCounted", int64(run.Stats().Counted))
		w.B.Int64("nSkipped", int64(run.Stats().Skipped))
	}
}

// InputOf returns the i-th input of an operator. It returns nil if run is nil or has no such input.
func InputOf(run exec.Node, i int) exec.Node {
	if run == nil || i >= len(run.Inputs()) {
		return nil
	}
	return run.Inputs()[i]
}

// Works returns the number of works that MongoDB would count for a stage. Leaves count their steps.
// The stages above them work when their inputs do. Blocking stages work once more for each row.
func Works(n Node, run exec.Node) uint64 {
	own := run.Stats().Works
	for i := 0; n.input(i) != nil; i++ {
		if r := InputOf(run, i); r != nil {
			own += Works(n.input(i), r)
		}
	}
	if _, ok := n.(*Limit); ok && run.Stats().IsEOF && run.Stats().Advanced > 0 && !run.Inputs()[0].Stats().IsEOF {
		own++ // a limit that is reached counts its end
	}
	return own
}

// Counters writes the counters that every stage has.
func (w *Writer) Counters(s *exec.Stats, works uint64) {
	eof := uint64(btoi(s.IsEOF))
	last := eof + uint64(btoi(s.Failed)) // the work that ended the stage
	works = max(works, s.Advanced+last)
	b := w.B
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

func (w *Writer) indexKeys(x *indexinfo.Index) {
	b := w.B
	b.Doc("keyPattern", x.Key)
	b.String("indexName", x.Name)
	if x.Collation != nil {
		b.Doc("collation", x.Collation.Spec())
	}
	b.Bool("isMultiKey", x.IsMultikey())
	if x.Kind.Definition().ArrayPaths == feature.No {
		return
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

func (w *Writer) indexFlags(x *indexinfo.Index) {
	w.B.Bool("isUnique", x.Unique)
	w.B.Bool("isSparse", x.Sparse)
	w.B.Bool("isPartial", x.IsPartial)
}

// bounds writes the bounds of each field in the direction of the scan.
func (w *Writer) bounds(n *IndexScan) {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	if n.Min == nil && n.Max == nil && n.Index.Kind != index.Text {
		for i, f := range n.Index.Fields {
			b.StartArrayField(f.Path)
			w.intervals(b, n.Bounds[i], f.Desc != n.Backward, n.Index.Collation != nil && f.Kind == index.Ordered)
			b.End()
		}
	}
	b.End()
	if !w.Fits(b.Len()) {
		w.B.String("warning", "index bounds omitted due to BSON size limit for explain")
		return
	}
	w.B.Doc("indexBounds", b.Bytes())
}

// intervals writes intervals as texts. It stops when the text no longer fits.
func (w *Writer) intervals(b *bsonx.Builder, ivs bounds.Intervals, reverse, collated bool) {
	var meter interrupt.Meter
	for i := range ivs {
		if !w.Fits(b.Len()) || meter.Passed(w.ctx, intervalWork) != nil {
			return
		}
		at := i
		if reverse {
			at = len(ivs) - 1 - i
		}
		b.Elem(bsonx.String(ivs[at].Text(reverse, collated)))
	}
}

// intervalWork is counted for each interval that is written as a text; see package interrupt.
const intervalWork = 8 * interrupt.Step

// ShownFilter serializes a filter. It returns nil if the operation must not hold that much memory.
// If the operation has ended, the result may be incomplete: nobody will see it.
func ShownFilter(ctx context.Context, n filter.Node) bsonx.Doc {
	doc, err := filter.SerializeWithin(ctx, n)
	if err != nil {
		return nil
	}
	return doc
}
