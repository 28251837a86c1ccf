package moat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
)

// Errors of moats.
var (
	// ErrNotFound is returned if no rejected write has the ID.
	ErrNotFound = errors.New("moat: there is no such write")
	// ErrAway is returned by Replay if the remote deployment does not answer, or returns an error
	// that does not concern a write itself.
	ErrAway = errors.New("moat: the remote deployment is away")
)

// The defaults of Config.
const (
	DefaultCollection = "moat"
	DefaultField      = "moat"
	DefaultPace       = time.Second
	DefaultKeep       = time.Hour
)

// Config configures a Moat. The zero value works.
type Config struct {
	patterns.Env
	// Collection stores the waiting writes; DefaultCollection if empty. Another collection has the
	// same name with the suffix _locks.
	Collection string
	// Field is the field of remote documents that holds the marks: the last write of each moat;
	// DefaultField if empty.
	Field string
	// Pace is the interval at which an unavailable remote deployment is tried again, and at which
	// the replayer looks for new writes of other processes; DefaultPace if zero.
	Pace time.Duration
	// Keep is the time for which the moat remembers applied writes. In this time a repeated Write
	// has no effect; DefaultKeep if zero.
	Keep time.Duration
	// Lease is the time after which another process replaces a replayer that has died;
	// lock.DefaultLease if zero.
	Lease time.Duration
}

// Moat stores writes for another deployment and applies them there. It is safe for concurrent use.
type Moat struct {
	env    patterns.Env
	cfg    Config
	coll   *mongo.Collection
	remote *mongo.Database
	locks  *lock.Locks
	kick   chan struct{} // receives a value when there is a new write
	away   atomic.Bool
	field  atomic.Pointer[string] // the field of this moat's marks, once it is known

	prepared patterns.Prepared
}

// New returns a moat that stores writes in the database local until it applies them to the database
// remote.
func New(local, remote *mongo.Database, cfg Config) (*Moat, error) {
	if cfg.Pace < 0 || cfg.Lease < 0 || cfg.Keep < 0 {
		return nil, fmt.Errorf("moat: a pace of %v, a lease of %v, keep %v", cfg.Pace, cfg.Lease, cfg.Keep)
	}
	if cfg.Collection == "" {
		cfg.Collection = DefaultCollection
	}
	if cfg.Field == "" {
		cfg.Field = DefaultField
	}
	if cfg.Pace == 0 {
		cfg.Pace = DefaultPace
	}
	if cfg.Keep == 0 {
		cfg.Keep = DefaultKeep
	}
	cfg.Env = cfg.WithDefaults()
	locks, err := lock.New(local, lock.Config{Env: cfg.Env, Collection: cfg.Collection + "_locks", Lease: cfg.Lease})
	if err != nil {
		return nil, err
	}
	return &Moat{
		env: cfg.Env, cfg: cfg, coll: local.Collection(cfg.Collection), remote: remote,
		locks: locks, kick: make(chan struct{}, 1),
	}, nil
}

// marks returns the field of remote documents in which this moat stores its marks. Several moats
// may write to the same documents, so each moat generates a name when it is first used.
func (m *Moat) marks(ctx context.Context) (string, error) {
	if field := m.field.Load(); field != nil {
		return *field, nil
	}
	var doc struct{ Name string }
	names := m.coll.Database().Collection(m.cfg.Collection + "_locks")
	opts := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	madeUp := bson.D{{"$setOnInsert", bson.D{{"name", strings.ToLower(rand.Text()[:nameLength])}}}}
	if err := names.FindOneAndUpdate(ctx, bson.D{{"_id", "name"}}, madeUp, opts).Decode(&doc); err != nil {
		return "", fmt.Errorf("moat: ask for the name of the moat: %w", err)
	}
	field := m.cfg.Field + "." + doc.Name
	m.field.Store(&field)
	return field, nil
}

// nameLength is the number of characters in the name of a moat, which contain 50 random bits.
const nameLength = 10

// Indexes returns the index of the order of writes, and the TTL index that removes applied writes.
func (m *Moat) Indexes() []patterns.Index {
	keys := bson.D{{"state", 1}, {"seq", 1}, {"_id", 1}}
	forget := mongo.IndexModel{Keys: bson.D{{"expires", 1}}, Options: options.Index().SetExpireAfterSeconds(0)}
	return []patterns.Index{
		{Collection: m.coll.Name(), Model: mongo.IndexModel{Keys: keys}},
		{Collection: m.coll.Name(), Model: forget},
	}
}

// EnsureIndexes creates the missing indexes.
func (m *Moat) EnsureIndexes(ctx context.Context) error {
	return m.prepared.Ensure(ctx, m.coll.Database(), m.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, applied writes
// would never be removed.
func (m *Moat) ready(ctx context.Context) error {
	return m.prepared.Check(ctx, m.coll.Database(), m.env.Logger, m.Indexes)
}

// ShardKeys returns nil: the server that stores the writes determines their order, so they must be
// on one server.
func (m *Moat) ShardKeys() []patterns.ShardKey { return nil }

// Shard enables sharding for the database, and shards no collection.
func (m *Moat) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, m.coll.Database(), m.ShardKeys())
}

// Away reports whether the last attempt of this process to reach the remote deployment failed. It
// is meaningful only in the process that replays.
func (m *Moat) Away() bool { return m.away.Load() }
