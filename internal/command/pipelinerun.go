package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/session"
)

// OwnStages are the stages of a command. Those of an aggregate command were compiled when it was
// checked, as they stand; of other commands, and where a view or a time series adds stages before
// them, compiled is nothing.
type OwnStages struct {
	List     []bsonx.Value
	Compiled *pipeline.Pipeline
}

// CursorFields are the fields of a command's cursor option.
var CursorFields = []Field{{Name: "batchSize", Type: SafeInt, Check: AtLeast(0)}}

func (s Scope) parsePipeline(db string, stages bsonx.Value, top pipeline.Top) (*pipeline.Pipeline, error) {
	return pipeline.Parse(stages, s.PipelineOptions(db, top))
}

// PipelineOptions returns the options for compiling a pipeline of a database.
func (s Scope) PipelineOptions(db string, top pipeline.Top) pipeline.Options {
	return pipeline.Options{Vars: s.Vars, Now: s.Now, DB: db, Top: top, Collation: s.Collation}
}

// Elements returns the elements of an array.
func Elements(v bsonx.Value) []bsonx.Value { return v.Doc().Values() }

// NoCollection is the name in the namespace of a cursor over no collection.
const NoCollection = "$cmd.aggregate"

// RunStages runs stages over a collection or view, or over none, and answers with a cursor.
func (r *Request) RunStages(ctx context.Context, sc Scope, name string, own OwnStages, size int64, reply *bsonx.Builder) error {
	src, err := r.OpenStages(ctx, sc, name, own)
	if err != nil {
		return err
	}
	if name == "" {
		name = NoCollection
	}
	r.Op.SetPlan(src.plan, nil)
	r.Op.Debug.PlanSummary = src.plan
	b := Batch{
		Req: r, Field: "firstBatch", During: DuringAggregate, Size: size, Single: r.Bool("singleBatch"), Source: src,
		Cursor: &session.Cursor{Source: src, DB: r.DB, Collection: name, Owner: r.Owner(), Plan: src.plan},
	}
	return b.First(ctx, reply)
}

// OpenStages opens stages over a collection or view.
func (r *Request) OpenStages(ctx context.Context, sc Scope, name string, own OwnStages) (*StageSource, error) {
	return r.Pipelines(sc).open(ctx, r.DB, name, own, sc.Vars)
}

// DefaultFirstBatch is how many documents the first batch has where the command does not say.
const DefaultFirstBatch = 101
