package ttl

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// lockPatience is how long a deletion waits for a record that someone else holds.
const lockPatience = 20 * time.Millisecond

// indexFinder finds the TTL indexes and the clustered collections with expireAfterSeconds.
func indexFinder(store *table.Store, writes *write.Executor) Finder {
	return func(c *table.Collection, now time.Time) (targets []Target, invalid int, err error) {
		if c.Kind != catalog.KindCollection || c.Timeseries != nil {
			return nil, 0, nil
		}
		add := func(name string, s *scan) {
			s.store, s.writes, s.coll, s.first = store, writes, c, bsonx.Date(math.MinInt64)
			targets = append(targets, Target{Coll: c, Name: name, Delete: s.delete})
		}
		if after := c.Options.Lookup("expireAfterSeconds"); after.Type.IsNumber() && !c.Options.Lookup("clusteredIndex").IsMissing() {
			limit := cutoff(now, after)
			add("_id", &scan{limit: limit, match: func(doc bsonx.Doc) (bool, error) {
				id := doc.Lookup("_id")
				return id.Type == bsonx.TypeDate && id.Int64() <= limit.Int64(), nil
			}})
		}
		for _, ix := range c.Indexes {
			after := ix.Spec.Lookup("expireAfterSeconds")
			if !ix.Ready || !after.Type.IsNumber() {
				continue
			}
			if len(ix.Pattern) != 1 || ix.Pattern[0].Kind != index.Ordered {
				invalid++
				continue
			}
			limit := cutoff(now, after)
			match, err := expired(ix, limit)
			if err != nil {
				return targets, invalid, err
			}
			add(ix.Name, &scan{ix: ix, limit: limit, match: match})
		}
		return targets, invalid, nil
	}
}

// cutoff returns the latest date that has expired.
func cutoff(now time.Time, after bsonx.Value) bsonx.Value {
	seconds, _ := after.AsInt64()
	return bsonx.Date(now.UnixMilli() - min(seconds, math.MaxInt32)*1000)
}

// expired returns the predicate of the documents of an index that expired at limit: any date of an array counts.
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

// scan is the way of a target through its documents.
type scan struct {
	store  *table.Store
	writes *write.Executor
	coll   *table.Collection
	ix     *table.Index // nil for the _id by which a collection is clustered
	first  bsonx.Value  // of the values that are looked at
	limit  bsonx.Value
	match  func(bsonx.Doc) (bool, error)
	next   []byte
}

// delete is a Target's Delete.
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

// deleteOne removes a record that has expired, unless someone else holds it.
func (s *scan) deleteOne(ctx context.Context, key []byte) (bool, error) {
	patience, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	ok, err := s.writes.DeleteRecord(patience, s.coll, key, s.match)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return ok, err
}
