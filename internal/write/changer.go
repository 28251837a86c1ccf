package write

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/plan"
)

// One storage transaction of a statement about many documents changes at most so many of them, or so many bytes of records.
// It holds the locks of all: the fewer, the shorter others wait.
const (
	changeBatchDocs  = 64
	changeBatchBytes = 256 << 10
)

// changer acts on the targets that a plan finds.
type changer struct {
	executor *Executor
	query    Query
	details  bool
	opts     Options
	fn       act
	scratch  *scratch

	matched, changed int64
	// lost says that a target was gone, or matched no more, when it was locked.
	lost bool
}

// count adds what became of one target.
func (c *changer) count(found, changed bool) {
	c.matched += count(found)
	c.changed += count(changed)
	c.lost = c.lost || !found
}

// changeEach acts on targets one by one, each in its own transaction, until the first that it finds where the statement is about one.
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
	err := retry(ctx, c.opts, func() error {
		var err error
		found, did, err = c.executor.changeOne(ctx, c.query, t, seen, c.details, c.opts, c.fn)
		return err
	})
	if err == nil {
		c.count(found, did)
	}
	return err
}

// changeBatches acts on all targets, several in one transaction: that costs the log one append and, where the write is to be
// durable, the disk one sync. They are found before the first is locked, so that nobody waits for the search.
func (c *changer) changeBatches(ctx context.Context, targets *plan.Execution) error {
	b := getBatch()
	defer putBatch(b)
	for {
		b.reset()
		more, searchErr := b.fill(ctx, targets)
		// What was found before an error of the search is changed, as if it had been at once.
		if err := c.changeBatch(ctx, b); err != nil {
			return err
		}
		if searchErr != nil || !more {
			return searchErr
		}
	}
}

// changeBatch acts on a batch in one transaction. Where that fails it is as if it had not been tried, and the targets have their own
// ones: those before an error are changed then, and a deadlock is not met again.
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

// changeTogether acts on a whole batch, or on nothing where it fails before the commit.
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
