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
	"github.com/sheafdb/sheaf/internal/text"
)

// stageWriter writes the stages of a plan into an open document, with the counters of its operators where it ran.
type stageWriter struct {
	ctx context.Context
	b   *bsonx.Builder
	q   *query.Query
	// sortMemory is the budget of a blocking sort when the plan was made.
	sortMemory int
	// inDistinct is true below the projection that stands above a DISTINCT_SCAN.
	inDistinct bool
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

// node writes a plan node; run is its operator or nil.
func (w *stageWriter) node(n node, run exec.Node) {
	if !w.fits(0) {
		w.b.String("warning", treeTooLarge)
		return
	}
	switch n := n.(type) {
	case *recordID:
		// MongoDB adds $recordId without a stage.
		w.node(n.in, input(run, 0))
		return
	case *express:
		w.express(n, run)
		return
	case *distinctScan:
		if !w.inDistinct && !n.feeds {
			w.coveredDistinct(n, run)
			return
		}
	default: // the others need nothing here
	}
	w.b.String("stage", n.stage())
	w.filter(n)
	if run != nil {
		w.counters(run.Stats(), works(n, run))
	}
	w.properties(n)
	if run != nil {
		w.specifics(n, run.Stats())
	}
	w.inputs(n, run)
}

func input(run exec.Node, i int) exec.Node {
	if run == nil || i >= len(run.Inputs()) {
		return nil
	}
	return run.Inputs()[i]
}

func (w *stageWriter) filter(n node) {
	var f filter.Node
	switch n := n.(type) {
	case *collScan:
		f = n.filter
	case *fetch:
		f = n.filter
	case *indexScan:
		f = n.filter
	case *distinctScan:
		f = n.scan.filter
	case *geoNear:
		f = n.filter
	default: // the others need nothing here
	}
	if f == nil {
		return
	}
	if shown := shownFilter(w.ctx, f); shown != nil {
		w.doc("filter", shown)
	} else {
		w.omit("filter")
	}
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

// properties writes what a stage is, apart from its inputs.
func (w *stageWriter) properties(n node) {
	b := w.b
	switch n := n.(type) {
	case *collScan:
		b.String("direction", direction(n.backward))
		if n.hasIDs {
			w.value("minRecord", n.ids.Low)
			w.value("maxRecord", n.ids.High)
		}
	case *indexScan:
		w.index(n.index)
		b.String("direction", direction(n.backward))
		w.bounds(n)
	case *distinctScan:
		w.indexKeys(n.scan.index)
		w.indexFlags(n.scan.index)
		b.Bool("isShardFiltering", false)
		b.Bool("isFetching", false)
		b.Int32("indexVersion", 2)
		b.String("direction", direction(n.scan.backward))
		w.bounds(n.scan)
	case *textMatch:
		w.textMatch(n)
	case *geoNear:
		b.Doc("keyPattern", n.scan.index.Key)
		b.String("indexName", n.scan.index.Name)
		b.Int32("indexVersion", 2)
	case *sortNode:
		b.Doc("sortPattern", query.ShownPattern(n.pattern))
		b.Int64("memLimit", int64(w.sortMemory))
		if n.limit > 0 {
			b.Int64("limitAmount", n.limit)
		}
		b.String("type", w.sortType(n))
	case *sortMerge:
		b.Doc("sortPattern", n.pattern)
	case *limit:
		b.Int64("limitAmount", n.n)
	case *skip:
		b.Int64("skipAmount", n.n)
	case *project:
		w.doc("transformBy", n.spec)
	case *eof:
		b.String("type", n.why)
	default: // the others need nothing here
	}
}

// specifics writes what only some stages count, and the properties that MongoDB writes behind those.
func (w *stageWriter) specifics(n node, s *exec.Stats) {
	b := w.b
	switch n := n.(type) {
	case *collScan:
		b.Int32("docsExamined", int32(s.DocsExamined))
	case *idHack:
		b.Int32("keysExamined", int32(s.KeysExamined))
		b.Int32("docsExamined", int32(s.DocsExamined))
	case *fetch:
		b.Int32("docsExamined", int32(s.DocsExamined))
		b.Int32("alreadyHasObj", int32(s.AlreadyDoc))
	case *indexScan:
		b.Int32("keysExamined", int32(s.KeysExamined))
		b.Int32("seeks", int32(s.Seeks))
		b.Int32("dupsTested", int32(s.DupsTested))
		b.Int32("dupsDropped", int32(s.DupsDropped))
	case *geoNear:
		b.Int32("keysExamined", int32(s.KeysExamined))
		b.Int32("docsExamined", int32(s.DocsExamined))
	case *distinctScan:
		b.Int32("keysExamined", int32(s.KeysExamined))
	case *textMatch:
		b.Int32("docsRejected", int32(s.DocsRejected))
	case *textOr:
		b.Int32("docsExamined", int32(s.DocsExamined))
	case *or, *sortMerge:
		b.Int32("dupsTested", int32(s.DupsTested))
		b.Int32("dupsDropped", int32(s.DupsDropped))
	case *sortNode:
		b.Int64("totalDataSizeSorted", int64(s.SortedBytes))
		b.Bool("usedDisk", s.Spills > 0)
		b.Int64("spills", int64(s.Spills))
		b.Int64("spilledRecords", int64(s.SpilledRecords))
		b.Int64("spilledBytes", int64(s.SpilledBytes))
		b.Int64("spilledDataStorageSize", int64(s.SpilledBytes))
	case *count, *fastCount:
		b.Int64("nCounted", int64(s.Counted))
		b.Int64("nSkipped", int64(s.Skipped))
	case *countScan:
		b.Int32("keysExamined", int32(s.KeysExamined))
		w.countScan(n)
	default: // the others need nothing here
	}
}

func (w *stageWriter) inputs(n node, run exec.Node) {
	if c, ok := n.(*countScan); ok && run == nil {
		w.countScan(c)
	}
	switch n := n.(type) {
	case *textOr:
		if len(n.in) > 1 {
			w.union(n, run)
			return
		}
	case *or, *sortMerge:
		w.union(n, run)
		return
	default: // the others need nothing here
	}
	if in := n.input(0); in != nil {
		w.b.StartDocField("inputStage")
		w.node(in, input(run, 0))
		w.b.End()
	}
}

// union writes the inputs of a stage that has several.
func (w *stageWriter) union(n node, run exec.Node) {
	w.b.StartArrayField("inputStages")
	for i := 0; n.input(i) != nil; i++ {
		w.b.StartDocElem()
		w.node(n.input(i), input(run, i))
		w.b.End()
	}
	w.b.End()
}

// textMatch writes what a search asks for.
func (w *stageWriter) textMatch(n *textMatch) {
	b, q := w.b, n.search.query
	w.doc("indexPrefix", n.prefix)
	b.String("indexName", n.search.index.Name)
	w.doc("parsedTextQuery", parsedText(q))
	b.Int32("textIndexVersion", int32(n.search.spec.Version()))
}

// parsedText shows what a search looks for.
func parsedText(q *text.Query) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, list := range []struct {
		name  string
		words []string
	}{{"terms", q.Terms}, {"negatedTerms", q.Negated}, {"phrases", q.Phrases}, {"negatedPhrases", q.NegatedPhrases}} {
		b.StartArrayField(list.name)
		for _, word := range list.words {
			b.Elem(bsonx.String(word))
		}
		b.End()
	}
	b.End()
	return b.Bytes()
}

// sortType tells sorts whose rows are not documents alone.
func (w *stageWriter) sortType(n *sortNode) string {
	if w.targets || n.entries || sumsScores(n) || w.q.WantsPlace() {
		return "default"
	}
	return "simple"
}

// express writes the stage that stands for the whole plan below it.
func (w *stageWriter) express(n *express, run exec.Node) {
	b := w.b
	b.String("stage", n.stage())
	if !n.index.Clustered {
		b.Doc("keyPattern", n.index.Key)
		b.String("indexName", n.index.Name)
	}
	walk(n.in, func(in node) {
		if p, ok := in.(*project); ok {
			w.doc("projection", p.spec)
			b.Bool("projectionCovered", p.covered != nil)
		}
	})
	if run == nil {
		return
	}
	keys, docs := examined(run)
	b.Int32("nReturned", int32(run.Stats().Advanced))
	b.Int32("executionTimeMillisEstimate", int32(run.Stats().Elapsed.Milliseconds()))
	b.Int32("keysExamined", int32(keys))
	b.Int32("docsExamined", int32(docs))
}

// coveredDistinct writes the projection that makes documents of a DISTINCT_SCAN's entries.
func (w *stageWriter) coveredDistinct(n *distinctScan, run exec.Node) {
	b := w.b
	b.String("stage", "PROJECTION_COVERED")
	if run != nil {
		w.counters(run.Stats(), works(n, run))
	}
	b.Doc("transformBy", distinctSpec(n.scan.index.Fields[n.fields-1].Path))
	below := *w
	below.inDistinct = true
	b.StartDocField("inputStage")
	below.node(n, run)
	b.End()
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

func (w *stageWriter) index(x *indexinfo.Index) {
	w.indexKeys(x)
	w.indexFlags(x)
	w.b.Int32("indexVersion", 2)
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

// countScan writes the range of a COUNT_SCAN by its ends.
func (w *stageWriter) countScan(n *countScan) {
	x, b := n.scan.index, w.b
	w.indexKeys(x)
	w.indexFlags(x)
	b.Int32("indexVersion", 2)
	lowIncl, highIncl := true, true
	low, high := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	low.StartDoc()
	high.StartDoc()
	for i, ivs := range n.scan.bounds {
		if len(ivs) == 0 {
			continue
		}
		iv, path := ivs[0], x.Fields[i].Path
		if x.Fields[i].Desc {
			iv = bounds.Interval{Low: iv.High, High: iv.Low, LowIncl: iv.HighIncl, HighIncl: iv.LowIncl}
		}
		low.Value(path, iv.Low)
		high.Value(path, iv.High)
		lowIncl, highIncl = lowIncl && iv.LowIncl, highIncl && iv.HighIncl
	}
	low.End()
	high.End()
	b.StartDocField("indexBounds")
	w.doc("startKey", bsonx.Doc(low.Bytes()))
	b.Bool("startKeyInclusive", lowIncl)
	w.doc("endKey", bsonx.Doc(high.Bytes()))
	b.Bool("endKeyInclusive", highIncl)
	b.End()
}
