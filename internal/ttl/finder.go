package ttl

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// lockPatience is how long a deletion waits for a locked record.
const lockPatience = 20 * time.Millisecond

// ofIndexes returns the targets of a collection: its TTL indexes, and the collection itself if it
// is clustered with expireAfterSeconds.
func (m *Monitor) ofIndexes(c *table.Collection, now time.Time) (targets []*target, err error) {
	add := func(name string, ix *table.Index, limit bsonx.Value, match func(bsonx.Doc) (bool, error)) {
		targets = append(targets, &target{name: name, scan: scan{
			clock: m.clock, store: m.store, writes: m.writes, coll: c, ix: ix,
			first: bsonx.Date(math.MinInt64), limit: limit, match: match,
		}})
	}
	if after := c.Options.Lookup("expireAfterSeconds"); after.Type.IsNumber() &&
		!c.Options.Lookup("clusteredIndex").IsMissing() {
		limit := cutoff(now, after)
		add("_id", nil, limit, func(doc bsonx.Doc) (bool, error) {
			id := doc.Lookup("_id")
			return id.Type == bsonx.TypeDate && id.Int64() <= limit.Int64(), nil
		})
	}
	for _, ix := range c.Indexes {
		after := ix.Spec.Lookup("expireAfterSeconds")
		if !ix.Ready || !after.Type.IsNumber() {
			continue
		}
		if len(ix.Pattern) != 1 || ix.Pattern[0].Kind != index.Ordered {
			m.invalid.Add(1)
			continue
		}
		limit := cutoff(now, after)
		match, err := expired(ix, limit)
		if err != nil {
			return targets, err
		}
		add(ix.Name, ix, limit, match)
	}
	return targets, nil
}

// cutoff returns the latest date that has expired.
func cutoff(now time.Time, after bsonx.Value) bsonx.Value {
	seconds, _ := after.AsInt64()
	return bsonx.Date(now.UnixMilli() - min(seconds, math.MaxInt32)*1000)
}

// expired returns the predicate for documents of an index that are expired at limit. If the field
// is an array, any date in it counts.
func expired(ix *table.Index, limit bsonx.Value) (func(bsonx.Doc) (bool, error), error) {
	f, err := filter.Parse(bsonx.NewDoc(ix.Pattern[0].Path, bsonx.NewDoc("$lte", limit)), filter.Options{})
	if err != nil {
		return nil, err
	}
	return func(doc bsonx.Doc) (bool, error) {
		if ix.Partial != nil {
			if ok, err := ix.Partial.Match(doc); err != nil || !ok {
				return false, err
			}
		}
		return f.Match(doc)
	}, nil
}

// scan is the position of a target in its documents.
type scan struct {
	clock  clock.Clock
	store  *table.Store
	writes *write.Executor
	coll   *table.Collection
	ix     *table.Index // nil for the _id of a clustered collection
	first  bsonx.Value  // lower bound of the values to check
	limit  bsonx.Value
	match  func(bsonx.Doc) (bool, error)
	next   []byte
}

// delete checks the next limit documents, removes the expired ones and returns their number. more
// is false at the end. It fails with table.ErrDropped if the rule is no longer in force.
func (s *scan) delete(ctx context.Context, limit int) (deleted int, more bool, err error) {
	keys, next, err := s.store.KeysBetween(s.coll, s.ix, s.first, s.limit, s.next, limit)
	if err != nil {
		return 0, false, err
	}
	for _, key := range keys {
		ok, err := s.deleteOne(ctx, key)
		if err != nil {
			return deleted, false, err
		}
		if ok {
			deleted++
		}
	}
	s.next = next
	return deleted, next != nil, nil
}

// deleteOne removes an expired record, unless someone else holds it.
func (s *scan) deleteOne(ctx context.Context, key []byte) (bool, error) {
	patience, cancel := clock.WithTimeout(ctx, s.clock, lockPatience)
	defer cancel()
	ok, err := s.writes.DeleteRecord(patience, s.coll, key, s.match)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return ok, err
}
