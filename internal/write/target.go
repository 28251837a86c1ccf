package write

import (
	"bytes"
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/table"
)

// target is a record that was locked and still matches.
type target struct {
	key []byte
	doc bsonx.Doc
	// index is the array element that the query matched; it counts only with hasIndex.
	index    int
	hasIndex bool
}

// act changes a locked target through w. It returns false where it left the record as it was.
type act func(ctx context.Context, w *table.Writer, t *target) (changed bool, err error)

// change locks, checks and changes the targets of a query one by one, each in its own transaction, and returns how many
// it acted on and how many it changed.
func (e *Executor) change(ctx context.Context, q Query, details bool, opts Options, fn act) (matched, changed int64, err error) {
	if id, ok := q.byID(); ok {
		return e.changeByID(ctx, q, id, details, opts, fn)
	}
	for {
		matched, changed, lost, err := e.changeFound(ctx, q, details, opts, fn)
		if err != nil || matched > 0 || lost == 0 {
			return matched, changed, err
		}
	}
}

func (e *Executor) changeByID(ctx context.Context, q Query, id bsonx.Value, details bool, opts Options, fn act) (matched, changed int64, err error) {
	t := getScratch()
	defer putScratch(t)
	t.key = q.Coll.RecordKey(t.key[:0], id)
	err = retry(ctx, func() error {
		found, did, err := e.changeOne(ctx, q, t, nil, details, opts, fn)
		matched, changed = count(found), count(did)
		return err
	})
	return matched, changed, err
}

// changeFound acts on what a plan finds. lost counts the targets that others changed or removed first.
func (e *Executor) changeFound(ctx context.Context, q Query, details bool, opts Options, fn act) (matched, changed, lost int64, err error) {
	reader := exec.NewReader(e.store.Engine())
	defer reader.Close()
	targets, err := e.planner.Targets(ctx, q.plan(), reader)
	if err != nil {
		return 0, 0, 0, err
	}
	defer targets.Close()
	t := getScratch()
	defer putScratch(t)
	for {
		row, err := targets.Next(ctx)
		if err != nil || row == nil {
			return matched, changed, lost, err
		}
		t.key = append(t.key[:0], row.RecordKey...)
		var found, did bool
		err = retry(ctx, func() error {
			var err error
			found, did, err = e.changeOne(ctx, q, t, row.Doc, details, opts, fn)
			return err
		})
		if err != nil {
			return matched, changed, lost, err
		}
		matched += count(found)
		changed += count(did)
		lost += count(!found)
		if found && q.One {
			return matched, changed, lost, nil
		}
	}
}

// changeOne locks the record of t and acts on it. seen is the version that the plan matched, or nil.
func (e *Executor) changeOne(ctx context.Context, q Query, t *scratch, seen bsonx.Doc, details bool, opts Options, fn act) (found, changed bool, err error) {
	w, err := e.store.BeginWrite(q.Coll)
	if errors.Is(err, table.ErrDropped) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	defer w.Close()
	doc, err := w.Lock(ctx, t.key, t.doc)
	if err != nil || doc == nil {
		return false, false, err
	}
	t.doc = doc
	t.target = target{key: t.key, doc: doc}
	if details || !bytes.Equal(doc, seen) {
		ok, err := t.target.match(q.Filter)
		if err != nil || !ok {
			return false, false, err
		}
	}
	changed, err = fn(ctx, w, &t.target)
	if err != nil {
		return false, false, err
	}
	if !changed {
		return true, false, nil
	}
	return true, true, w.Commit(opts.Durability)
}

func (t *target) match(f *filter.Filter) (bool, error) {
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
