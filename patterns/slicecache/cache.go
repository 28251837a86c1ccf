package slicecache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// The defaults of CacheConfig.
const (
	DefaultTTL   = 1000 * time.Second
	DefaultLease = 30 * time.Second
	DefaultPoll  = 50 * time.Millisecond
)

// CacheConfig configures a Cache. The zero value works.
type CacheConfig struct {
	patterns.Env
	// Collection is the collection of the entries; "cache" if empty.
	Collection string
	// TTL is the time for which a value is fresh; DefaultTTL if zero.
	TTL time.Duration
	// Stale is the time after TTL for which Get still returns the old value while another caller
	// loads a new one. If zero, all callers wait for the new value.
	Stale time.Duration
	// Lease is the time after which another caller loads a value that is still missing;
	// DefaultLease if zero.
	Lease time.Duration
	// Poll is the interval at which a waiting caller looks for the value; DefaultPoll if zero.
	Poll time.Duration
}

// Cache stores values that are costly to make. All processes share them until they expire. If
// several callers miss the same value at the same time, one of them loads it and the others wait.
// It is safe for concurrent use.
type Cache[T any] struct {
	env      patterns.Env
	coll     *mongo.Collection
	cfg      CacheConfig
	prepared patterns.Prepared
}

// NewCache returns a cache that stores its entries in db.
func NewCache[T any](db *mongo.Database, cfg CacheConfig) (*Cache[T], error) {
	if cfg.TTL < 0 || cfg.Stale < 0 || cfg.Lease < 0 || cfg.Poll < 0 {
		return nil, fmt.Errorf("slicecache: TTL %v, stale %v, lease %v, poll %v", cfg.TTL,
			cfg.Stale, cfg.Lease, cfg.Poll)
	}
	if cfg.Collection == "" {
		cfg.Collection = "cache"
	}
	for _, d := range []struct {
		value   *time.Duration
		without time.Duration
	}{{&cfg.TTL, DefaultTTL}, {&cfg.Lease, DefaultLease}, {&cfg.Poll, DefaultPoll}} {
		if *d.value == 0 {
			*d.value = d.without
		}
	}
	return &Cache[T]{env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection), cfg: cfg}, nil
}

// slot is an entry of the cache. It has a value, a caller that loads a value, or both.
type slot[T any] struct {
	Value *T        `bson:"value"`
	Fresh time.Time `bson:"fresh"`
}

// Load makes a value. DeleteTag can later remove the value by one of its tags.
type Load[T any] func(ctx context.Context) (value T, tags []string, err error)

// Get returns the value of a key. If the value is missing or not fresh, one caller of all processes
// loads it. The other callers wait, or get the old value for the time Stale. An error of load is
// returned to the caller that loads; the next caller tries again.
func (c *Cache[T]) Get(ctx context.Context, key string, load Load[T]) (value T, err error) {
	if err := c.ready(ctx); err != nil {
		return value, err
	}
	for {
		s, now := slot[T]{}, c.env.Now()
		err := c.coll.FindOne(ctx, bson.D{{"_id", key}},
			options.FindOne().SetProjection(bson.D{{"loader", 0}})).Decode(&s)
		if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
			return value, fmt.Errorf("slicecache: get %s: %w", key, err)
		}
		if s.Value != nil && now.Before(s.Fresh) {
			c.env.Metrics.Add("slicecache.hits", 1)
			return *s.Value, nil
		}
		token, err := c.lease(ctx, key, now)
		if err != nil {
			return value, err
		}
		if !token.IsZero() {
			c.env.Metrics.Add("slicecache.misses", 1)
			return c.load(ctx, key, token, load)
		}
		if s.Value != nil && now.Before(s.Fresh.Add(c.cfg.Stale)) {
			c.env.Metrics.Add("slicecache.stale", 1)
			return *s.Value, nil
		}
		if err := c.env.Clock.Sleep(ctx, c.cfg.Poll/2+rand.N(c.cfg.Poll)); err != nil {
			return value, err
		}
	}
}

// lease makes the caller the one that loads a key. It returns a zero token if another caller is
// loading the key, or has just loaded it.
func (c *Cache[T]) lease(ctx context.Context, key string, now time.Time) (token bson.ObjectID, err error) {
	token = bson.NewObjectID()
	until := now.Add(c.cfg.Lease)
	free := bson.D{
		{"_id", key},
		{"fresh", bson.D{{"$not", bson.D{{"$gt", now}}}}},
		{"loader.until", bson.D{{"$not", bson.D{{"$gt", now}}}}},
	}
	_, err = c.coll.UpdateOne(ctx, free, bson.D{
		{"$set", bson.D{{"loader", bson.D{{"token", token}, {"until", until}}}}},
		{"$max", bson.D{{"expires", until}}},
	}, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) { // the key exists and is fresh or leased
		return bson.NilObjectID, nil
	}
	if err != nil {
		return bson.NilObjectID, fmt.Errorf("slicecache: become the one who loads %s: %w", key, err)
	}
	return token, nil
}

// load makes a value and stores it, unless the key was removed, set, or leased to another caller
// meanwhile.
func (c *Cache[T]) load(ctx context.Context, key string, token bson.ObjectID, load Load[T]) (T, error) {
	mine := bson.D{{"_id", key}, {"loader.token", token}}
	started := c.env.Clock.Now()
	value, tags, err := load(ctx)
	c.env.Metrics.Observe("slicecache.load", c.env.Clock.Now().Sub(started))
	if err != nil {
		release := bson.D{{"$unset", bson.D{{"loader", ""}}}}
		if _, e := c.coll.UpdateOne(context.WithoutCancel(ctx), mine, release); e != nil {
			err = errors.Join(err, fmt.Errorf("slicecache: give up %s: %w", key, e))
		}
		return value, err
	}
	if _, err := c.coll.UpdateOne(ctx, mine, c.put(value, tags)); err != nil {
		return value, fmt.Errorf("slicecache: keep %s: %w", key, err)
	}
	return value, nil
}

// put returns the update that stores a value for a key.
func (c *Cache[T]) put(value T, tags []string) bson.D {
	fresh := c.env.Now().Add(c.cfg.TTL)
	set := bson.D{{"value", value}, {"fresh", fresh}, {"expires", fresh.Add(c.cfg.Stale)}}
	unset := bson.D{{"loader", ""}}
	if len(tags) > 0 {
		set = append(set, bson.E{"tags", tags})
	} else {
		unset = append(unset, bson.E{"tags", ""})
	}
	return bson.D{{"$set", set}, {"$unset", unset}}
}

// Set stores a value for a key. A caller that is loading the key at this moment does not overwrite
// it.
func (c *Cache[T]) Set(ctx context.Context, key string, value T, tags ...string) error {
	if err := c.ready(ctx); err != nil {
		return err
	}
	put := mongo.NewUpdateOneModel().SetFilter(bson.D{{"_id", key}}).SetUpdate(c.put(value, tags)).SetUpsert(true)
	if err := patterns.Upsert(ctx, c.coll, []mongo.WriteModel{put}); err != nil {
		return fmt.Errorf("slicecache: set %s: %w", key, err)
	}
	return nil
}

// Delete removes keys. A value that is being loaded at this moment is not stored.
func (c *Cache[T]) Delete(ctx context.Context, keys ...string) error {
	return c.remove(ctx, bson.D{{"_id", bson.D{{"$in", append([]string{}, keys...)}}}})
}

// DeleteTag removes all keys whose values have the tag.
func (c *Cache[T]) DeleteTag(ctx context.Context, tag string) error {
	return c.remove(ctx, bson.D{{"tags", tag}})
}

func (c *Cache[T]) remove(ctx context.Context, filter bson.D) error {
	if _, err := c.coll.DeleteMany(ctx, filter); err != nil {
		return fmt.Errorf("slicecache: remove values: %w", err)
	}
	return nil
}

// These are the rules whose violations Cache.Check lists.
const (
	RuleExpires = "an entry expires, and not while its value is fresh"
	RuleLoader  = "who loads a value has a lease that ends"
)

// Check reads all entries and lists the violations of the rules.
func (c *Cache[T]) Check(ctx context.Context) (out []patterns.Violation, err error) {
	isDate := func(field string) bson.D {
		return bson.D{{"$eq", bson.A{bson.D{{"$type", field}}, "date"}}}
	}
	has := func(field string) bson.D {
		return bson.D{{"$ne", bson.A{bson.D{{"$type", field}}, "missing"}}}
	}
	not := func(e bson.D) bson.D { return bson.D{{"$not", bson.A{e}}} }
	for rule, wrong := range map[string]bson.A{
		RuleExpires: {
			not(isDate("$expires")),
			bson.D{{"$and", bson.A{has("$value"), bson.D{{"$or", bson.A{
				not(isDate("$fresh")), bson.D{{"$gt", bson.A{"$fresh", "$expires"}}},
			}}}}}},
		},
		RuleLoader: {bson.D{{"$and", bson.A{has("$loader"), bson.D{{"$or", bson.A{
			not(isDate("$loader.until")), bson.D{{"$gt", bson.A{"$loader.until", c.env.Now().Add(c.cfg.Lease)}}},
		}}}}}}},
	} {
		found, err := c.coll.Find(ctx, bson.D{{"$expr", bson.D{{"$or", wrong}}}},
			options.Find().SetProjection(bson.D{{"value", 0}}))
		if err != nil {
			return nil, fmt.Errorf("slicecache: check %s: %w", c.coll.Name(), err)
		}
		var docs []bson.Raw
		if err := found.All(ctx, &docs); err != nil {
			return nil, fmt.Errorf("slicecache: check %s: %w", c.coll.Name(), err)
		}
		for _, doc := range docs {
			out = append(out, patterns.Violation{
				Rule: rule, Collection: c.coll.Name(),
				ID: doc.Lookup("_id"), Detail: doc.String(),
			})
		}
	}
	return out, nil
}

// Indexes returns the TTL index that removes entries, and the index of the tags.
func (c *Cache[T]) Indexes() []patterns.Index {
	byTag := options.Index().SetSparse(true)
	return []patterns.Index{
		{Collection: c.coll.Name(), Model: mongo.IndexModel{
			Keys: bson.D{{"expires", 1}}, Options: options.Index().SetExpireAfterSeconds(0),
		}},
		{Collection: c.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{"tags", 1}}, Options: byTag}},
	}
}

// EnsureIndexes creates the indexes.
func (c *Cache[T]) EnsureIndexes(ctx context.Context) error {
	return c.prepared.Ensure(ctx, c.coll.Database(), c.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, entries would
// never be removed.
func (c *Cache[T]) ready(ctx context.Context) error {
	return c.prepared.Check(ctx, c.coll.Database(), c.env.Logger, c.Indexes)
}

// ShardKeys returns the shard key of the entries.
func (c *Cache[T]) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: c.coll.Name(), Key: bson.D{{"_id", "hashed"}}}}
}

// Shard shards the entries by the key of ShardKeys.
func (c *Cache[T]) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, c.coll.Database(), c.ShardKeys())
}
