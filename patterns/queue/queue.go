package queue

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of queues.
var (
	// ErrEmpty is returned by Take where no job is due.
	ErrEmpty = errors.New("queue: no job is due")
	// ErrExists is returned where a job of the same ID exists, or an open one of the same Unique.
	ErrExists = errors.New("queue: there is such a job already")
	// ErrNotFound is returned where there is no job of an ID, or none in a state that the operation
	// is for.
	ErrNotFound = errors.New("queue: there is no such job")
	// ErrLost is returned where a job is not held any more: the lease has ended and another worker
	// has taken it, or it was cancelled.
	ErrLost = errors.New("queue: the job is not held any more")
)

// What a zero Config stands for.
const (
	DefaultName        = "jobs"
	DefaultLease       = 30 * time.Second
	DefaultMaxAttempts = 10
	DefaultKeepDone    = 24 * time.Hour
)

// Order says which of the jobs that are due is taken.
type Order int

const (
	// ByPriority takes the job of the highest priority, among those the one that is due the
	// longest.
	ByPriority Order = iota
	// ByTime takes the job that is due the longest, whatever its priority.
	ByTime
)

// Config configures a Queue. The zero value works.
type Config struct {
	patterns.Env
	// Name is the collection of the jobs; DefaultName if empty.
	Name string
	// Spread is over how many collections the jobs are spread: Name, Name_1, Name_2 and so on; 1 if
	// zero. The order of the jobs holds in each of them.
	Spread int
	// Order is which job is taken first.
	Order Order
	// Lease is how long a worker holds a job without extending; DefaultLease if zero.
	Lease time.Duration
	// MaxAttempts is how often a job is tried whose Spec does not say it; DefaultMaxAttempts if
	// zero.
	MaxAttempts int
	// Backoff is how long a job rests after its n-th attempt has failed, n from 1 on;
	// Exponential(time.Second, time.Hour) if nil.
	Backoff func(attempt int) time.Duration
	// KeepDone is how long jobs that are done or cancelled are kept; DefaultKeepDone if zero.
	KeepDone time.Duration
	// KeepDead is how long dead letters are kept; for ever if zero.
	KeepDead time.Duration
}

// Queue is a queue of jobs. It is safe for concurrent use.
type Queue struct {
	env   patterns.Env
	cfg   Config
	db    *mongo.Database
	lanes []*mongo.Collection
	owner string
	turn  atomic.Uint64 // which lane is asked first

	prepared patterns.Prepared
}

// New returns the queue of a database.
func New(db *mongo.Database, cfg Config) (*Queue, error) {
	if cfg.Lease < 0 || cfg.MaxAttempts < 0 || cfg.Spread < 0 || cfg.KeepDone < 0 || cfg.KeepDead < 0 {
		return nil, fmt.Errorf("queue: a negative value: lease %v, attempts %d, spread %d, keep %v and %v",
			cfg.Lease, cfg.MaxAttempts, cfg.Spread, cfg.KeepDone, cfg.KeepDead)
	}
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	if cfg.MaxAttempts == 0 {
		cfg.MaxAttempts = DefaultMaxAttempts
	}
	if cfg.KeepDone == 0 {
		cfg.KeepDone = DefaultKeepDone
	}
	if cfg.Backoff == nil {
		cfg.Backoff = Exponential(time.Second, time.Hour)
	}
	q := &Queue{env: cfg.WithDefaults(), cfg: cfg, db: db, owner: processName()}
	for i := range max(cfg.Spread, 1) {
		name := cfg.Name
		if i > 0 {
			name = fmt.Sprintf("%s_%d", cfg.Name, i)
		}
		q.lanes = append(q.lanes, db.Collection(name))
	}
	return q, nil
}

// processName is what a job says of who works on it.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// lane returns the collection of the jobs with a key.
func (q *Queue) lane(key string) *mongo.Collection {
	if len(q.lanes) == 1 {
		return q.lanes[0]
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // it does not fail
	return q.lanes[int(h.Sum32()%uint32(len(q.lanes)))]
}

// order is the order in which jobs are taken.
func (q *Queue) order() bson.D {
	if q.cfg.Order == ByTime {
		return bson.D{{"at", 1}, {"_id", 1}}
	}
	return bson.D{{"priority", -1}, {"at", 1}, {"_id", 1}}
}

// Indexes returns what each collection of the queue needs: the order of its jobs, the uniqueness of
// the open ones, batches, and the end of those that are kept no longer.
func (q *Queue) Indexes() (out []patterns.Index) {
	exists := bson.D{{"$exists", true}}
	for _, lane := range q.lanes {
		for _, m := range []mongo.IndexModel{
			{Keys: append(bson.D{{"state", 1}}, q.order()...)},
			{
				Keys: bson.D{{"unique", 1}},
				Options: options.Index().SetUnique(true).
					SetPartialFilterExpression(bson.D{{"state", Open}, {"unique", exists}}),
			},
			{
				Keys:    bson.D{{"batch", 1}},
				Options: options.Index().SetPartialFilterExpression(bson.D{{"batch", exists}}),
			},
			{Keys: bson.D{{"expires", 1}}, Options: options.Index().SetExpireAfterSeconds(0)},
		} {
			out = append(out, patterns.Index{Collection: lane.Name(), Model: m})
		}
	}
	return out
}

// EnsureIndexes creates the indexes that do not exist.
func (q *Queue) EnsureIndexes(ctx context.Context) error {
	return q.prepared.Ensure(ctx, q.db, q.Indexes())
}

// ready fails before the first use without the indexes: Unique would not hold.
func (q *Queue) ready(ctx context.Context) error {
	return q.prepared.Check(ctx, q.db, q.env.Logger, q.Indexes)
}

// ShardKeys returns none: a job is taken by one update of the first of all that are due, which no
// key distributes. The collections of Spread are placed on different shards as a whole.
func (q *Queue) ShardKeys() []patterns.ShardKey { return nil }

// Shard enables sharding of the database, so that its collections can be placed.
func (q *Queue) Shard(ctx context.Context) error { return patterns.Shard(ctx, q.db, q.ShardKeys()) }
