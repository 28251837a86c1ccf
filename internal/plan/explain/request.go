package explain

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Verbosity is how much explain tells.
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
	// Matches is the input of a pipeline that asks only how many documents match.
	Matches
)

// Request is what explain wants to know.
type Request struct {
	Query     *query.Query
	Command   Command
	Verbosity Verbosity
	// Field is the key of distinct.
	Field string
	// Multi tells updates and deletes of many documents from those of one.
	Multi bool
	// Upsert is true for an update that would insert where nothing matches.
	Upsert bool
	// Returns is true for a findAndModify that answers with the document that it inserts.
	Returns bool
	// Fields is the projection of a findAndModify, which is not run; empty for none.
	Fields bsonx.Doc
	// Try applies the update to a document without storing the result. It may be nil.
	Try func(ctx context.Context, doc bsonx.Doc) error
	// TryUpsert builds the document that an upsert would insert. It may be nil.
	TryUpsert func() error
	// Records is the record count for Count; see Planner.Count.
	Records func() (int64, error)
	// WholePipeline says that the query is all of an aggregation's pipeline.
	WholePipeline bool
	// Consume reads the documents where the plan is run; nil reads all. It may stop before the end.
	// A document is borrowed until the following one; the documents of Matches are empty.
	Consume func(ctx context.Context, next func(ctx context.Context) (bsonx.Doc, error)) error
}

// Explanation holds the parts of an explain reply: the caller puts them under queryPlanner and
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
