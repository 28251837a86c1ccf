package source

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Diagnostics is what the server tells of itself to stages such as $collStats.
type Diagnostics interface {
	// Report returns the documents of a stage with that argument, which has been checked, for the collection that the
	// pipeline runs on.
	Report(ctx context.Context, stage string, arg bsonx.Doc) ([]bsonx.Doc, error)
}

// Open opens a collection or view, or a pipeline that needs none where name is empty.
func (e *Env) Open(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) (Source, error) {
	if e == nil || e.Collections == nil {
		return nil, mongoerr.New(mongoerr.InternalError, "no collections can be read here")
	}
	return e.Collections.Open(ctx, db, name, stages, vars.WithFailures(nil))
}

// Writer is what $out and $merge write with. Both read src to its end and do not close it.
type Writer interface {
	// Out replaces a collection by what src yields.
	Out(ctx context.Context, target *Out, src Source) error
	// Merge puts what src yields into a collection.
	Merge(ctx context.Context, target *Merge, src Source) error
}

// Out is the target of $out.
type Out struct {
	DB, Coll string
	// Timeseries are the options of a time-series target; nil where they are not given.
	Timeseries bsonx.Doc
}

// Merge is the target of $merge.
type Merge struct {
	DB, Coll string
	// On are the fields that say which document is replaced; nil for _id.
	On []string
	// WhenMatched is replace, keepExisting, merge, fail or pipeline, and Stages are the pipeline.
	WhenMatched string
	Stages      bsonx.Value
	// WhenNotMatched is insert, discard or fail.
	WhenNotMatched string
	// Vars returns the scope of the pipeline for one document: the variables of the stage, and the
	// document as $$new.
	Vars func(doc bsonx.Doc) (*expr.Vars, error)
}

// Runner is a pipeline that a stage runs.
type Runner interface {
	Run(src Source, env *Env) Source
}

// Observer notes what a stage does whose run is explained.
type Observer interface {
	// RunWithin runs a pipeline of the stage, and notes what it does.
	RunWithin(p Runner, src Source, env *Env) Source
}

// Env is what the stages of one run need from outside.
type Env struct {
	// Collections opens other collections; nil where a pipeline may not read any.
	Collections Collections
	// Writer writes what $out and $merge get; nil where a pipeline may not write.
	Writer Writer
	// Diagnostics is where $collStats and its like get their documents; nil gives none.
	Diagnostics Diagnostics
	// MemoryLimit bounds what one stage keeps in memory; 0 means limits.OperatorBytes.
	MemoryLimit int
	// Budgets are other limits for some stages, by name. $sort and $group count for what is made of them too.
	Budgets map[string]int
	// Memory is what all requests of the server hold together; nil where nobody counts.
	Memory *memory.Budget
	// AllowDiskUse lets stages that reach the limit write to temporary files in TempDir, the system's where empty.
	AllowDiskUse bool
	TempDir      string

	// Sorts, where not nil, is called when a stage sorts in memory.
	Sorts func(ctx context.Context)

	// Observer notes what the stage does that is opened; nil where the run is not explained.
	Observer Observer
}

// For returns the environment of the stages that have a limit of that name.
func (e *Env) For(name string) *Env {
	if e == nil || len(e.Budgets) == 0 {
		return e
	}
	n, ok := e.Budgets[name]
	if !ok || n == e.MemoryLimit {
		return e
	}
	own := *e
	own.MemoryLimit = n
	return &own
}

// Run runs a pipeline within a stage.
func (e *Env) Run(p Runner, src Source) Source {
	if e == nil || e.Observer == nil {
		return p.Run(src, e)
	}
	return e.Observer.RunWithin(p, src, e)
}

// Collections is what stages ask of the server.
type Collections interface {
	// Open runs stages over a collection or view, which need not exist, with the variables of a scope.
	//
	// An empty name stands for no collection: the first stage makes the documents.
	Open(ctx context.Context, db, name string, stages []bsonx.Value, vars *expr.Vars) (Source, error)
	// Indexed reports whether an index finds the documents of a collection or view by the values of
	// a field. scalars says that the values are no null, document, array or regular expression,
	// which some indexes do not find.
	Indexed(db, name, path string, scalars bool) bool
}
