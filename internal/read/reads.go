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

// Reads gives a command its collections, and readers of them. Both come from one View: the newest
// committed state, the state that the command's transaction sees, or a snapshot.
type Reads struct {
	Engine *Engine
	local  string // the server's address that the client is connected to
	view   table.View
	meant  *Meaning // the collection that the command specifies by its UUID; may be nil
}

// Reads returns the Reads of a command that sees a View. meant may be nil.
func (e *Engine) Reads(view table.View, meant *Meaning, local string) Reads {
	return Reads{Engine: e, local: local, view: view, meant: meant}
}

// Newest returns the Reads of the newest committed state.
func (e *Engine) Newest() Reads { return e.Reads(e.Store.Newest(), nil, "") }

// Lookup returns a collection or view by name, or nil. It fails if the command specifies another
// collection by UUID.
func (v Reads) Lookup(db, name string) (*table.Collection, error) {
	c, err := v.view.Lookup(db, name)
	if err == nil && !v.meant.Of(db, name, c) {
		return nil, v.meant.Mismatch(v.Engine.Store)
	}
	return c, err
}

// Buckets returns the bucket collection of a time-series collection, or nil.
func (v Reads) Buckets(c *table.Collection) (*table.Collection, error) {
	return v.Lookup(c.DB, timeseries.BucketsName(c.Name))
}

// Reader returns a reader for plans.
func (v Reads) Reader() *exec.Reader { return exec.NewReader(v.view) }

// isStale reports whether a collection was changed, renamed or dropped since it was looked up.
func (v Reads) isStale(c *table.Collection) bool { return c != nil && v.view.Current(c) != c }

// again prepares another attempt of a query: it releases the reader's snapshot and looks up the
// query's collection again, which is nil after a drop. It returns table.ErrChanged, which makes
// table.RetryOn repeat the step, or the error of the look-up.
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

// Pin takes the snapshot of a reader. If the collection c was changed, renamed or dropped since it
// was looked up, Pin releases the snapshot and fails with table.ErrChanged.
func (v Reads) Pin(reader *exec.Reader, c *table.Collection) error {
	reader.Pin()
	if !v.isStale(c) {
		return nil
	}
	reader.Close()
	return table.ErrChanged
}

// resolveView follows a view to its collection, which may be a time-series collection. It puts the
// stages of the views before the given stages.
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

// CountMatches counts the documents that match a query. It counts again if the catalog changed
// meanwhile.
func (v Reads) CountMatches(ctx context.Context, q *query.Query) (n int64, err error) {
	reader := v.Reader()
	defer reader.Close()
	err = table.RetryOn(table.ErrChanged, func() (err error) {
		n = 0
		if v.Pin(reader, q.Coll) != nil {
			return v.again(reader, q)
		}
		n, err = v.Engine.Planner.Count(ctx, q, reader, v.RecordCount(q.Coll))
		// Without a filter the count does not use the snapshot.
		if err == nil && n == 0 && v.isStale(q.Coll) {
			return v.again(reader, q)
		}
		return err
	})
	return n, err
}

// RecordCount returns the counter of a collection for the planner. It returns nil if the View is
// fixed, because the counter belongs to the newest state.
func (v Reads) RecordCount(c *table.Collection) plan.Counter {
	if c == nil {
		return nil
	}
	return v.view.Counter(c)
}
