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

// Engine holds the state that all reads of a server share. It is safe for concurrent use. Its
// exported fields are set before the first read.
type Engine struct {
	Store   *table.Store
	Planner *plan.Planner
	Clock   clock.Clock
	Memory  *memory.Budget
	// TempDir is the directory of the files that pipelines spill to.
	TempDir string
	// NoScripting refuses JavaScript.
	NoScripting bool
	// Order gives expressions their cluster time. It is nil for a standalone server, which does not
	// have a cluster time.
	Order *storage.Order

	// Budgets, Snapshots, Operators and Collations are shared by all reads.
	Budgets    Budgets
	Snapshots  Snapshots
	Operators  OperatorCounts
	Collations collation.Cache

	// Virtual returns the documents of a virtual collection, for a client that is connected to the
	// server at the address local.
	Virtual func(c *table.Collection, local string) source.Source
	// Diagnostics returns the source of the reports of stages such as $collStats.
	Diagnostics func(on Subject) source.Diagnostics
	// DisabledRules returns the rules of the optimizer that are switched off.
	DisabledRules func() parsing.Rule
	// ImageExpired reports whether a pre-image of the given time is too old to be shown.
	ImageExpired func(kept time.Time) bool
}

// Init initialises the registry of snapshots and the counters. It must be called before the first
// read.
func (e *Engine) Init() {
	e.Snapshots.init()
	e.Operators.init()
}

// Subject tells stages that describe the server, such as $collStats, for which client and
// collection they report.
type Subject struct {
	// Local is the server's address that the client is connected to.
	Local string
	Now   time.Time
	// User is the digest of the client's user.
	User [32]byte
	// DB and Name are the pipeline's collection. Name is empty if the pipeline has no collection.
	DB, Name string
}
