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
	// TempDir is the directory of the files that sorts spill to. Empty means the system's default.
	TempDir string
	// SortMemory is the memory limit of one blocking sort in bytes; 0 means limits.OperatorBytes.
	SortMemory int
	// Memory is the memory budget of the whole server, which all requests share. nil means that
	// memory is not accounted.
	Memory *memory.Budget
	// Clock measures the times that explain reports; nil means the system's clock.
	Clock clock.Clock
	// Processors is the number of busy goroutines at which scans start no further ones; 0 means
	// GOMAXPROCS.
	Processors int
	// CacheSize is the largest number of entries of the plan cache, for all collections together; 0
	// means cache.DefaultSize.
	CacheSize int
}

// Planner plans queries. One Planner serves all collections of a store. It is safe for concurrent
// use.
type Planner struct {
	opts       Options
	sortMemory atomic.Int64
	noScans    atomic.Bool
	// collatedRegex is set by SetCollatedRegex.
	collatedRegex atomic.Bool
	cache         *cache.Cache
	processors    *exec.Processors
	catalog       indexinfo.Cache
}

// New returns a planner with an empty plan cache.
func New(opts Options) *Planner {
	if opts.SortMemory == 0 {
		opts.SortMemory = limits.OperatorBytes
	}
	if opts.CacheSize == 0 {
		opts.CacheSize = cache.DefaultSize
	}
	opts.Clock = clock.OrSystem(opts.Clock)
	if opts.Processors == 0 {
		opts.Processors = runtime.GOMAXPROCS(0)
	}
	p := &Planner{opts: opts, cache: cache.New(opts.CacheSize), processors: exec.NewProcessors(opts.Processors)}
	p.SetSortMemory(opts.SortMemory)
	return p
}

// SetSortMemory changes the memory limit of a blocking sort, for queries planned from now on.
func (p *Planner) SetSortMemory(bytes int) { p.sortMemory.Store(int64(bytes)) }

// RefuseTableScans makes queries fail that only a scan of the whole collection could answer
// (parameter notablescan). Queries without a predicate and queries on system collections are
// exempt.
func (p *Planner) RefuseTableScans(on bool) { p.noScans.Store(on) }

// SetCollatedRegex decides whether a regular expression may use an index with a collation. Such a
// plan reads all strings of the index, because regular expressions do not follow a collation. The
// parameter internalQueryPlannerIgnoreIndexWithCollationForRegex is the opposite.
func (p *Planner) SetCollatedRegex(on bool) { p.collatedRegex.Store(on) }

// Find plans a find. The Execution yields final documents: sorted, skipped, limited and projected.
// It uses r until it is saved or closed; the caller closes r.
func (p *Planner) Find(ctx context.Context, q *query.Query, r storage.Reader) (*Execution, error) {
	run, err := p.open(ctx, q, r, canonical.Find)
	if err == nil {
		run.processors = p.processors
		announce(ctx, run)
	}
	return run, err
}

// Targets plans the search for the documents that an update, delete or findAndModify changes. The
// Execution yields whole documents with their record keys; the projection is ignored. A document
// may change between planning and writing, so the writer locks the record and matches it again.
func (p *Planner) Targets(ctx context.Context, q *query.Query, r storage.Reader) (*Execution, error) {
	run, err := p.open(ctx, q, r, canonical.Targets)
	if err == nil {
		announce(ctx, run)
	}
	return run, err
}

// Counter returns the number of records of a collection without a scan. It is nil if the number is
// not known, as in a transaction.
type Counter func() (int64, error)

// Count returns the number of matching documents, after Skip and up to Limit. Without a filter and
// a hint it calls records, if records is not nil, instead of reading the collection.
func (p *Planner) Count(ctx context.Context, q *query.Query, r storage.Reader, records Counter) (int64, error) {
	return p.count(ctx, q, r, records)
}

// Distinct returns the distinct values of a field in the matching documents, as a BSON array. If
// the value of a document is an array, its elements count as values.
func (p *Planner) Distinct(ctx context.Context, q *query.Query, field string, r storage.Reader) (bsonx.Value, error) {
	return p.distinct(ctx, q, field, r)
}

// ClearCache removes the cached plans of a collection (planCacheClear).
func (p *Planner) ClearCache(collectionID uint32) { p.cache.Clear(collectionID) }

// ClearShape removes the cached plans of all queries with q's shape, for all commands.
func (p *Planner) ClearShape(q *query.Query) error {
	shape, err := canonical.ShapeOf(q)
	if err == nil {
		p.cache.ClearShape(q.Coll.ID, shape, byte(canonical.Distinct))
	}
	return err
}

// CachedPlans lists the entries of the plan cache for a collection ($planCacheStats).
func (p *Planner) CachedPlans(collectionID uint32) []cache.Entry { return p.cache.List(collectionID) }
