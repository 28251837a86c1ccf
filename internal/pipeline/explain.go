package pipeline

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Explained is a pipeline that is explained: it describes its stages, and what they did where it was run.
type Explained struct {
	pipeline *Pipeline
	env      *Env
	clock    clock.Clock
	stages   []*explainedStage
}

// Explorer is what explain asks of Collections besides.
type Explorer interface {
	// Below returns the stages that a pipeline over a collection or view runs over the collection below all views.
	Below(db, name string, stages []bsonx.Value) []bsonx.Value
	// Explain explains stages over a collection or view.
	Explain(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) ([]bsonx.Doc, error)
	// Observe returns Collections that note what is read through them.
	Observe(examined *Examined) Collections
}

// Examined is what was read of other collections.
type Examined struct {
	Docs, Keys, Scans int64
	// Indexes are the names of the indexes that were used, each once.
	Indexes []string
}

// explainedStage is a stage, or several that MongoDB shows as one.
type explainedStage struct {
	step
	unwind   *unwind // the stage behind a $lookup that takes its array apart
	opened   Source  // nil where nothing was run
	in, out  *counted
	examined Examined
	inner    []*Explained // pipelines within the stage, as they were run
}

// Explain returns the pipeline to be explained. The clock times the stages; nil where the pipeline is not run.
func (p *Pipeline) Explain(env *Env, c clock.Clock) *Explained {
	x := &Explained{pipeline: p, env: env, clock: c}
	for i := 0; i < len(p.steps); i++ {
		s := &explainedStage{step: p.steps[i]}
		if l, ok := s.stage.(*lookup); ok && i+1 < len(p.steps) {
			if u, ok := p.steps[i+1].stage.(*unwind); ok && joinPath(u.path) == joinPath(l.as) {
				s.unwind = u
				i++
			}
		}
		x.stages = append(x.stages, s)
	}
	return x
}

// Run is Pipeline.Run with every stage counted. Stages that write write nothing.
func (x *Explained) Run(src Source) Source {
	in := &counted{Source: src, clock: x.clock}
	for _, s := range x.stages {
		env := *x.env
		env.explain = s
		if e, ok := env.Collections.(Explorer); ok {
			env.Collections = e.Observe(&s.examined)
		}
		s.in = in
		s.opened = s.open(in, &env)
		out := s.opened
		if s.unwind != nil {
			out = s.unwind.open(out, &env)
		}
		s.out = &counted{Source: out, clock: x.clock}
		in = s.out
	}
	return in
}

// run runs a pipeline within a stage.
func (e *Env) run(p *Pipeline, src Source) Source {
	if e == nil || e.explain == nil {
		return p.Run(src, e)
	}
	x := p.Explain(e, e.explain.in.clock)
	e.explain.inner = append(e.explain.inner, x)
	return x.Run(src)
}

// counted counts what a source yields, and how long it takes.
type counted struct {
	Source
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

// Stages describes the stages in order. It is asked before the source of Run is closed.
func (x *Explained) Stages(ctx context.Context) ([]bsonx.Doc, error) {
	docs := []bsonx.Doc{}
	for _, s := range x.stages {
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

// withStats adds to a stage what it did, if it was run. A stage that MongoDB shows as several has its own figures in the
// first of them.
func (s *explainedStage) withStats(form bsonx.Doc, first bool) bsonx.Doc {
	if s.out == nil {
		return form
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Fields(form)
	_, isSort := s.stage.(*sort)
	if isSort {
		s.figures(b)
	}
	b.Int64("nReturned", s.out.n)
	b.Int64("executionTimeMillisEstimate", s.out.elapsed.Milliseconds())
	if first && !isSort {
		s.figures(b)
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

// figures writes what only stages of that kind count.
func (s *explainedStage) figures(b *bsonx.Builder) {
	switch src := s.opened.(type) {
	case *groupSource:
		b.StartDocField("maxAccumulatorMemoryUsageBytes")
		for i, name := range src.group.names {
			b.Int64(name, src.memory.of(i))
		}
		b.End()
		b.Int64("totalOutputDataSizeBytes", s.out.bytes)
		spillFigures(b, src.spill)
	case *sortingSource:
		if _, sorts := s.stage.(*sort); !sorts {
			return
		}
		b.Int64("totalDataSizeSortedBytesEstimate", s.in.bytes+s.in.n*sorterEntryBytes)
		var spilled *spill
		if src.sorter != nil {
			spilled = src.sorter.spill
		}
		spillFigures(b, spilled)
	case *lookupSource:
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

// spillFigures writes what went to the disk.
func spillFigures(b *bsonx.Builder, s *spill) {
	var runs, bytes int64
	if s.used() {
		runs, bytes = int64(len(s.starts)), s.size
	}
	b.Bool("usedDisk", runs > 0)
	b.Int64("spills", runs)
	b.Int64("spilledDataStorageSize", bytes)
	b.Int64("numBytesSpilledEstimate", bytes)
}

// memoryUse is the most that each accumulator of a $group took, of all groups together; nil where nobody asks.
type memoryUse struct{ most []int64 }

func (m *memoryUse) of(i int) int64 {
	if m == nil || i >= len(m.most) {
		return 0
	}
	return m.most[i]
}

// note adds up what the accumulators of the groups take at this moment.
func (m *memoryUse) note(groups []*groupEntry) {
	if m == nil {
		return
	}
	var sums []int64
	for _, g := range groups {
		if g == nil {
			continue
		}
		if sums == nil {
			sums = make([]int64, len(g.values))
		}
		for i, acc := range g.values {
			sums[i] += int64(acc.Bytes())
		}
	}
	for i, n := range sums {
		if i == len(m.most) {
			m.most = append(m.most, 0)
		}
		m.most[i] = max(m.most[i], n)
	}
}
