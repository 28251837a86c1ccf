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
	// ErrEmpty is returned by Take if no job is due.
	ErrEmpty = errors.New("queue: no job is due")
	// ErrExists is returned if a job with the same ID, or an open job with the same Unique, exists.
	ErrExists = errors.New("queue: there is such a job already")
	// ErrNotFound is returned if no job has the ID, or if the job is not in a state that the
	// operation allows.
	ErrNotFound = errors.New("queue: there is no such job")
	// ErrLost is returned if the caller does not hold the job any more: another worker has taken it
	// after the end of the lease, or the job was cancelled.
	ErrLost = errors.New("queue: the job is not held any more")
)

// The defaults of Config.
const (
	DefaultName        = "jobs"
	DefaultLease       = 30 * time.Second
	DefaultMaxAttempts = 10
	DefaultKeepDone    = 24 * time.Hour
)

// Order is the order in which due jobs are taken.
type Order int

const (
	// ByPriority takes the job with the highest priority first. Among jobs of the same priority it
	// takes the job that has been due for the longest time.
	ByPriority Order = iota
	// ByTime takes the job that has been due for the longest time, whatever its priority.
	ByTime
)

// Config configures a Queue. The zero value works.
type Config struct {
	patterns.Env
	// Name is the collection of the jobs; DefaultName if empty.
	Name string
	// Spread is the number of collections over which the jobs are spread: Name, Name_1, Name_2 and
	// so on; 1 if zero. Jobs are ordered only within each collection.
	Spread int
	// Order is the order in which jobs are taken.
	Order Order
	// Lease is the time for which a worker holds a job without extending the lease; DefaultLease if
	// zero.
	Lease time.Duration
	// MaxAttempts is the number of attempts for a job whose Spec does not set it;
	// DefaultMaxAttempts if zero.
	MaxAttempts int
	// Backoff returns the wait after the n-th failed attempt, where n begins with 1. If nil,
	// Exponential(time.Second, time.Hour) is used.
	Backoff func(attempt int) time.Duration
	// KeepDone is the time for which done and cancelled jobs are kept; DefaultKeepDone if zero.
	KeepDone time.Duration
	// KeepDead is the time for which dead letters are kept; for ever if zero.
	KeepDead time.Duration
}

// Queue is a queue of jobs. It is safe for concurrent use.
type Queue struct {
	env   patterns.Env
	cfg   Config
	db    *mongo.Database
	lanes []*mongo.Collection
	owner string
	turn  atomic.Uint64 // counts the calls of Take; selects the collection that Take asks first

	prepared patterns.Prepared
}

// New returns a queue that stores its jobs in db.
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

// processName returns the name of this process, which the jobs that it holds store as their owner.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// lane returns the collection for a key, by the hash of the key.
func (q *Queue) lane(key string) *mongo.Collection {
	if len(q.lanes) == 1 {
		return q.lanes[0]
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash's Write does not fail
	return q.lanes[int(h.Sum32()%uint32(len(q.lanes)))]
}

// order returns the order in which jobs are taken.
func (q *Queue) order() bson.D {
	if q.cfg.Order == ByTime {
		return bson.D{{"at", 1}, {"_id", 1}}
	}
	return bson.D{{"priority", -1}, {"at", 1}, {"_id", 1}}
}

// Indexes returns the indexes of each collection: for the order of the jobs, for the uniqueness of
// open jobs, for batches, and the TTL index that removes old jobs.
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

// EnsureIndexes creates the missing indexes.
func (q *Queue) EnsureIndexes(ctx context.Context) error {
	return q.prepared.Ensure(ctx, q.db, q.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, Unique would not
// hold.
func (q *Queue) ready(ctx context.Context) error {
	return q.prepared.Check(ctx, q.db, q.env.Logger, q.Indexes)
}

// ShardKeys returns nil. Take updates the first of all due jobs, and no shard key can distribute
// these updates. Place the collections of Config.Spread on different shards as a whole.
func (q *Queue) ShardKeys() []patterns.ShardKey { return nil }

// Shard enables sharding for the database, so that its collections can be placed on shards.
func (q *Queue) Shard(ctx context.Context) error { return patterns.Shard(ctx, q.db, q.ShardKeys()) }
