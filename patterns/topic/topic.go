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
	// ErrOverrun is returned where messages were overwritten before a subscriber had seen them. The
	// error is an *OverrunError.
	ErrOverrun = errors.New("topic: messages were lost to a subscriber that was too slow")
	// ErrNoStreams is returned where ByStream is configured and the server has no change streams.
	ErrNoStreams = errors.New("topic: the server has no change streams")
	// ErrPosition is returned for a text that is no position.
	ErrPosition = errors.New("topic: this is no position")
	// ErrNotFound is returned where there is no durable subscriber of a name.
	ErrNotFound = errors.New("topic: there is no such subscriber")
)

// What a zero Config stands for.
const (
	DefaultName  = "topics"
	DefaultSize  = 64 << 20
	DefaultKeep  = 24 * time.Hour
	DefaultAwait = time.Second
)

// Form is how messages are stored and followed.
type Form int

const (
	// ByTail stores messages in a capped collection, which overwrites the oldest, and follows it by
	// tailable cursors.
	ByTail Form = iota
	// ByStream stores messages in an ordinary collection and follows it by change streams.
	ByStream
)

// Config configures Topics. The zero value works.
type Config struct {
	patterns.Env
	// Name is the collection of the messages; DefaultName if empty. Beside it are two of the same
	// name with _subscribers and _locks.
	Name string
	// Form is ByTail unless it is said otherwise.
	Form Form
	// Size is how many bytes of messages a capped collection keeps; DefaultSize if zero.
	Size int64
	// Max is how many messages a capped collection keeps at most; as many as Size has room for if
	// zero.
	Max int64
	// Keep is how long an ordinary collection keeps messages; DefaultKeep if zero. What can be
	// replayed is what the server's log of changes has.
	Keep time.Duration
	// Await is how long the server waits for a message before it says that there is none;
	// DefaultAwait if zero.
	Await time.Duration
	// Lease is how long a durable subscriber that has died keeps others from going on for it;
	// lock.DefaultLease if zero.
	Lease time.Duration
}

// Topics are the topics of a collection. It is safe for concurrent use.
type Topics struct {
	env         patterns.Env
	cfg         Config
	coll        *mongo.Collection
	subscribers *mongo.Collection
	locks       *lock.Locks
	prepared    patterns.Prepared
}

// New returns the topics of a database.
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

// Indexes returns that of the order of the messages, and of an ordinary collection that of their
// age.
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

// namespaceExists is the code of a create for what exists.
const namespaceExists = 48

// EnsureIndexes creates the collection, which must be capped before it has messages, and the
// indexes that do not exist. A collection that exists stays as it is: Check tells whether it is
// what is configured.
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

// ready fails before the first use without EnsureIndexes: a collection that is not capped keeps all
// messages, and cannot be followed.
func (t *Topics) ready(ctx context.Context) error {
	if t.cfg.Form == ByTail {
		return t.prepared.CheckKind(ctx, t.coll, patterns.Capped)
	}
	return t.prepared.Check(ctx, t.coll.Database(), t.env.Logger, t.Indexes)
}

// ShardKeys returns how an ordinary collection is distributed over shards. A capped one cannot be.
func (t *Topics) ShardKeys() []patterns.ShardKey {
	if t.cfg.Form == ByTail {
		return nil
	}
	return []patterns.ShardKey{{Collection: t.cfg.Name, Key: bson.D{{"_id", "hashed"}}}}
}

// Shard distributes the messages over the shards of a cluster.
func (t *Topics) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, t.coll.Database(), t.ShardKeys())
}
