package topic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
)

// Errors of topics.
var (
	// ErrOverrun is returned if messages were overwritten before a subscriber received them. The
	// error is an *OverrunError.
	ErrOverrun = errors.New("topic: messages were lost to a subscriber that was too slow")
	// ErrNoStreams is returned if Config.Form is ByStream and the server does not support change
	// streams.
	ErrNoStreams = errors.New("topic: the server has no change streams")
	// ErrPosition is returned for a text that is not a position.
	ErrPosition = errors.New("topic: not a position")
	// ErrNotFound is returned if no durable subscriber has the name.
	ErrNotFound = errors.New("topic: there is no such subscriber")
)

// The defaults of Config.
const (
	DefaultName  = "topics"
	DefaultSize  = 64 << 20
	DefaultKeep  = 24 * time.Hour
	DefaultAwait = time.Second
)

// Form selects how messages are stored and followed.
type Form int

const (
	// ByTail stores messages in a capped collection, which overwrites the oldest messages, and
	// follows it with tailable cursors.
	ByTail Form = iota
	// ByStream stores messages in an ordinary collection and follows it with change streams.
	ByStream
)

// Config configures Topics. The zero value works.
type Config struct {
	patterns.Env
	// Name is the collection of the messages; DefaultName if empty. Two more collections have this
	// name with the suffixes _subscribers and _locks.
	Name string
	// Form is ByTail if zero.
	Form Form
	// Size is the size of a capped collection in bytes; DefaultSize if zero.
	Size int64
	// Max is the largest number of messages in a capped collection. If zero, only Size limits it.
	Max int64
	// Keep is the time for which an ordinary collection keeps messages; DefaultKeep if zero. A
	// replay reads from the server's oplog, so it also depends on how far back the oplog goes.
	Keep time.Duration
	// Await is the time for which the server waits for a message before it returns an empty batch;
	// DefaultAwait if zero.
	Await time.Duration
	// Lease is the time after which another process takes over a durable subscriber whose process
	// has died; lock.DefaultLease if zero.
	Lease time.Duration
}

// Topics publishes and delivers the messages of one collection. It is safe for concurrent use.
type Topics struct {
	env         patterns.Env
	cfg         Config
	coll        *mongo.Collection
	subscribers *mongo.Collection
	locks       *lock.Locks
	prepared    patterns.Prepared
}

// New returns topics that store their messages in db.
func New(db *mongo.Database, cfg Config) (*Topics, error) {
	if cfg.Size < 0 || cfg.Max < 0 || cfg.Keep < 0 || cfg.Await < 0 || cfg.Lease < 0 {
		return nil, fmt.Errorf("topic: a negative value: size %d, max %d, keep %v, await %v, lease %v",
			cfg.Size, cfg.Max, cfg.Keep, cfg.Await, cfg.Lease)
	}
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	if cfg.Size == 0 {
		cfg.Size = DefaultSize
	}
	if cfg.Keep == 0 {
		cfg.Keep = DefaultKeep
	}
	if cfg.Await == 0 {
		cfg.Await = DefaultAwait
	}
	if cfg.Lease == 0 {
		cfg.Lease = lock.DefaultLease
	}
	cfg.Env = cfg.WithDefaults()
	locks, err := lock.New(db, lock.Config{Env: cfg.Env, Collection: cfg.Name + "_locks", Lease: cfg.Lease})
	if err != nil {
		return nil, err
	}
	return &Topics{
		env: cfg.Env, cfg: cfg, coll: db.Collection(cfg.Name),
		subscribers: db.Collection(cfg.Name + "_subscribers"), locks: locks,
	}, nil
}

// Indexes returns the index of the message order. For an ordinary collection it also returns the
// TTL index that removes old messages.
func (t *Topics) Indexes() []patterns.Index {
	out := []patterns.Index{{Collection: t.cfg.Name, Model: mongo.IndexModel{Keys: bson.D{{"seq", 1}}}}}
	if t.cfg.Form == ByStream {
		age := options.Index().SetExpireAfterSeconds(int32(t.cfg.Keep / time.Second))
		out = append(out, patterns.Index{
			Collection: t.cfg.Name, Model: mongo.IndexModel{Keys: bson.D{{"at", 1}}, Options: age},
		})
	}
	return out
}

// namespaceExists is the error code of create for a collection that already exists.
const namespaceExists = 48

// EnsureIndexes creates the collection and the missing indexes. A capped collection must be created
// before its first message. EnsureIndexes does not change an existing collection; Check reports
// whether it matches the configuration.
func (t *Topics) EnsureIndexes(ctx context.Context) error {
	if t.cfg.Form == ByTail {
		opts := options.CreateCollection().SetCapped(true).SetSizeInBytes(t.cfg.Size)
		if t.cfg.Max > 0 {
			opts.SetMaxDocuments(t.cfg.Max)
		}
		err := t.coll.Database().CreateCollection(ctx, t.cfg.Name, opts)
		var server mongo.ServerError
		if err != nil && !(errors.As(err, &server) && server.HasErrorCode(namespaceExists)) {
			return fmt.Errorf("topic: create %s: %w", t.cfg.Name, err)
		}
	}
	if err := patterns.EnsureIndexes(ctx, t.coll.Database(), t.Indexes()); err != nil {
		return err
	}
	return t.ready(ctx)
}

// ready fails if EnsureIndexes was not called before the first use. A collection that is not capped
// would keep all messages, and tailable cursors could not follow it.
func (t *Topics) ready(ctx context.Context) error {
	if t.cfg.Form == ByTail {
		return t.prepared.CheckKind(ctx, t.coll, patterns.Capped)
	}
	return t.prepared.Check(ctx, t.coll.Database(), t.env.Logger, t.Indexes)
}

// ShardKeys returns the shard key of an ordinary collection. A capped collection cannot be sharded.
func (t *Topics) ShardKeys() []patterns.ShardKey {
	if t.cfg.Form == ByTail {
		return nil
	}
	return []patterns.ShardKey{{Collection: t.cfg.Name, Key: bson.D{{"_id", "hashed"}}}}
}

// Shard shards the messages by the keys of ShardKeys.
func (t *Topics) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, t.coll.Database(), t.ShardKeys())
}
