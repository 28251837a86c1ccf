package read

import (
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// Reads gives a command the collections that it reads, and readers of them. They come from one
// View: the newest committed state, the state that the command's transaction sees, or a snapshot.
type Reads struct {
	Engine *Engine
	local  string // the address at which the client reaches the server
	view   table.View
	meant  *Meaning // the collection that the command means by its UUID
}

// Reads returns the Reads of a command that sees a View.
func (e *Engine) Reads(view table.View, meant *Meaning, local string) Reads {
	return Reads{Engine: e, local: local, view: view, meant: meant}
}

// Newest returns the Reads of the newest committed state.
func (e *Engine) Newest() Reads { return e.Reads(e.Store.Newest(), nil, "") }

// Lookup returns a collection or view by name, or nil. It fails if the request means another
// collection.
func (v Reads) Lookup(db, name string) (*table.Collection, error) {
	c, err := v.view.Lookup(db, name)
	if err == nil && !v.meant.Of(db, name, c) {
		return nil, v.meant.Mismatch(v.Engine.Store)
	}
	return c, err
}

// Buckets returns the collection that a time-series collection keeps its buckets in, or nil.
func (v Reads) Buckets(c *table.Collection) (*table.Collection, error) {
	return v.Lookup(c.DB, timeseries.BucketsName(c.Name))
}

// Reader returns a reader for plans.
func (v Reads) Reader() *exec.Reader { return exec.NewReader(v.view) }

// isStale reports whether a collection that was looked up has been changed, renamed or dropped
// since.
func (v Reads) isStale(c *table.Collection) bool { return c != nil && v.view.Current(c) != c }

// again gives the snapshot of a reader back and looks up the collection of a query once more; it is
// nil after a drop. Unless the look-up fails, the error is table.ErrChanged, for table.RetryOn.
func (v Reads) again(reader *exec.Reader, q *query.Query) (err error) {
	reader.Close()
	q.Coll, err = v.Lookup(q.DB, q.Name)
	switch c := q.Coll; {
	case err != nil:
		return err
	case c != nil && c.Kind != catalog.KindCollection:
		q.Coll = nil
		return mongoerr.New(mongoerr.QueryPlanKilled, "collection replaced by a view: %s", c.Namespace())
	}
	return table.ErrChanged
}

// Pin takes the snapshot of a reader. If the collection c may be another one in the snapshot, Pin
// gives the snapshot back and fails with table.ErrChanged.
func (v Reads) Pin(reader *exec.Reader, c *table.Collection) error {
	reader.Pin()
	if !v.isStale(c) {
		return nil
	}
	reader.Close()
	return table.ErrChanged
}

// resolveView follows a view to its collection, which may be a time-series collection, and puts
// the stages of the views before the given ones.
func (v Reads) resolveView(db, name string, stages []bsonx.Value) (string, *table.Collection, []bsonx.Value, error) {
	for depth := 0; name != ""; depth++ {
		c, err := v.Lookup(db, name)
		if err != nil || c == nil || c.Kind != catalog.KindView || depth > limits.ViewDepth {
			return name, c, stages, err
		}
		stages = slices.Concat(Elements(c.Options.Lookup("pipeline")), stages)
		name = c.Options.Lookup("viewOn").Str()
	}
	return "", nil, stages, nil
}

// CountMatches counts the documents that a query finds, again if the catalog changed meanwhile.
func (v Reads) CountMatches(ctx context.Context, q *query.Query) (n int64, err error) {
	reader := v.Reader()
	defer reader.Close()
	err = table.RetryOn(table.ErrChanged, func() (err error) {
		n = 0
		if v.Pin(reader, q.Coll) != nil {
			return v.again(reader, q)
		}
		n, err = v.Engine.Planner.Count(ctx, q, reader, v.RecordCount(q.Coll))
		// Without a filter the snapshot is not asked.
		if err == nil && n == 0 && v.isStale(q.Coll) {
			return v.again(reader, q)
		}
		return err
	})
	return n, err
}

// RecordCount returns the counter of a collection for the planner, or nil if the count is not
// what the reader sees.
func (v Reads) RecordCount(c *table.Collection) plan.Counter {
	if c == nil {
		return nil
	}
	return v.view.Counter(c)
}
