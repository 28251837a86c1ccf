package write

import (
	"bytes"
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// target is a record that was locked and still matches the query.
type target struct {
	key []byte
	doc bsonx.Doc
	// out is the buffer for a new version of doc.
	out bsonx.Doc
	// index is the array element that the query matched. It is valid if hasIndex is true.
	index    int
	hasIndex bool
}

// act changes a locked target through w. It returns false if it did not change the record.
type act func(ctx context.Context, w *table.Writer, t *target) (changed bool, err error)

// errTargetsChanged means that a statement must find its targets again. Before the statement
// changed a target, other writers changed or removed all of them, or the collection got other
// indexes.
var errTargetsChanged = errors.New("the targets were changed")

// change locks, checks and changes the targets of a query. It returns how many matched and how many
// it changed. It fails with table.ErrDropped if the collection was dropped or renamed before any
// target was changed.
func (e *Executor) change(ctx context.Context, q Query, details bool, opts Options,
	fn act,
) (matched, changed int64, err error) {
	if id, ok := q.byID(); ok {
		return e.changeByID(ctx, q, id, details, opts, fn)
	}
	err = table.RetryOn(errTargetsChanged, func() (err error) {
		current := opts.View.Current(q.Coll)
		if current == nil || current.DB != q.Coll.DB || current.Name != q.Coll.Name {
			return table.ErrDropped // or renamed: a statement applies to a name
		}
		q.Coll = current
		matched, changed, err = e.changeFound(ctx, q, details, opts, fn)
		return err
	})
	if errors.Is(err, table.ErrDropped) && matched > 0 {
		return matched, changed, nil // the other targets were dropped with the collection
	}
	return matched, changed, err
}

func (e *Executor) changeByID(ctx context.Context, q Query, id bsonx.Value, details bool, opts Options,
	fn act,
) (matched, changed int64, err error) {
	t := getScratch()
	defer putScratch(t)
	t.running.Set(ctx)
	if t.key, err = q.Coll.RecordKeyFor(t.key[:0], id, &t.running); err != nil {
		return 0, 0, err
	}
	err = e.retry(ctx, opts, func() error {
		found, did, err := e.changeOne(ctx, q, t, nil, details, opts, fn)
		matched, changed = count(found), count(did)
		return err
	})
	storage.ReportPoint(ctx, matched)
	storage.ReportWork(ctx, storage.PlanWork{Keys: matched})
	return matched, changed, err
}

// changeFound changes the targets that a plan finds. It fails with errTargetsChanged if they must
// be found again.
func (e *Executor) changeFound(
	ctx context.Context, q Query, details bool, opts Options, fn act,
) (matched, changed int64, err error) {
	reader := exec.NewReader(opts.View)
	defer reader.Close()
	reader.Pin()
	if opts.View.Current(q.Coll) != q.Coll {
		return 0, 0, errTargetsChanged
	}
	targets, err := e.planner.Targets(ctx, q.plan(), reader)
	if err != nil {
		return 0, 0, err
	}
	defer targets.Close()
	t := getScratch()
	defer putScratch(t)
	c := changer{executor: e, query: q, details: details, opts: opts, fn: fn, scratch: t}
	if !q.One && !opts.inTxn() && opts.Retry == nil {
		err = c.changeBatches(ctx, targets)
	} else {
		err = c.changeEach(ctx, targets)
	}
	if err == nil && c.lost && c.matched == 0 && !opts.inTxn() {
		err = errTargetsChanged
	}
	return c.matched, c.changed, err
}

// changeOne locks the record with the key in t and changes it, in its own transaction. seen is the
// version that the plan matched, or nil.
func (e *Executor) changeOne(ctx context.Context, q Query, t *scratch, seen bsonx.Doc, details bool, opts Options,
	fn act,
) (found, changed bool, err error) {
	w, err := opts.View.BeginWrite(q.Coll)
	if err != nil {
		return false, false, err
	}
	defer w.Close()
	found, changed, err = changeIn(ctx, w, q, t, seen, details, opts, fn)
	if err != nil || !changed {
		return found, false, err
	}
	if err := opts.Retry.changed(w, bsonx.Value{}); err != nil {
		return false, false, err
	}
	return true, true, commit(w, opts)
}

// changeIn locks the record with the key in t and changes it, in w's transaction.
func changeIn(ctx context.Context, w *table.Writer, q Query, t *scratch, seen bsonx.Doc, details bool, opts Options,
	fn act,
) (found, changed bool, err error) {
	doc, err := w.Lock(ctx, t.key, t.doc)
	if err != nil || doc == nil {
		return false, false, err
	}
	t.doc = doc
	t.target = target{key: t.key, doc: doc, out: t.out}
	if details || !bytes.Equal(doc, seen) {
		ok, err := t.target.match(q.Filter, details)
		if err != nil || !ok {
			return false, false, err
		}
	}
	opts.Retry.attribute(w, q.Position)
	changed, err = fn(ctx, w, &t.target)
	t.out = t.target.out
	return err == nil, changed && err == nil, err
}

// commit ends a transaction, and sets the results that the options point to.
func commit(w *table.Writer, opts Options) error {
	err := w.Commit(opts.Durability)
	if opts.Deferred != nil && opts.Durability == storage.Deferred {
		*opts.Deferred = true
	}
	if opts.Stamp != nil {
		*opts.Stamp = max(*opts.Stamp, w.Stamp())
	}
	return err
}

// match reports whether the filter matches the target. If details is true, it also determines the
// array element that matched.
func (t *target) match(f *filter.Filter, details bool) (bool, error) {
	if !details {
		return f.Match(t.doc)
	}
	var d filter.Details
	ok, err := f.MatchDetails(t.doc, &d)
	t.index, t.hasIndex = d.ArrayIndex, d.HasIndex
	return ok, err
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
