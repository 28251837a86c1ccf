package read

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan/explain"
)

// ExplainOwn plans the stages of a command, runs them if the verbosity demands it, and describes
// plans and stages.
func (p *Pipelines) ExplainOwn(ctx context.Context, db, name string, own OwnStages,
	vars *expr.Vars,
) (*Explained, error) {
	rest, env, q, err := p.Compile(db, name, own, vars)
	if err != nil {
		return nil, err
	}
	rest = rest.Unabsorbed()
	if err := p.checkExplain(rest); err != nil {
		return nil, err
	}
	switch {
	case q == nil || rest.MakesDocuments():
		return p.explainWithoutQuery(ctx, rest.Explain(env, p.Engine.Clock), &source.EmptyDocs{})
	case IsVirtual(q.Coll):
		return p.explainWithoutQuery(ctx, rest.Explain(env, p.Engine.Clock), p.Engine.Virtual(q.Coll, p.local))
	}
	ask := &explain.Request{Query: q, Verbosity: p.Verbosity}
	switch pushed, left := rest.SplitProject(q.Skip > 0 || q.Limit > 0); {
	case pushed != nil:
		q.Projection, q.ProjectionSpec, rest = pushed.Projection, pushed.Spec, left
	case rest.OnlyCounts():
		if q.Filter != nil && q.Skip == 0 && q.Limit == 0 {
			ask.Command = explain.Matches
		}
	default:
		// MongoDB's plans always project to these fields. Here a plan does so only if it pays; the
		// projection changes only the output of explain.
		q.Projection, q.ProjectionSpec = rest.Needs()
		q.OptionalProjection = !q.Sort.IsEmpty()
	}
	return p.ExplainQuery(ctx, ask, rest.Explain(env, p.Engine.Clock),
		rest.IsEmpty() && p.depth == 0 && q.Located == nil)
}

// checkExplain fails if running the pipeline would write.
func (p *Pipelines) checkExplain(rest *pipeline.Pipeline) error {
	if !rest.Writes() {
		return nil
	}
	return p.CheckExplainWriter(rest.Stages()[len(rest.Stages())-1])
}

// CheckExplainWriter fails if the verbosity demands to run the writing stage last.
func (p *Pipelines) CheckExplainWriter(last string) error {
	if p.Verbosity == explain.QueryPlanner {
		return nil
	}
	return mongoerr.New(pipeline.Find(last).NotExplained, "%s cannot be explained with verbosity '%s': it would write", last, p.Verbosity)
}

// explainWithoutQuery explains a pipeline whose documents do not come from a plan.
func (p *Pipelines) explainWithoutQuery(ctx context.Context, x *pipeline.Explained,
	in source.Source,
) (*Explained, error) {
	if p.Verbosity != explain.QueryPlanner {
		src := x.Run(in)
		defer src.Close()
		if err := source.Drain(ctx, src, ignore); err != nil {
			return nil, err
		}
	}
	stages, err := x.Stages(ctx)
	return &Explained{Stages: stages}, err
}

// ExplainQuery explains a query and the stages that read its documents. whole says that the query
// is the whole command, without stages.
func (p *Pipelines) ExplainQuery(ctx context.Context, ask *explain.Request, x explainedStages,
	whole bool,
) (*Explained, error) {
	ask.WholePipeline = whole
	var src source.Source
	if !whole && p.Verbosity != explain.QueryPlanner {
		ask.Consume = func(ctx context.Context, next func(context.Context) (bsonx.Doc, error)) error {
			searched := source.EmptyDocs{Searched: ask.Query.Filter.HasText()}
			src = x.Run(&rowSource{searched, next})
			return source.Drain(ctx, src, ignore)
		}
	}
	defer func() {
		if src != nil {
			src.Close()
		}
	}()
	reader := p.Reader()
	defer reader.Close()
	query, err := p.Engine.Planner.Explain(ctx, ask, reader)
	if err != nil || whole {
		return &Explained{Query: query}, err
	}
	name := "$cursor"
	if ask.Query.Located != nil {
		name = "$geoNearCursor"
	}
	cursor := bsonx.NewDoc(name, bsonx.NewDoc("queryPlanner", query.QueryPlanner))
	if query.ExecutionStats != nil {
		n, millis := x.Read()
		both := bsonx.NewDoc("queryPlanner", query.QueryPlanner, "executionStats", query.ExecutionStats)
		cursor = bsonx.NewDoc(name, both, "nReturned", n, "executionTimeMillisEstimate", millis)
	}
	stages, err := x.Stages(ctx)
	return &Explained{Stages: slices.Insert(stages, 0, cursor)}, err
}

var _ pipeline.Explorer = (*Pipelines)(nil)

// Below implements pipeline.Explorer.
func (p *Pipelines) Below(db, name string, stages []bsonx.Value) []bsonx.Value {
	_, _, below, err := p.resolveView(db, name, stages)
	if err != nil {
		return stages
	}
	return below
}

// Explain implements pipeline.Explorer.
func (p *Pipelines) Explain(ctx context.Context, db, name string, stages []bsonx.Value,
	vars *expr.Vars,
) ([]bsonx.Doc, error) {
	inner := *p
	inner.depth++
	inner.hint = bsonx.Missing
	if inner.depth > limits.SubPipelineDepth {
		return nil, mongoerr.New(mongoerr.MaxSubPipelineDepthExceeded, "Maximum number of nested sub-pipelines exceeded. Limit is %d", limits.SubPipelineDepth)
	}
	answer, err := inner.ExplainOwn(ctx, db, name, OwnStages{List: stages}, vars)
	if err != nil {
		return nil, err
	}
	return answer.Stages, nil
}

// Observe implements pipeline.Explorer.
func (p *Pipelines) Observe(examined *source.Examined) source.Collections {
	inner := *p
	inner.examined = examined
	return &inner
}

// Explained is the explanation of a pipeline: Query if the pipeline is only a query, otherwise
// Stages.
type Explained struct {
	Query  *explain.Explanation
	Stages []bsonx.Doc
}

func ignore(bsonx.Doc) error { return nil }

// explainedStages are the stages over a query that is explained.
type explainedStages interface {
	// Run runs the stages over in and counts their work.
	Run(in source.Source) source.Source
	// Read returns the number of documents that the stages have read, and the time that took in
	// milliseconds.
	Read() (n, millis int64)
	// Stages describes the stages.
	Stages(ctx context.Context) ([]bsonx.Doc, error)
}

// rowSource yields the documents of a query that is explained.
type rowSource struct {
	source.EmptyDocs
	next func(ctx context.Context) (bsonx.Doc, error)
}

// Next implements source.Source.
func (s *rowSource) Next(ctx context.Context) (bsonx.Doc, error) { return s.next(ctx) }
