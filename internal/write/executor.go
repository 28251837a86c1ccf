package write

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Executor runs write statements. It is safe for concurrent use.
type Executor struct {
	store   *table.Store
	planner *plan.Planner
}

// New returns an executor that finds its targets with a planner.
func New(store *table.Store, planner *plan.Planner) *Executor {
	return &Executor{store: store, planner: planner}
}

// Query says which documents a statement is about.
type Query struct {
	Coll   *table.Collection
	Filter *filter.Filter
	Sort   bsonx.Doc   // nil or empty: any order
	Hint   bsonx.Value // missing: none
	// Collation is the collation that the statement names, in the form that messages print. The
	// statement is run with that of Filter.
	Collation bsonx.Doc
	// One says that the statement stops at the first target.
	One bool
	// Seen is told of every row that the plan finds, before it is changed, in a statement about one
	// document; nil for nobody.
	Seen func(row *exec.Row) error
	// Position is that of the statement in its command.
	Position int
}

// sortedCandidates is how many targets a sorted statement about one document looks for: where others take the first
// ones meanwhile, it goes on with the next without planning again.
const sortedCandidates = 16

func (q Query) plan() *query.Query {
	p := &query.Query{
		DB: q.Coll.DB, Name: q.Coll.Name, Coll: q.Coll, Filter: q.Filter, Collation: q.Filter.Collation(), Sort: q.Sort, Hint: q.Hint, AllowDiskUse: true,
		CollationSpec: q.Collation,
	}
	if q.One && !q.Sort.IsEmpty() {
		p.Limit = sortedCandidates
	}
	return p
}

// Options are common to all statements.
type Options struct {
	Ordered bool
	// Durability is what each transaction waits for.
	Durability storage.Durability
	// Deferred, where not nil, is set when a transaction was committed that waits for a Sync of the storage.
	Deferred *bool
	// Stamp, where not nil, is raised to the stamp of each transaction that was committed.
	Stamp *storage.Stamp
	// BypassValidation lets documents in that the collection's validator refuses.
	BypassValidation bool
	// View is the state that the statements read and change. It is required. With the newest state
	// each statement is a transaction of its own, or several. In a multi-document transaction a
	// statement does not wait for others and does not try again.
	View table.Writable
	// Retry makes the statements retryable; nil where they are not. Not for statements about many
	// documents, nor in a multi-document transaction.
	Retry *Retry
}

// inTxn reports whether the statements belong to a multi-document transaction.
func (o Options) inTxn() bool { return o.View.IsFixed() }

func (o Options) validate(ctx context.Context, c *table.Collection, old, doc bsonx.Doc) error {
	if c.Validator == nil || o.BypassValidation {
		return nil
	}
	return c.Validator.Check(ctx, old, doc)
}

// isUserError reports whether err is the client's own mistake.
func isUserError(err error) bool {
	var e *mongoerr.Error
	return errors.As(err, &e) && !Interrupts(e.Code)
}

// Interrupts reports whether a code ends the whole command and not only one document's change.
func Interrupts(code mongoerr.Code) bool {
	switch code {
	case mongoerr.Interrupted, mongoerr.MaxTimeMSExpired, mongoerr.InterruptedAtShutdown, mongoerr.ExceededTimeLimit,
		mongoerr.CursorKilled, mongoerr.OutOfDiskSpace, mongoerr.CallbackCanceled:
		return true
	default:
		return false
	}
}

// The pause after a conflict starts at minPause and doubles up to maxPause, with jitter.
const (
	minPause = 50 * time.Microsecond
	maxPause = 10 * time.Millisecond
)

// retry runs fn until it ends without a write conflict. A conflict of a multi-document transaction is its end.
func retry(ctx context.Context, opts Options, fn func() error) error {
	if opts.inTxn() {
		return fn()
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := fn()
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		storage.ReportWork(ctx, storage.PlanWork{Conflicts: 1})
		if clock.Sleep(ctx, clock.System{}, pause/2+rand.N(pause)) != nil {
			return ctx.Err()
		}
	}
}
