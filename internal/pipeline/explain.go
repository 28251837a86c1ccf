package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/extsort"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/projection"
)

// Explained is a pipeline that is explained: it describes its stages, and what they did where it
// was run.
type Explained struct {
	pipeline *Pipeline
	env      *source.Env
	clock    clock.Clock
	stages   []*explainedStage
	in       *counted // what it reads, nil where it was not run
}

// Explorer is what explain asks of Collections besides.
type Explorer interface {
	// Below returns the stages that a pipeline over a collection or view runs over the collection
	// below all views.
	Below(db, name string, stages []bsonx.Value) []bsonx.Value
	// Explain explains stages over a collection or view.
	Explain(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) ([]bsonx.Doc, error)
	// Observe returns Collections that note what is read through them.
	Observe(examined *Examined) source.Collections
}

// HiddenRules are the rules of the optimiser that change how stages work and not what they are. A pipeline that is explained
// is compiled without them, so that every stage has its own figures.
const HiddenRules = parsing.RuleAbsorb | parsing.RuleNarrow | parsing.RuleParallel

// Examined is what was read of other collections.
type Examined struct {
	Docs, Keys, Scans int64
	// Indexes are the names of the indexes that were used, each once.
	Indexes []string
}

// explainedStage is a stage that is explained.
type explainedStage struct {
	step
	opened   source.Source // nil where nothing was run
	in, out  *counted
	examined Examined
	inner    []*Explained // pipelines within the stage, as they were run
}

// Explain returns the pipeline to be explained. The clock times the stages; nil where the pipeline is not run.
func (p *Pipeline) Explain(env *source.Env, c clock.Clock) *Explained {
	x := &Explained{pipeline: p, env: env, clock: c}
	for _, s := range p.steps {
		x.stages = append(x.stages, &explainedStage{step: s})
	}
	return x
}

// Run is Pipeline.Run with every stage counted. Stages that write write nothing.
func (x *Explained) Run(src source.Source) source.Source {
	in := &counted{Source: src, clock: x.clock}
	x.in = in
	for _, s := range x.stages {
		env := *x.env.For(s.budgetName())
		env.Observer = s
		if e, ok := env.Collections.(Explorer); ok {
			env.Collections = e.Observe(&s.examined)
		}
		s.in = in
		s.opened = s.Open(in, &env)
		s.out = &counted{Source: s.opened, clock: x.clock}
		in = s.out
	}
	return in
}

// RunWithin implements Observer.
func (s *explainedStage) RunWithin(p source.Runner, src source.Source, env *source.Env) source.Source {
	x := explained(p, env, s.in.clock)
	s.inner = append(s.inner, x)
	return x.Run(src)
}

// explained returns a pipeline of a stage to be explained: all of them are Pipelines.
func explained(p source.Runner, env *source.Env, c clock.Clock) *Explained {
	inner, ok := p.(*Pipeline)
	if !ok {
		inner = &Pipeline{}
	}
	return inner.Explain(env, c)
}

// counted counts what a source yields, and how long it takes.
type counted struct {
	source.Source
	clock   clock.Clock
	n       int64
	bytes   int64
	elapsed time.Duration
}

// Next implements Source.
func (c *counted) Next(ctx context.Context) (bsonx.Doc, error) {
	start := c.clock.Now()
	doc, err := c.Source.Next(ctx)
	c.elapsed += c.clock.Now().Sub(start)
	if doc != nil && err == nil {
		c.n++
		c.bytes += int64(len(doc))
	}
	return doc, err
}

// Read returns how many documents the pipeline has read, and how many milliseconds that took.
func (x *Explained) Read() (n, millis int64) {
	if x.in == nil {
		return 0, 0
	}
	return x.in.n, x.in.elapsed.Milliseconds()
}

// Stages describes the stages in order. It is asked before the source of Run is closed.
func (x *Explained) Stages(ctx context.Context) ([]bsonx.Doc, error) {
	docs := []bsonx.Doc{}
	for i, s := range x.stages {
		if x.inSort(i) {
			continue
		}
		forms, err := x.forms(ctx, s)
		if err != nil {
			return nil, err
		}
		for i, form := range forms {
			docs = append(docs, s.withStats(form, i == 0))
		}
	}
	return docs, nil
}

// inSort reports whether a stage is the $limit that a $sort before it shows as its own.
func (x *Explained) inSort(at int) bool {
	l, ok := x.stages[at].Stage.(*limit)
	if !ok {
		return false
	}
	total := l.n
	for i := at - 1; i >= 0; i-- {
		switch stage := x.stages[i].Stage.(type) {
		case *skip:
			total += stage.n
		case *sort:
			return stage.limit == total
		default:
			return false
		}
	}
	return false
}

// withStats adds to a stage what it did, if it was run. Of a stage that MongoDB shows as several
// the first has the figures.
func (s *explainedStage) withStats(form bsonx.Doc, first bool) bsonx.Doc {
	if s.out == nil {
		return form
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Fields(form)
	_, isSort := s.Stage.(*sort)
	if isSort {
		s.figures(b)
	}
	n := s.out.n
	if name := string(form.First().Key); s.name == "$documents" && (name == "$queue" || name == "$project") {
		n = 1
	}
	appendCounts(b, n, s.out.elapsed)
	if first && !isSort {
		s.figures(b)
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

// appendCounts writes what every stage counts.
func appendCounts(b *bsonx.Builder, n int64, elapsed time.Duration) {
	b.Int64("nReturned", n)
	b.Int64("executionTimeMillisEstimate", elapsed.Milliseconds())
}

// figures writes what only stages of that kind count.
func (s *explainedStage) figures(b *bsonx.Builder) {
	switch src := s.opened.(type) {
	case *groupSource:
		b.StartDocField("maxAccumulatorMemoryUsageBytes")
		for i, name := range src.group.names {
			b.Int64(name, src.used.of(i))
		}
		b.End()
		b.Int64("totalOutputDataSizeBytes", s.out.bytes)
		spillFigures(b, src.spill.Count(), src.spill.Size())
	case *countSource:
		b.Doc("maxAccumulatorMemoryUsageBytes", bsonx.NewDoc(src.field, int64(counterBytes)))
		b.Int64("totalOutputDataSizeBytes", s.out.bytes)
		spillFigures(b, 0, 0)
	case *sortingSource:
		if _, sorts := s.Stage.(*sort); !sorts {
			return
		}
		b.Int64("totalDataSizeSortedBytesEstimate", s.in.bytes+s.in.n*extsort.EntryBytes)
		sortFigures(b, src.sorter)
	case *bucketAutoSource:
		sortFigures(b, src.sorter)
	case *foreign.LookupSource:
		b.Int64("totalDocsExamined", s.examined.Docs)
		b.Int64("totalKeysExamined", s.examined.Keys)
		b.Int64("collectionScans", s.examined.Scans)
		b.StartArrayField("indexesUsed")
		for _, name := range s.examined.Indexes {
			b.Elem(bsonx.String(name))
		}
		b.End()
	}
}

// sortFigures writes what a sort has written to the disk; s is nil if it did not begin.
func sortFigures(b *bsonx.Builder, s *extsort.Sorter) {
	spilled := s.Spilled()
	spillFigures(b, spilled.Runs, spilled.Bytes)
}

// spillFigures writes how many runs went to the disk, and their size in bytes.
func spillFigures(b *bsonx.Builder, runs int, size int64) {
	b.Bool("usedDisk", runs > 0)
	b.Int64("spills", int64(runs))
	b.Int64("spilledDataStorageSize", size)
	b.Int64("numBytesSpilledEstimate", size)
}

// counterBytes is what $count keeps.
const counterBytes = 8

// Add notes what was read.
func (e *Examined) Add(docs, keys, scans int64, indexes []string) {
	e.Docs, e.Keys, e.Scans = e.Docs+docs, e.Keys+keys, e.Scans+scans
	for _, name := range indexes {
		if !slices.Contains(e.Indexes, name) {
			e.Indexes = append(e.Indexes, name)
		}
	}
}

// MakesDocuments reports whether the first stage makes documents, so that none are read.
func (p *Pipeline) MakesDocuments() bool {
	return len(p.steps) > 0 && Find(p.steps[0].name).IsFirst()
}

// PushedProject is a $project that a planner can run.
type PushedProject struct {
	Projection *projection.Projection
	Spec       bsonx.Doc
}

// SplitProject takes off a leading $project, for a planner to run after the query; nil if there is
// none, or where it computes and simple ones only are wanted.
func (p *Pipeline) SplitProject(simple bool) (*PushedProject, *Pipeline) {
	if len(p.steps) == 0 {
		return nil, p
	}
	s, ok := p.steps[0].Stage.(*project)
	if !ok || s.projection.IsAddition() {
		return nil, p
	}
	if computed, _ := s.projection.Computed(); simple && len(computed) > 0 {
		return nil, p
	}
	return p.pushFirst(s)
}

// SplitMeta takes off a leading $project or $addFields that reads metadata of the planner's
// results, for the planner to run; nil if there is none.
func (p *Pipeline) SplitMeta() (*PushedProject, *Pipeline) {
	if len(p.steps) == 0 {
		return nil, p
	}
	s, ok := p.steps[0].Stage.(*project)
	if !ok || !slices.ContainsFunc(s.projection.MetaKinds(), isPlanMeta) {
		return nil, p
	}
	return p.pushFirst(s)
}

func isPlanMeta(kind string) bool {
	return kind == "textScore" || kind == "sortKey" || kind == "indexKey" || kind == "recordId"
}

// pushFirst takes off the first stage, which is s.
func (p *Pipeline) pushFirst(s *project) (*PushedProject, *Pipeline) {
	e := expr.Serializer{Vars: p.opts.Vars, Now: p.opts.Now}
	return &PushedProject{s.projection, s.projection.Serialize(e)}, &Pipeline{steps: p.steps[1:], opts: p.opts}
}

// Meta implements MetaSource.
func (c *counted) Meta() *expr.Meta { return source.MetaOf(c.Source) }
