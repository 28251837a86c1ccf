package rollup

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Stat holds the sums of the events of a key in one hour, day, week, month or year.
type Stat struct {
	ID struct {
		Key   any       `bson:"u"`
		Start time.Time `bson:"d"`
	} `bson:"_id"`
	Value struct {
		Total int64   `bson:"total"`
		Count int64   `bson:"count"`
		Mean  float64 `bson:"mean"`
		// At is the time at which the sums were computed.
		At time.Time `bson:"ts"`
	} `bson:"value"`
}

// Stats returns the sums of the hours, days, weeks, months or years that begin in [from, to), in
// order. It returns nothing for times without events.
func (r *Rollup) Stats(ctx context.Context, level Level, key any, from, to time.Time) ([]Stat, error) {
	filter := bson.D{{"_id.u", key}, {"_id.d", bson.D{{"$gte", from}, {"$lt", to}}}}
	found, err := r.target(level).Find(ctx, filter, options.Find().SetSort(bson.D{{"_id.d", 1}}))
	if err != nil {
		return nil, fmt.Errorf("rollup: read %v of %v: %w", level, key, err)
	}
	var out []Stat
	if err := found.All(ctx, &out); err != nil {
		return nil, fmt.Errorf("rollup: read %v of %v: %w", level, key, err)
	}
	return out, nil
}

// Indexes returns the indexes of events and sums. With Config.Keep, one of them is a TTL index that
// removes old events.
func (r *Rollup) Indexes() []patterns.Index {
	byTime := options.Index()
	if r.cfg.Keep > 0 {
		byTime.SetExpireAfterSeconds(int32(min(r.cfg.Keep/time.Second, 1<<31-1)))
	}
	index := func(coll string, opts *options.IndexOptionsBuilder, fields ...string) patterns.Index {
		keys := bson.D{}
		for _, f := range fields {
			keys = append(keys, bson.E{f, 1})
		}
		return patterns.Index{Collection: coll, Model: mongo.IndexModel{Keys: keys, Options: opts}}
	}
	out := []patterns.Index{
		index(r.events.Name(), nil, r.cfg.ArrivalField),
		index(r.events.Name(), nil, r.cfg.KeyField, r.cfg.TimeField),
		index(r.events.Name(), byTime, r.cfg.TimeField),
	}
	for level := range levels {
		out = append(out, index(r.target(Level(level)).Name(), nil, "_id.u", "_id.d"))
	}
	return out
}

// EnsureIndexes creates the indexes.
func (r *Rollup) EnsureIndexes(ctx context.Context) error {
	return r.prepared.Ensure(ctx, r.db, r.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, old events would
// never be removed. If Config.Keep is zero, it does not check the indexes.
func (r *Rollup) ready(ctx context.Context) error {
	if r.cfg.Keep == 0 {
		return nil
	}
	return r.prepared.Check(ctx, r.db, r.env.Logger, r.Indexes)
}

// ShardKeys returns the shard keys of the collections.
func (r *Rollup) ShardKeys() []patterns.ShardKey {
	out := []patterns.ShardKey{{
		Collection: r.events.Name(), Key: bson.D{{r.cfg.KeyField, 1}, {r.cfg.TimeField, 1}},
	}}
	for level := range levels {
		out = append(out, patterns.ShardKey{Collection: r.target(Level(level)).Name(), Key: bson.D{{"_id", 1}}})
	}
	return out
}

// Shard shards the collections by the keys of ShardKeys.
func (r *Rollup) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, r.db, r.ShardKeys())
}
