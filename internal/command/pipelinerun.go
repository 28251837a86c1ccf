package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/session"
)

// ownStages are the stages of a command. Those of an aggregate command were compiled when it was
// checked, as they stand; of other commands, and where a view or a time series adds stages before
// them, compiled is nothing.
type ownStages struct {
	list     []bsonx.Value
	compiled *pipeline.Pipeline
}

// cursorFields are the fields of a command's cursor option.
var cursorFields = []Field{{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)}}

func (s scope) parsePipeline(db string, stages bsonx.Value, top pipeline.Top) (*pipeline.Pipeline, error) {
	return pipeline.Parse(stages, s.pipelineOptions(db, top))
}

func (s scope) pipelineOptions(db string, top pipeline.Top) pipeline.Options {
	return pipeline.Options{Vars: s.vars, Now: s.now, DB: db, Top: top, Collation: s.collation}
}

func elements(v bsonx.Value) []bsonx.Value { return v.Doc().Values() }

// noCollection is the name in the namespace of a cursor over no collection.
const noCollection = "$cmd.aggregate"

// runStages runs stages over a collection or view, or over none, and answers with a cursor.
func (r *Request) runStages(ctx context.Context, sc scope, name string, own ownStages, size int64, reply *bsonx.Builder) error {
	src, err := r.openStages(ctx, sc, name, own)
	if err != nil {
		return err
	}
	if name == "" {
		name = noCollection
	}
	r.Op.SetPlan(src.plan, nil)
	r.Op.Debug.PlanSummary = src.plan
	b := batch{
		req: r, field: "firstBatch", during: duringAggregate, size: size, single: r.Bool("singleBatch"), source: src,
		cursor: &session.Cursor{Source: src, DB: r.DB, Collection: name, Owner: r.Owner(), Plan: src.plan},
	}
	return b.first(ctx, reply)
}

// openStages opens stages over a collection or view.
func (r *Request) openStages(ctx context.Context, sc scope, name string, own ownStages) (*stageSource, error) {
	return r.pipelines(sc).open(ctx, r.DB, name, own, sc.vars)
}

// defaultFirstBatch is how many documents the first batch has where the command does not say.
const defaultFirstBatch = 101
