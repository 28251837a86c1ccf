package pipeline

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
)

// Source yields documents. It is used by one goroutine, and closed once.
type Source interface {
	// Next returns the next document, nil at the end; a document is valid until the following call of any method.
	Next(ctx context.Context) (bsonx.Doc, error)
	// Save lets go of what holds storage, as between two batches of a cursor; Restore takes it up again.
	Save()
	Restore(ctx context.Context) error
	// Close ends the source and those it reads.
	Close()
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

	// explain is the stage that is opened where the run is explained, else nil.
	explain *explainedStage
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

// of returns the environment of one stage.
func (e *Env) of(s step) *Env {
	if e == nil || len(e.Budgets) == 0 {
		return e
	}
	name := s.name
	switch s.stage.(type) {
	case *group:
		name = "$group"
	case *sort:
		name = "$sort"
	case *setWindowFields:
		name = "$setWindowFields"
	}
	n, ok := e.Budgets[name]
	if !ok || n == e.MemoryLimit {
		return e
	}
	own := *e
	own.MemoryLimit = n
	return &own
}

// input is what a source reads; embedded, it passes on what the source does not do itself.
type input struct{ src Source }

// Save implements Source.
func (i *input) Save() { i.src.Save() }

// Kept returns what the input keeps between two batches; see memory.KeptBy.
func (i *input) Kept() int64 { return memory.KeptBy(i.src) }

// Restore implements Source.
func (i *input) Restore(ctx context.Context) error { return i.src.Restore(ctx) }

// Close implements Source.
func (i *input) Close() { i.src.Close() }

// inMemory is embedded by sources that hold nothing but memory.
type inMemory struct{}

// Save implements Source.
func (inMemory) Save() {}

// Restore implements Source.
func (inMemory) Restore(context.Context) error { return nil }

// Close implements Source.
func (inMemory) Close() {}

// SliceSource yields documents that are in memory.
type SliceSource struct {
	inMemory
	Docs []bsonx.Doc
	next int
}

// Kept returns what the documents take that are left.
func (s *SliceSource) Kept() int64 { return bytesOf(s.Docs[s.next:]) }

// Next returns the next document.
func (s *SliceSource) Next(ctx context.Context) (bsonx.Doc, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.next >= len(s.Docs) {
		return nil, nil
	}
	s.next++
	return s.Docs[s.next-1], nil
}

// EmptyDocs yields N empty documents.
type EmptyDocs struct {
	inMemory
	N int64
	// Searched says that the documents stand for the results of a text search.
	Searched bool
}

// interruptInterval is how many documents pass between two looks at the context.
const interruptInterval = 1024

// Next returns the next document.
func (s *EmptyDocs) Next(ctx context.Context) (bsonx.Doc, error) {
	if s.N%interruptInterval == 0 && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.N == 0 {
		return nil, nil
	}
	s.N--
	return bsonx.Empty, nil
}

// Drain pulls a source to its end and calls f for each document.
func Drain(ctx context.Context, src Source, f func(bsonx.Doc) error) error {
	var meter interrupt.Meter
	for {
		doc, err := src.Next(ctx)
		if err != nil || doc == nil {
			return err
		}
		if err := meter.Passed(ctx, interrupt.Document+len(doc)); err != nil {
			return err
		}
		if err := f(doc); err != nil {
			return err
		}
	}
}

// facetLimit returns how large the document of a $facet may be.
func (e *Env) facetLimit() int {
	if e != nil {
		if n, ok := e.Budgets["$facet"]; ok {
			return n
		}
	}
	return limits.OperatorBytes
}
