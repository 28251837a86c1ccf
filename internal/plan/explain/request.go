package explain

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Verbosity is the level of detail of an explain.
type Verbosity string

// The verbosities of the explain command.
const (
	QueryPlanner      Verbosity = "queryPlanner"
	ExecutionStats    Verbosity = "executionStats"
	AllPlansExecution Verbosity = "allPlansExecution"
)

// Command is the kind of command that is explained.
type Command int

// The commands that can be explained.
const (
	Find Command = iota
	Count
	Distinct
	Update
	Delete
	FindAndUpdate
	FindAndDelete
	// Matches is the input of a pipeline that only needs the number of matching documents.
	Matches
)

// Request says what explain must describe.
type Request struct {
	Query     *query.Query
	Command   Command
	Verbosity Verbosity
	// Field is the key of a distinct.
	Field string
	// Multi is true for updates and deletes of many documents.
	Multi bool
	// Upsert is true for an update that would insert a document if none matches.
	Upsert bool
	// Returns is true for a findAndModify that returns the document that it inserts.
	Returns bool
	// Fields is the projection of a findAndModify, which is only shown; empty means no projection.
	Fields bsonx.Doc
	// Try applies the update to a document without storing the result. It may be nil.
	Try func(ctx context.Context, doc bsonx.Doc) error
	// TryUpsert builds the document that an upsert would insert. It may be nil.
	TryUpsert func() error
	// Records returns the stored number of records, for Count; see Planner.Count.
	Records func() (int64, error)
	// WholePipeline says that the query is all of an aggregation's pipeline.
	WholePipeline bool
	// Consume reads the documents when the plan is run; nil reads all documents. It may stop before
	// the end. A document is borrowed until the next call of next. The documents of Matches are
	// empty.
	Consume func(ctx context.Context, next func(ctx context.Context) (bsonx.Doc, error)) error
}

// Explanation holds the parts of an explain reply, which the caller puts under queryPlanner and
// executionStats.
type Explanation struct {
	QueryPlanner bsonx.Doc
	// ExecutionStats is nil for the verbosity queryPlanner.
	ExecutionStats bsonx.Doc
}

// Writes reports whether the command writes.
func (r *Request) Writes() bool {
	return r.Command >= Update && r.Command != Matches
}
