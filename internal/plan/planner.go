package plan

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/plan/cache"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Options configure a Planner.
type Options struct {
	// TempDir is where sorts spill; the system's default where empty.
	TempDir string
	// SortMemory is the budget of one blocking sort; limits.OperatorBytes where zero.
	SortMemory int
	// Memory is what all requests of the server hold together; nil where nobody counts.
	Memory *memory.Budget
	// Clock measures what explain reports; the system's where nil.
	Clock clock.Clock
	// Processors is how many goroutines scans may keep busy at once beyond one for each query;
	// GOMAXPROCS where zero.
	Processors int
	// CacheSize bounds the plan cache of all collections; DefaultCacheSize where zero.
	CacheSize int
}

// Planner plans queries. One Planner serves all collections of a store; it is safe for concurrent
// use.
type Planner struct {
	opts       Options
	sortMemory atomic.Int64
	noScans    atomic.Bool
	// collatedRegex is what SetCollatedRegex set.
	collatedRegex atomic.Bool
	cache         *cache.Cache
	processors    *exec.Processors
	catalog       indexinfo.Cache
}

// New returns a planner with an empty cache.
func New(opts Options) *Planner {
	if opts.SortMemory == 0 {
		opts.SortMemory = limits.OperatorBytes
	}
	if opts.CacheSize == 0 {
		opts.CacheSize = cache.DefaultSize
	}
	if opts.Clock == nil {
		opts.Clock = clock.System{}
	}
	if opts.Processors == 0 {
		opts.Processors = runtime.GOMAXPROCS(0)
	}
	p := &Planner{opts: opts, cache: cache.New(opts.CacheSize), processors: exec.NewProcessors(opts.Processors)}
	p.SetSortMemory(opts.SortMemory)
	return p
}

// SetSortMemory changes the budget of a blocking sort, for queries that are planned from now on.
func (p *Planner) SetSortMemory(bytes int) { p.sortMemory.Store(int64(bytes)) }

// RefuseTableScans makes queries fail that only a scan of the whole collection could answer: the
// parameter notablescan. Queries without a predicate, and those of system collections, are
// excepted.
func (p *Planner) RefuseTableScans(on bool) { p.noScans.Store(on) }

// SetCollatedRegex decides whether a regular expression may use an index with a collation. It
// then reads all strings of the index, because it compares without a collation. The parameter
// internalQueryPlannerIgnoreIndexWithCollationForRegex is the opposite.
func (p *Planner) SetCollatedRegex(on bool) { p.collatedRegex.Store(on) }

// Find plans a find. The Execution yields final documents: sorted, skipped, limited and projected.
// The reader stays the caller's; it is used until the Execution is saved or closed.
func (p *Planner) Find(ctx context.Context, q *query.Query, r storage.Reader) (*Execution, error) {
	run, err := p.open(ctx, q, r, canonical.Find)
	if err == nil {
		run.processors = p.processors
		announce(ctx, run)
	}
	return run, err
}

// Targets plans the documents that an update, delete or findAndModify works on. The Execution
// yields whole documents with their record keys; the projection is ignored. Between planning and
// writing a document may change: the writer locks the record and asks the filter again.
func (p *Planner) Targets(ctx context.Context, q *query.Query, r storage.Reader) (*Execution, error) {
	run, err := p.open(ctx, q, r, canonical.Targets)
	if err == nil {
		announce(ctx, run)
	}
	return run, err
}

// Counter tells how many records a collection has without a scan; nil where that is not known, as
// inside a transaction.
type Counter func() (int64, error)

// Count returns how many documents match, after Skip and up to Limit. Without a filter it asks
// records, if not nil.
func (p *Planner) Count(ctx context.Context, q *query.Query, r storage.Reader, records Counter) (int64, error) {
	return p.count(ctx, q, r, records)
}

// Distinct returns the distinct values of a field among the matching documents as a BSON array.
// Values of arrays count one by one.
func (p *Planner) Distinct(ctx context.Context, q *query.Query, field string, r storage.Reader) (bsonx.Value, error) {
	return p.distinct(ctx, q, field, r)
}

// ClearCache forgets the cached plans of a collection (planCacheClear).
func (p *Planner) ClearCache(collectionID uint32) { p.cache.Clear(collectionID) }

// ClearShape forgets the cached plans of the queries of q's shape, whatever command they are of.
func (p *Planner) ClearShape(q *query.Query) error {
	shape, err := canonical.ShapeOf(q)
	if err == nil {
		p.cache.ClearShape(q.Coll.ID, shape, byte(canonical.Distinct))
	}
	return err
}

// CachedPlans lists what the plan cache holds of a collection ($planCacheStats).
func (p *Planner) CachedPlans(collectionID uint32) []cache.Entry { return p.cache.List(collectionID) }
