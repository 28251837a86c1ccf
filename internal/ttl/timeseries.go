package ttl

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
	"github.com/sheafdb/sheaf/internal/write"
)

// bucketFinder finds the rules of time-series collections: expireAfterSeconds of the collection, and that of indexes on the time
// with a filter on the meta value. A bucket goes as a whole, when its window and its last measurement have expired.
func bucketFinder(store *table.Store, writes *write.Executor) Finder {
	return func(c *table.Collection, now time.Time) (targets []Target, invalid int, err error) {
		if c.Kind != catalog.KindCollection || c.Timeseries == nil {
			return nil, 0, nil
		}
		if after := c.Options.Lookup("expireAfterSeconds"); after.Type.IsNumber() {
			targets = append(targets, bucketTarget(store, writes, c, "_id", cutoff(now, after), bsonx.Empty))
		}
		for _, ix := range c.Indexes {
			original := ix.Spec.Lookup("originalSpec")
			if original.Type != bsonx.TypeDocument {
				continue
			}
			after := original.Doc().Lookup("expireAfterSeconds")
			if !ix.Ready || !after.Type.IsNumber() {
				continue
			}
			targets = append(targets, bucketTarget(store, writes, c, ix.Name, cutoff(now, after), ix.PartialFilter))
		}
		return targets, 0, nil
	}
}

// bucketTarget is the target of the buckets that satisfy a query and have expired at limit.
func bucketTarget(store *table.Store, writes *write.Executor, c *table.Collection, name string, limit bsonx.Value, query bsonx.Doc) Target {
	o := c.Timeseries
	last := timeseries.IDBound(limit.Int64()/1000-o.Span, true)
	s := &scan{store: store, writes: writes, coll: c, first: timeseries.IDBound(0, false), limit: last}
	s.match = func(bucket bsonx.Doc) (bool, error) {
		newest, ok := o.MaxTime(bucket)
		if !ok || newest > limit.Int64() {
			return false, nil
		}
		f, err := filter.Parse(query, filter.Options{})
		if err != nil {
			return false, err
		}
		return f.Match(bucket)
	}
	return Target{Coll: c, Name: name, Delete: s.delete}
}
