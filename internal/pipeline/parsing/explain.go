package parsing

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Explaining helps a stage to show itself in explain.
type Explaining struct {
	expr.Serializer
	Pipelines
	// Name and Spec are the name and the argument that the client wrote. Several stages that one
	// definition compiles into have the same.
	Name string
	Spec bsonx.Value
}

// AsWritten returns the form of a stage that explain shows as the client wrote it.
func (x *Explaining) AsWritten() []Form { return Forms(bsonx.NewDoc(x.Name, x.Spec)) }

// Form is the explained form of a stage, or of a part of it.
type Form struct {
	Doc bsonx.Doc
	// Returned is the number of documents that explain shows. 0 means the number of documents that
	// the stage returned.
	Returned int64
}

// Forms returns a form for each document.
func Forms(docs ...bsonx.Doc) []Form {
	forms := make([]Form, len(docs))
	for i, doc := range docs {
		forms[i].Doc = doc
	}
	return forms
}

// Pipelines explains the pipelines inside a stage.
type Pipelines interface {
	// Sub returns the explained form of stages that run over another database, without running
	// them.
	Sub(ctx context.Context, stages []bsonx.Value, db string, vars *expr.Vars) ([]bsonx.Doc, error)
	// Over returns the explained form of a pipeline over a collection or view. It does the
	// same as Sub if the collections cannot be explained.
	Over(ctx context.Context, db, coll string, stages []bsonx.Value, vars *expr.Vars) ([]bsonx.Doc, error)
	// Below returns the stages that run over the base collection when stages run over a collection
	// or view.
	Below(db, coll string, stages []bsonx.Value) []bsonx.Value
	// Inner returns the explained form of p, sub-pipeline i of the stage. If the pipeline was run,
	// counts describes the documents that p read; otherwise it is nil.
	Inner(ctx context.Context, i int, p source.Runner) (docs []bsonx.Doc, counts *Counts, err error)
}

// Measured is a Stage that shows more statistics in explain than the counts.
type Measured interface {
	Stage
	// Figures writes the statistics of a run, with its counts (Counts.Append) in their place.
	Figures(b *bsonx.Builder, run *Run)
}

// Run describes a run of a stage that is explained.
type Run struct {
	Opened   source.Source // the source that Open returned
	In, Out  Counts
	Examined source.Examined // what the stage read in other collections
}

// Counts are the documents that were read from a source.
type Counts struct {
	Docs, Bytes int64
	Elapsed     time.Duration // the time spent in Next
}

// Append writes the statistics that every stage has.
func (c *Counts) Append(b *bsonx.Builder) {
	b.Int64("nReturned", c.Docs)
	b.Int64("executionTimeMillisEstimate", c.Elapsed.Milliseconds())
}

// AppendSpilled writes the number of runs that a stage wrote to disk, and their size in bytes.
func AppendSpilled(b *bsonx.Builder, runs int, size int64) {
	b.Bool("usedDisk", runs > 0)
	b.Int64("spills", int64(runs))
	b.Int64("spilledDataStorageSize", size)
	b.Int64("numBytesSpilledEstimate", size)
}
