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
	// ErrNotFound is returned where no rejected write has an ID.
	ErrNotFound = errors.New("moat: there is no such write")
	// ErrAway is returned by Replay where the remote deployment does not answer, or answers
	// something that is not about a write.
	ErrAway = errors.New("moat: the remote deployment is away")
)

// What a zero Config stands for.
const (
	DefaultCollection = "moat"
	DefaultField      = "moat"
	DefaultPace       = time.Second
	DefaultKeep       = time.Hour
)

// Config configures a Moat. The zero value works.
type Config struct {
	patterns.Env
	// Collection is where the writes wait; DefaultCollection if empty. Beside it is one of the same
	// name with _locks.
	Collection string
	// Field is the field of the remote documents that says which write of each moat was the last
	// one; DefaultField if empty.
	Field string
	// Pace is how often the remote deployment is tried while it is away, and how often new writes
	// of other processes are looked for; DefaultPace if zero.
	Pace time.Duration
	// Keep is how long it is remembered which writes were made, so that they are not made again
	// when they are kept again; DefaultKeep if zero.
	Keep time.Duration
	// Lease is how long a replayer that has died keeps others from taking over; lock.DefaultLease
	// if zero.
	Lease time.Duration
}

// Moat keeps writes for another deployment. It is safe for concurrent use.
type Moat struct {
	env    patterns.Env
	cfg    Config
	coll   *mongo.Collection
	remote *mongo.Database
	locks  *lock.Locks
	kick   chan struct{} // there is a write
	away   atomic.Bool
	field  atomic.Pointer[string] // of the marks of this moat, once it is known

	prepared patterns.Prepared
}

// New returns a moat that keeps writes in the database local until they are made in the database
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

// marks returns the field of remote documents in which this moat leaves its marks. Several moats
// may write to the same documents: each has a name that it made up when it was first used.
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

// nameLength is how many letters and digits the name of a moat has: 50 bits.
const nameLength = 10

// Indexes returns that of the order in which writes are made, and that by which those that were
// made are forgotten.
func (m *Moat) Indexes() []patterns.Index {
	keys := bson.D{{"state", 1}, {"seq", 1}, {"_id", 1}}
	forget := mongo.IndexModel{Keys: bson.D{{"expires", 1}}, Options: options.Index().SetExpireAfterSeconds(0)}
	return []patterns.Index{
		{Collection: m.coll.Name(), Model: mongo.IndexModel{Keys: keys}},
		{Collection: m.coll.Name(), Model: forget},
	}
}

// EnsureIndexes creates the indexes that do not exist.
func (m *Moat) EnsureIndexes(ctx context.Context) error {
	return m.prepared.Ensure(ctx, m.coll.Database(), m.Indexes())
}

// ready fails before the first use without EnsureIndexes: writes that were made would never go.
func (m *Moat) ready(ctx context.Context) error {
	return m.prepared.Check(ctx, m.coll.Database(), m.env.Logger, m.Indexes)
}

// ShardKeys returns none: the writes are in one order, which is that of one server.
func (m *Moat) ShardKeys() []patterns.ShardKey { return nil }

// Shard has nothing to distribute.
func (m *Moat) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, m.coll.Database(), m.ShardKeys())
}

// Away reports whether the remote deployment did not answer when this process, if it is the one
// that replays, tried it last.
func (m *Moat) Away() bool { return m.away.Load() }
