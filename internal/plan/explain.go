package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
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
	ExplainFind Command = iota
	ExplainCount
	ExplainDistinct
	ExplainUpdate
	ExplainDelete
	ExplainFindAndUpdate
	ExplainFindAndDelete
)

// ExplainRequest is what explain wants to know.
type ExplainRequest struct {
	Query     *Query
	Command   Command
	Verbosity Verbosity
	// Field is the key of distinct.
	Field string
	// Multi tells updates and deletes of many documents from those of one.
	Multi bool
	// Upsert is true for an update that would insert where nothing matches.
	Upsert bool
	// Records is the record count for ExplainCount; see Planner.Count.
	Records Counter
}

// Explanation holds the parts of an explain reply: the caller puts them under queryPlanner and executionStats.
type Explanation struct {
	QueryPlanner bsonx.Doc
	// ExecutionStats is nil for the verbosity queryPlanner.
	ExecutionStats bsonx.Doc
}

// Explain plans a query, runs it where the verbosity asks for it, and describes both. It changes nothing.
func (p *Planner) Explain(ctx context.Context, req *ExplainRequest, r storage.Reader) (*Explanation, error) {
	return p.explain(ctx, req, r)
}
