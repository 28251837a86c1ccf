package read

import (
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Engine is what the reads of a server share. It is safe for concurrent use; its exported fields
// are set before the first read.
type Engine struct {
	Store   *table.Store
	Planner *plan.Planner
	Clock   clock.Clock
	Memory  *memory.Budget
	// TempDir is where pipelines spill.
	TempDir string
	// NoScripting refuses JavaScript.
	NoScripting bool
	// Order gives expressions their cluster time; nil for a standalone server, which has none.
	Order *storage.Order

	// Budgets, Snapshots, Operators and Collations are shared by all reads.
	Budgets    Budgets
	Snapshots  Snapshots
	Operators  OperatorCounts
	Collations collation.Cache

	// Virtual returns the documents of a virtual collection for a client that reaches the server at
	// the address local.
	Virtual func(c *table.Collection, local string) source.Source
	// Diagnostics returns what stages such as $collStats report.
	Diagnostics func(on Subject) source.Diagnostics
	// DisabledRules returns the rules of the optimizer that are switched off.
	DisabledRules func() parsing.Rule
	// ImageExpired reports whether a pre-image of the given time is too old to be shown.
	ImageExpired func(kept time.Time) bool
}

// Init readies the engine for reads.
func (e *Engine) Init() {
	e.Snapshots.init()
	e.Operators.init()
}

// Subject is what the stages of a pipeline that describe the server report on.
type Subject struct {
	// Local is the address at which the client reaches the server.
	Local string
	Now   time.Time
	// User is the digest of the user that asks.
	User [32]byte
	// DB and Name are the pipeline's collection; Name is empty if there is none.
	DB, Name string
}
