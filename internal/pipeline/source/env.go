package source

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Diagnostics provides the documents of the stages that report on the server. Each method returns
// the documents of the stage of its name for the collection that the pipeline runs on. arg is the
// validated argument of the stage.
type Diagnostics interface {
	CollStats(ctx context.Context, arg bsonx.Doc) ([]bsonx.Doc, error)
	CurrentOp(ctx context.Context, arg bsonx.Doc) ([]bsonx.Doc, error)
	IndexStats(ctx context.Context, arg bsonx.Doc) ([]bsonx.Doc, error)
	ListLocalSessions(ctx context.Context, arg bsonx.Doc) ([]bsonx.Doc, error)
	ListSessions(ctx context.Context, arg bsonx.Doc) ([]bsonx.Doc, error)
	PlanCacheStats(ctx context.Context, arg bsonx.Doc) ([]bsonx.Doc, error)
}

// Open runs stages over a collection or view. With an empty name the first stage generates the
// documents. It fails if the environment has no collections.
func (e *Env) Open(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) (Source, error) {
	if e == nil || e.Collections == nil {
		return nil, mongoerr.New(mongoerr.InternalError, "no collections can be read here")
	}
	return e.Collections.Open(ctx, db, name, stages, vars.WithFailures(nil))
}

// Writer performs the writes of $out and $merge. Both methods read src to its end and do not close
// it.
type Writer interface {
	// Out replaces the contents of the target collection with the documents of src.
	Out(ctx context.Context, target *Out, src Source) error
	// Merge merges the documents of src into the target collection.
	Merge(ctx context.Context, target *Merge, src Source) error
}

// Out describes the target of $out.
type Out struct {
	DB, Coll string
	// Timeseries contains the options of a time-series target. It is nil if the client gave none.
	Timeseries bsonx.Doc
}

// Merge describes the target and the modes of $merge.
type Merge struct {
	DB, Coll string
	// On lists the fields that identify the document to merge with; nil means _id.
	On []string
	// WhenMatched is replace, keepExisting, merge, fail or pipeline.
	WhenMatched string
	// Stages is the pipeline if WhenMatched is pipeline.
	Stages bsonx.Value
	// WhenNotMatched is insert, discard or fail.
	WhenNotMatched string
	// Vars returns the variables for the pipeline that merges doc: the let variables of the stage,
	// and doc as $$new.
	Vars func(doc bsonx.Doc) (*expr.Vars, error)
}

// Runner is a compiled sub-pipeline of a stage.
type Runner interface {
	Run(src Source, env *Env) Source
}

// Observer records what a stage does in a run that is explained.
type Observer interface {
	// RunWithin runs a sub-pipeline of the stage and records its statistics.
	RunWithin(p Runner, src Source, env *Env) Source
}

// Env contains the resources that the stages of one run need from the server.
type Env struct {
	// Collections opens other collections. It is nil if the pipeline may not read any.
	Collections Collections
	// Writer performs the writes of $out and $merge. It is nil if the pipeline may not write.
	Writer Writer
	// Diagnostics provides the documents of $collStats and similar stages; if nil, these stages
	// yield nothing.
	Diagnostics Diagnostics
	// MemoryLimit is the number of bytes that one stage may keep in memory; 0 means
	// limits.OperatorBytes.
	MemoryLimit int
	// Budgets overrides MemoryLimit for some stages, by Budget.Param.
	Budgets map[string]int
	// Memory is the memory budget that all requests of the server share; nil means no limit.
	Memory *memory.Budget
	// AllowDiskUse lets stages that reach their limit write temporary files to TempDir.
	AllowDiskUse bool
	// TempDir is the directory for temporary files. If it is empty, the operating system's is used.
	TempDir string

	// Sorts is called when a stage begins to sort. It may be nil.
	Sorts func(ctx context.Context)

	// Observer records what the opened stage does. It is nil unless the run is explained.
	Observer Observer
}

// Run runs a sub-pipeline of a stage. In a run that is explained, the Observer records its
// statistics.
func (e *Env) Run(p Runner, src Source) Source {
	if e == nil || e.Observer == nil {
		return p.Run(src, e)
	}
	return e.Observer.RunWithin(p, src, e)
}

// Collections gives stages access to other collections.
type Collections interface {
	// Open runs stages over a collection or view, which need not exist, with the variables vars.
	//
	// With an empty name there is no collection: the first stage generates the documents.
	Open(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) (Source, error)
	// Indexed reports whether the collection or view has an index that finds documents by the
	// values at path. With scalars true, the searched values do not include null, documents, arrays
	// and regular expressions, which some indexes cannot find.
	Indexed(db, name, path string, scalars bool) bool
}
