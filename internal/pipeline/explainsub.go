package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

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
