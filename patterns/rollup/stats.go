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

// Stat is what the events of a key in an hour, day, week, month or year sum up to.
type Stat struct {
	ID struct {
		Key   any       `bson:"u"`
		Start time.Time `bson:"d"`
	} `bson:"_id"`
	Value struct {
		Total int64   `bson:"total"`
		Count int64   `bson:"count"`
		Mean  float64 `bson:"mean"`
		// At is when it was summed up.
		At time.Time `bson:"ts"`
	} `bson:"value"`
}

// Stats returns what begins in [from, to), in order. Where nothing happened, there is nothing.
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

// Indexes returns what events and sums are found by, and what removes old events.
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

// ready fails before the first use without EnsureIndexes: events would never go. Where they stay
// for ever, no index is promised.
func (r *Rollup) ready(ctx context.Context) error {
	if r.cfg.Keep == 0 {
		return nil
	}
	return r.prepared.Check(ctx, r.db, r.env.Logger, r.Indexes)
}

// ShardKeys returns how documents are distributed over shards.
func (r *Rollup) ShardKeys() []patterns.ShardKey {
	out := []patterns.ShardKey{{
		Collection: r.events.Name(), Key: bson.D{{r.cfg.KeyField, 1}, {r.cfg.TimeField, 1}},
	}}
	for level := range levels {
		out = append(out, patterns.ShardKey{Collection: r.target(Level(level)).Name(), Key: bson.D{{"_id", 1}}})
	}
	return out
}

// Shard distributes the documents over the shards of a cluster.
func (r *Rollup) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, r.db, r.ShardKeys())
}
