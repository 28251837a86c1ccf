package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Explained is a pipeline prepared for explain. It describes the stages and, after Run, their
// execution statistics.
type Explained struct {
	pipeline *Pipeline
	env      *source.Env
	clock    clock.Clock
	stages   []*explainedStage
	in       *counted // the input of the pipeline; nil before Run
}

// Explorer is an optional interface of source.Collections that explain uses.
type Explorer interface {
	// Below returns the stages that run over the base collection when stages run over a collection
	// or view.
	Below(db, name string, stages []bsonx.Value) []bsonx.Value
	// Explain returns the explained form of a pipeline over a collection or view.
	Explain(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) ([]bsonx.Doc, error)
	// Observe returns Collections that record in examined what is read through them.
	Observe(examined *source.Examined) source.Collections
}

// HiddenRules lists the optimiser rules that change how stages run without changing the list of
// stages. A pipeline for explain is compiled without these rules, so that every stage has its own
// statistics.
const HiddenRules = parsing.RuleAbsorb | parsing.RuleNarrow | parsing.RuleParallel

// explainedStage is a stage with its execution statistics.
type explainedStage struct {
	step
	opened   source.Source // nil if the pipeline was not run
	in, out  *counted
	examined source.Examined
	inner    []*Explained // the sub-pipelines that the stage ran
}

// Explain prepares the pipeline for explain. The clock c times the stages; it is nil if the
// pipeline will not be run.
func (p *Pipeline) Explain(env *source.Env, c clock.Clock) *Explained {
	x := &Explained{pipeline: p, env: env, clock: c}
	for _, s := range p.steps {
		x.stages = append(x.stages, &explainedStage{step: s})
	}
	return x
}

// Run runs the pipeline like Pipeline.Run and counts the input and output of every stage. Stages
// that write, such as $out, write nothing.
func (x *Explained) Run(src source.Source) source.Source {
	in := &counted{Source: src, clock: x.clock}
	x.in = in
	for _, s := range x.stages {
		env := *x.env
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

// RunWithin implements source.Observer: it runs a sub-pipeline of the stage with statistics.
func (s *explainedStage) RunWithin(p source.Runner, src source.Source, env *source.Env) source.Source {
	x := explained(p, env, s.in.clock)
	s.inner = append(s.inner, x)
	return x.Run(src)
}

// explained prepares a sub-pipeline for explain. Every Runner is a *Pipeline; anything else is
// shown as an empty pipeline.
func explained(p source.Runner, env *source.Env, c clock.Clock) *Explained {
	inner, ok := p.(*Pipeline)
	if !ok {
		inner = &Pipeline{}
	}
	return inner.Explain(env, c)
}

// counted wraps a source and counts its documents, their bytes and the time spent in Next.
type counted struct {
	source.Source
	clock clock.Clock
	parsing.Counts
}

// Next implements source.Source.
func (c *counted) Next(ctx context.Context) (bsonx.Doc, error) {
	start := c.clock.Now()
	doc, err := c.Source.Next(ctx)
	c.Elapsed += c.clock.Now().Sub(start)
	if doc != nil && err == nil {
		c.Docs++
		c.Bytes += int64(len(doc))
	}
	return doc, err
}

// Read returns the number of documents that the pipeline read from its input, and the milliseconds
// spent reading.
func (x *Explained) Read() (n, millis int64) {
	if x.in == nil {
		return 0, 0
	}
	return x.in.Docs, x.in.Elapsed.Milliseconds()
}

// Stages returns the explained form of each stage, in order. Call it before closing the source that
// Run returned.
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

// inSort reports whether the stage at this position is a $limit that explain shows as part of an
// earlier $sort.
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

// forms returns a stage in the form in which explain shows it.
func (x *Explained) forms(ctx context.Context, s *explainedStage) ([]parsing.Form, error) {
	opts := &x.pipeline.opts
	return s.Explain(ctx, &parsing.Explaining{
		Serializer: expr.Serializer{Vars: opts.Vars, Now: opts.Now},
		Pipelines:  &explainer{x, s}, Name: s.name, Spec: s.spec,
	})
}

// withStats adds execution statistics to the explained form of a stage, if the pipeline was run.
// MongoDB shows some stages as several; only the first of these gets the statistics of the stage.
func (s *explainedStage) withStats(form parsing.Form, first bool) bsonx.Doc {
	if s.out == nil {
		return form.Doc
	}
	run := parsing.Run{Opened: s.opened, In: s.in.Counts, Out: s.out.Counts, Examined: s.examined}
	if form.Returned != 0 {
		run.Out.Docs = form.Returned
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Fields(form.Doc)
	if measured, ok := s.Stage.(parsing.Measured); ok && first {
		measured.Figures(b, &run)
	} else {
		run.Out.Append(b)
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

// MakesDocuments reports whether the first stage produces its documents itself, such as $documents,
// $collStats or $geoNear.
func (p *Pipeline) MakesDocuments() bool {
	return len(p.steps) > 0 && Find(p.steps[0].name).IsFirst()
}

// Meta implements source.MetaSource.
func (c *counted) Meta() *expr.Meta { return source.MetaOf(c.Source) }

// explainer explains the pipelines inside a stage.
type explainer struct {
	x *Explained
	s *explainedStage
}

// collections returns the collections as an Explorer, or nil if they do not implement it.
func (e *explainer) collections() Explorer {
	if e.x.env == nil {
		return nil
	}
	c, _ := e.x.env.Collections.(Explorer)
	return c
}

// Sub implements parsing.Pipelines.
func (e *explainer) Sub(ctx context.Context, stages []bsonx.Value, db string, vars *expr.Vars) ([]bsonx.Doc, error) {
	p, err := Parse(bsonx.ValueOf(stages),
		parsing.Options{Vars: vars, Now: e.x.pipeline.opts.Now, DB: db, Disable: HiddenRules})
	if err != nil {
		return nil, err
	}
	return p.Explain(e.x.env, e.x.clock).Stages(ctx)
}

// Over implements parsing.Pipelines.
func (e *explainer) Over(ctx context.Context, db, coll string, stages []bsonx.Value,
	vars *expr.Vars,
) ([]bsonx.Doc, error) {
	if c := e.collections(); c != nil && coll != "" {
		return c.Explain(ctx, db, coll, stages, vars)
	}
	return e.Sub(ctx, stages, db, vars)
}

// Below implements parsing.Pipelines.
func (e *explainer) Below(db, coll string, stages []bsonx.Value) []bsonx.Value {
	if c := e.collections(); c != nil {
		return c.Below(db, coll, stages)
	}
	return stages
}

// Inner implements parsing.Pipelines.
func (e *explainer) Inner(ctx context.Context, i int, p source.Runner) ([]bsonx.Doc, *parsing.Counts, error) {
	if i >= len(e.s.inner) {
		docs, err := explained(p, e.x.env, e.x.clock).Stages(ctx)
		return docs, nil, err
	}
	inner := e.s.inner[i]
	docs, err := inner.Stages(ctx)
	return docs, &inner.in.Counts, err
}
