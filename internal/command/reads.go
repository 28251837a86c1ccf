package command

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// reads is what a command reads: the newest committed state, that which its transaction sees, or a snapshot.
type reads struct {
	service  *Service
	local    string          // the address by which the client reaches the server
	txn      *table.Txn      // nil outside of transactions, but for a time of the past
	snapshot *table.Snapshot // nil where the read concern is not "snapshot"
	meant    *meaning        // of the request; see meaning
}

func (r *Request) reads() reads {
	v := reads{service: r.Service, txn: r.txn(), meant: r.meant}
	if r.Conn != nil { // not for a request that $out or $merge makes
		v.local = r.Conn.Local
	}
	if r.snapshot != nil {
		v.snapshot = r.snapshot.Snapshot
		if r.snapshot.past != nil {
			v.txn = r.snapshot.past
		}
	}
	return v
}

// isFixed reports whether what is read does not change.
func (v reads) isFixed() bool { return v.txn != nil || v.snapshot != nil }

// lookup returns a collection or view by name, or nil. It fails where that is not the one that the request means.
func (v reads) lookup(db, name string) (*table.Collection, error) {
	c, err := v.named(db, name)
	if err == nil && !v.meant.of(db, name, c) {
		return nil, v.service.mismatch(v.meant)
	}
	return c, err
}

// named is lookup of whatever has the name.
func (v reads) named(db, name string) (*table.Collection, error) {
	newest := func() *table.Collection { return v.service.Store.Lookup(db, name) }
	var c *table.Collection
	var err error
	switch {
	case v.txn != nil:
		c, err = v.txn.Lookup(db, name)
	case v.snapshot != nil:
		c, err = v.snapshot.Lookup(db, name)
	default:
		return newest(), nil
	}
	if c == nil && err == nil {
		if now := newest(); isVirtual(now) {
			return now, nil
		}
	}
	return c, err
}

// buckets returns the collection that a time-series collection keeps its buckets in, or nil.
func (v reads) buckets(c *table.Collection) (*table.Collection, error) {
	return v.lookup(c.DB, timeseries.BucketsName(c.Name))
}

func (v reads) reader() *exec.Reader {
	if v.txn != nil {
		return exec.NewTxnReader(v.txn.Reader())
	}
	if v.snapshot != nil {
		return exec.NewSnapshotReader(v.snapshot)
	}
	return exec.NewReader(v.service.Store.Engine())
}

// isStale reports whether a collection that was looked up has been changed, renamed or dropped since. What is fixed
// does not change.
func (v reads) isStale(c *table.Collection) bool {
	return c != nil && !v.isFixed() && !v.service.Store.IsCurrent(c)
}

// again looks up the collection of a query once more, nil where there is none any more.
func (v reads) again(q *plan.Query) (*table.Collection, error) {
	c, err := v.lookup(q.DB, q.Name)
	if c != nil && c.Kind != catalog.KindCollection {
		return nil, mongoerr.New(mongoerr.QueryPlanKilled, "collection replaced by a view: %s", c.Namespace())
	}
	return c, err
}

// pin takes the snapshot of a reader. It reports whether what the snapshot has of a collection is what c says.
func (v reads) pin(reader *exec.Reader, c *table.Collection) bool {
	reader.Pin()
	return !v.isStale(c)
}

// resolveView follows a view to its collection, which may be a time-series collection, and puts the stages of the views before the given ones.
func (v reads) resolveView(db, name string, stages []bsonx.Value) (string, *table.Collection, []bsonx.Value, error) {
	for depth := 0; name != ""; depth++ {
		c, err := v.lookup(db, name)
		if err != nil || c == nil || c.Kind != catalog.KindView || depth > maxViewDepth {
			return name, c, stages, err
		}
		stages = slices.Concat(elements(c.Options.Lookup("pipeline")), stages)
		name = c.Options.Lookup("viewOn").Str()
	}
	return "", nil, stages, nil
}

// countMatches counts what a query finds, again where the catalog was changed meanwhile.
func (v reads) countMatches(ctx context.Context, q *plan.Query) (int64, error) {
	reader := v.reader()
	defer reader.Close()
	for {
		if v.pin(reader, q.Coll) {
			n, err := v.service.Planner.Count(ctx, q, reader, v.recordCount(q.Coll))
			// Without a filter the snapshot is not asked.
			if err != nil || n > 0 || !v.isStale(q.Coll) {
				return n, err
			}
		}
		reader.Close()
		var err error
		if q.Coll, err = v.again(q); err != nil {
			return 0, err
		}
	}
}

// recordCount returns the counter of a collection for the planner; nil where there is none, or it is not what is seen.
func (v reads) recordCount(c *table.Collection) plan.Counter {
	if c == nil || v.isFixed() {
		return nil
	}
	return func() (int64, error) {
		counter, err := v.service.Store.Count(c)
		return counter.Count, err
	}
}
