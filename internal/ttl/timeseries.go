package ttl

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// ofBuckets returns what expires in a time-series collection. A target comes from the option
// expireAfterSeconds of the collection, or from a TTL index on the time with a filter on the meta
// value. A bucket is removed as a whole, after its time window and its last measurement have
// expired.
func (m *Monitor) ofBuckets(c *table.Collection, now time.Time) (targets []*target, err error) {
	add := func(name string, limit bsonx.Value, query bsonx.Doc) error {
		f, err := filter.Parse(query, filter.Options{})
		if err != nil {
			return err
		}
		o := c.Timeseries
		targets = append(targets, &target{name: name, scan: scan{
			clock: m.clock, store: m.store, writes: m.writes, coll: c,
			first: timeseries.IDBound(0, false), limit: timeseries.IDBound(limit.Int64()/1000-o.Span, true),
			match: func(bucket bsonx.Doc) (bool, error) {
				newest, ok := o.MaxTime(bucket)
				if !ok || newest > limit.Int64() {
					return false, nil
				}
				return f.Match(bucket)
			},
		}})
		return nil
	}
	if after := c.Options.Lookup("expireAfterSeconds"); after.Type.IsNumber() {
		if err := add("_id", cutoff(now, after), bsonx.Empty); err != nil {
			return targets, err
		}
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
		if err := add(ix.Name, cutoff(now, after), ix.PartialFilter); err != nil {
			return targets, err
		}
	}
	return targets, nil
}
