package write

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan"
)

// A statement that changes many documents uses transactions of at most changeBatchDocs documents
// and about changeBatchBytes bytes of records. A transaction holds the locks of all its documents,
// so small batches let others wait for less time.
const (
	changeBatchDocs  = 64
	changeBatchBytes = 256 << 10
)

// changer changes the targets that a plan finds.
type changer struct {
	executor *Executor
	query    Query
	details  bool
	opts     Options
	fn       act
	scratch  *scratch

	matched, changed int64
	// lost says that a target was deleted, or did not match any more, when it was locked.
	lost bool
}

// count records the result for one target: whether it still matched, and whether it was changed.
func (c *changer) count(found, changed bool) {
	c.matched += count(found)
	c.changed += count(changed)
	c.lost = c.lost || !found
}

// changeEach changes targets one by one, each in its own transaction. If the statement changes only
// one document, it stops after the first target that still matches.
func (c *changer) changeEach(ctx context.Context, targets *plan.Execution) error {
	for {
		row, err := targets.Next(ctx)
		if err != nil || row == nil {
			return err
		}
		if c.query.Seen != nil {
			if err := c.query.Seen(row); err != nil {
				return err
			}
		}
		if err := c.changeOne(ctx, row.RecordKey, row.Doc); err != nil || c.query.One && c.matched > 0 {
			return err
		}
	}
}

func (c *changer) changeOne(ctx context.Context, key []byte, seen bsonx.Doc) error {
	t := c.scratch
	t.key = append(t.key[:0], key...)
	var found, did bool
	err := c.executor.retry(ctx, c.opts, func() error {
		var err error
		found, did, err = c.executor.changeOne(ctx, c.query, t, seen, c.details, c.opts, c.fn)
		return err
	})
	if err == nil {
		c.count(found, did)
	}
	return err
}

// changeBatches changes all targets, several in one transaction. This saves appends to the
// write-ahead log and, for durable writes, syncs of the disk. The targets of a batch are found
// before the first one is locked, so that others do not wait for the search.
func (c *changer) changeBatches(ctx context.Context, targets *plan.Execution) error {
	b := getBatch()
	defer putBatch(b)
	for {
		b.reset()
		more, searchErr := b.fill(ctx, targets)
		// If the search fails, the targets found before the error are still changed, as they would
		// be one by one.
		if err := c.changeBatch(ctx, b); err != nil {
			return err
		}
		if searchErr != nil || !more {
			return searchErr
		}
	}
}

// changeBatch changes a batch in one transaction. If the transaction fails before its commit,
// nothing has changed, and each target gets its own transaction. So the targets before an error are
// changed, and a deadlock cannot happen again.
func (c *changer) changeBatch(ctx context.Context, b *batch) error {
	if len(b.found) > 1 {
		committed, err := c.changeTogether(ctx, b)
		if err == nil || committed {
			return err
		}
	}
	for i := range b.found {
		if err := c.changeOne(ctx, b.key(i), b.doc(i)); err != nil {
			return err
		}
	}
	return nil
}

// changeTogether changes a whole batch in one transaction. If it fails and committed is false, it
// has changed nothing.
func (c *changer) changeTogether(ctx context.Context, b *batch) (committed bool, err error) {
	w, err := c.opts.View.BeginWrite(c.query.Coll)
	if err != nil {
		return false, err
	}
	defer w.Close()
	t, sum := c.scratch, changer{}
	for i := range b.found {
		t.key = append(t.key[:0], b.key(i)...)
		found, did, err := changeIn(ctx, w, c.query, t, b.doc(i), c.details, c.opts, c.fn)
		if err != nil {
			return false, err
		}
		sum.count(found, did)
	}
	if err := commit(w, c.opts); err != nil {
		return true, err
	}
	c.matched += sum.matched
	c.changed += sum.changed
	c.lost = c.lost || sum.lost
	return true, nil
}
