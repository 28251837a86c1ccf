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

// New returns an executor that uses planner to find targets.
func New(store *table.Store, planner *plan.Planner) *Executor {
	return &Executor{store: store, planner: planner}
}

// Query selects the documents of a statement.
type Query struct {
	Coll   *table.Collection
	Filter *filter.Filter
	Sort   bsonx.Doc   // nil or empty means any order
	Hint   bsonx.Value // missing if there is no hint
	// Collation is the collation that the statement names, as messages print it. The statement runs
	// with the collation of Filter.
	Collation bsonx.Doc
	// One says that the statement changes at most one document.
	One bool
	// Seen is called with every row that the plan finds, before the row is changed, in a statement
	// that changes one document. It may be nil.
	Seen func(row *exec.Row) error
	// Position is the index of the statement in its command.
	Position int
}

// sortedCandidates is the number of targets that a sorted statement about one document searches
// for. If other writers take the first targets, the statement uses the next one without planning
// again.
const sortedCandidates = 16

func (q Query) plan() *query.Query {
	p := &query.Query{
		DB: q.Coll.DB, Name: q.Coll.Name, Coll: q.Coll, Filter: q.Filter, Collation: q.Filter.Collation(),
		Sort: q.Sort, Hint: q.Hint, AllowDiskUse: true,
		CollationSpec: q.Collation,
	}
	if q.One && !q.Sort.IsEmpty() {
		p.Limit = sortedCandidates
	}
	return p
}

// Options apply to all statements of a command.
type Options struct {
	Ordered bool
	// BypassValidation accepts documents that the collection's validator refuses.
	BypassValidation bool
	// Durability says what each commit waits for.
	Durability storage.Durability
	// Deferred, if not nil, is set to true after a commit that needs a Sync of the storage later.
	Deferred *bool
	// Stamp, if not nil, is raised to the stamp of each committed transaction.
	Stamp *storage.Stamp
	// View is the state that the statements read and change. It is required. With the newest state,
	// each statement runs in one or several transactions of its own. In a multi-document
	// transaction, a statement neither waits for other writers nor retries.
	View table.Writable
	// Retry makes the statements retryable; nil means that they are not. It must be nil for updates
	// and deletes of many documents, and in a multi-document transaction.
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

// isUserError reports whether err is an error for the client that does not end the whole command.
func isUserError(err error) bool {
	var e *mongoerr.Error
	return errors.As(err, &e) && !Interrupts(e.Code)
}

// Interrupts reports whether an error code ends the whole command, rather than failing one
// document.
func Interrupts(code mongoerr.Code) bool {
	switch code {
	case mongoerr.Interrupted, mongoerr.MaxTimeMSExpired, mongoerr.InterruptedAtShutdown, mongoerr.ExceededTimeLimit,
		mongoerr.CursorKilled, mongoerr.OutOfDiskSpace, mongoerr.CallbackCanceled:
		return true
	default:
		return false
	}
}

// The pause after a write conflict begins at minPause and doubles up to maxPause, with jitter.
const (
	minPause = 50 * time.Microsecond
	maxPause = 10 * time.Millisecond
)

// retry runs fn again until it ends without a write conflict. In a multi-document transaction it
// runs fn once: a conflict ends the transaction.
func (e *Executor) retry(ctx context.Context, opts Options, fn func() error) error {
	if opts.inTxn() {
		return fn()
	}
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := fn()
		if !errors.Is(err, storage.ErrConflict) {
			return err
		}
		storage.ReportWork(ctx, storage.PlanWork{Conflicts: 1})
		if clock.Sleep(ctx, e.store.Clock(), pause/2+rand.N(pause)) != nil {
			return ctx.Err()
		}
	}
}
