package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of the package.
var (
	// ErrDuplicate is the error of an event whose ID is already stored, for example if it is
	// appended again after an error.
	ErrDuplicate = errors.New("eventlog: the event is there already")
	// ErrTooOld is the error of an event that the retention would remove at once.
	ErrTooOld = errors.New("eventlog: the event is older than the retention")
	// ErrCapped is returned by Shard: a capped collection cannot be sharded.
	ErrCapped = errors.New("eventlog: a capped collection cannot be sharded")
)

// Class is the durability that an event must have when Append returns.
type Class int

// The classes of events.
const (
	// Acknowledged events are stored by one server. A crash of this server may lose the events of
	// the last moments.
	Acknowledged Class = iota
	// Sent events are sent without waiting for a reply. A loss is not reported; Losses counts lost
	// events afterwards.
	Sent
	// Journaled events survive a crash of the server.
	Journaled
	// Replicated events survive the loss of a server, as long as most members of its replica set
	// survive.
	Replicated
	// ReplicatedJournaled events survive a crash of all servers.
	ReplicatedJournaled
)

// concern returns the write concern of a class.
func (c Class) concern() *writeconcern.WriteConcern {
	journal := true
	switch c {
	case Sent:
		return writeconcern.Unacknowledged()
	case Journaled:
		return writeconcern.Journaled()
	case Replicated:
		return writeconcern.Majority()
	case ReplicatedJournaled:
		return &writeconcern.WriteConcern{W: writeconcern.WCMajority, Journal: &journal}
	default:
		return writeconcern.W1()
	}
}

// Event is a request to a web server, or another event that fits these fields.
type Event struct {
	ID        bson.ObjectID `bson:"_id"`
	Time      time.Time     `bson:"time"`
	Host      string        `bson:"host,omitempty"`
	User      string        `bson:"user,omitempty"`
	Method    string        `bson:"method,omitempty"`
	Path      string        `bson:"path,omitempty"`
	Protocol  string        `bson:"protocol,omitempty"`
	Status    int32         `bson:"status,omitempty"`
	Size      int64         `bson:"size,omitempty"`
	Referrer  string        `bson:"referrer,omitempty"`
	UserAgent string        `bson:"user_agent,omitempty"`
	// Fields holds further fields.
	Fields bson.M `bson:"fields,omitempty"`
	// Source and Number are set for events of class Sent: Source identifies the Log that sent the
	// event, and Number counts the events of this Log.
	Source string `bson:"source,omitempty"`
	Number int64  `bson:"number,omitempty"`
}

// Config configures a Log. The zero value works.
type Config struct {
	patterns.Env
	// Collection is the name of the collection; "events" if empty. It is a prefix of the names of
	// rotated collections.
	Collection string
	// Retention says how events are removed: Capped, TTL, Collections or Databases. If nil, events
	// are kept for ever.
	Retention Retention
}

// Log stores events. It is safe for concurrent use.
type Log struct {
	env    patterns.Env
	db     *mongo.Database
	name   string
	keeps  Retention
	source string
	number atomic.Int64

	mu    sync.Mutex
	ready map[string]bool // the collections that have their indexes
}

// New returns a log that stores its events in db.
func New(db *mongo.Database, cfg Config) (*Log, error) {
	if cfg.Collection == "" {
		cfg.Collection = "events"
	}
	if cfg.Retention == nil {
		cfg.Retention = TTL{}
	}
	if err := cfg.Retention.valid(); err != nil {
		return nil, err
	}
	return &Log{
		env: cfg.WithDefaults(), db: db, name: cfg.Collection, keeps: cfg.Retention,
		source: bson.NewObjectID().Hex(), ready: map[string]bool{},
	}, nil
}

// Failure is an event that was not stored, with the reason.
type Failure struct {
	Event *Event
	Err   error
}

// AppendError lists the events that were not stored. All other events were stored.
type AppendError struct{ Failures []Failure }

// Error implements error.
func (e *AppendError) Error() string {
	return fmt.Sprintf("eventlog: %d events were not stored; of the first: %v", len(e.Failures), e.Failures[0].Err)
}

// Unwrap returns the errors of the failed events.
func (e *AppendError) Unwrap() []error {
	out := make([]error, len(e.Failures))
	for i := range e.Failures {
		out[i] = e.Failures[i].Err
	}
	return out
}

// part is a set of events for the same collection.
type part struct {
	coll   *mongo.Collection
	events []*Event
}

// Append stores events. It sets ID and Time if they are empty. If single events cannot be stored,
// it stores the others and returns an *AppendError. After any other error the same events may be
// appended again; events that are already stored then fail with ErrDuplicate.
func (l *Log) Append(ctx context.Context, class Class, events ...*Event) error {
	var parts []*part
	byName := map[string]*part{}
	failed := &AppendError{}
	for _, e := range events {
		l.complete(class, e)
		coll, err := l.keeps.place(l, e.Time)
		if err != nil {
			failed.Failures = append(failed.Failures, Failure{e, err})
			continue
		}
		name := coll.Database().Name() + "." + coll.Name()
		p := byName[name]
		if p == nil {
			p = &part{coll: coll}
			byName[name], parts = p, append(parts, p)
		}
		p.events = append(p.events, e)
	}
	for _, p := range parts {
		if err := l.insert(ctx, class, p, failed); err != nil {
			return fmt.Errorf("eventlog: append to %s: %w", p.coll.Name(), err)
		}
	}
	if len(failed.Failures) > 0 {
		l.env.Metrics.Add("eventlog.failed", int64(len(failed.Failures)))
		return failed
	}
	return nil
}

// complete sets the empty fields of an event.
func (l *Log) complete(class Class, e *Event) {
	if e.ID.IsZero() {
		e.ID = bson.NewObjectID()
	}
	if e.Time.IsZero() {
		e.Time = l.env.Now()
	}
	if class == Sent && e.Number == 0 {
		e.Source, e.Number = l.source, l.number.Add(1)
	}
}

// insert stores the events of one collection.
func (l *Log) insert(ctx context.Context, class Class, p *part, failed *AppendError) error {
	if err := l.ensure(ctx, p.coll); err != nil {
		return err
	}
	coll := p.coll.Database().Collection(p.coll.Name(), options.Collection().SetWriteConcern(class.concern()))
	_, err := coll.InsertMany(ctx, p.events, options.InsertMany().SetOrdered(false))
	bulk := mongo.BulkWriteException{}
	if !errors.As(err, &bulk) || bulk.WriteConcernError != nil {
		return err
	}
	for _, e := range bulk.WriteErrors {
		err := error(e)
		if mongo.IsDuplicateKeyError(e) {
			err = fmt.Errorf("%w: %w", ErrDuplicate, e)
		}
		failed.Failures = append(failed.Failures, Failure{p.events[e.Index], err})
	}
	return nil
}

// namespaceExists is the error code of create for a collection that already exists.
const namespaceExists = 48

// ensure creates a collection and its indexes, once in each process.
func (l *Log) ensure(ctx context.Context, coll *mongo.Collection) error {
	name := coll.Database().Name() + "." + coll.Name()
	l.mu.Lock()
	ready := l.ready[name]
	l.mu.Unlock()
	if ready {
		return nil
	}
	var failed mongo.ServerError
	err := coll.Database().CreateCollection(ctx, coll.Name(), l.keeps.create())
	if err != nil && (!errors.As(err, &failed) || !failed.HasErrorCode(namespaceExists)) {
		return fmt.Errorf("eventlog: create %s: %w", name, err)
	}
	if _, capped := l.keeps.(Capped); capped && err != nil {
		// The collection exists. If it were not capped, it would keep all events.
		if err := new(patterns.Prepared).CheckKind(ctx, coll, patterns.Capped); err != nil {
			return err
		}
	}
	if err := patterns.EnsureIndexes(ctx, coll.Database(), l.indexes(coll)); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready[name] = true
	return nil
}

// forget makes ensure check a collection again.
func (l *Log) forget(database, coll string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ready, database+"."+coll)
}

// indexes returns the indexes of a collection.
func (l *Log) indexes(coll *mongo.Collection) []patterns.Index {
	model := func(opts *options.IndexOptionsBuilder, keys ...bson.E) patterns.Index {
		return patterns.Index{Collection: coll.Name(), Model: mongo.IndexModel{Keys: bson.D(keys), Options: opts}}
	}
	byTime := bson.E{"time", 1}
	return []patterns.Index{
		model(l.keeps.timeIndex(), byTime), model(nil, bson.E{"host", 1}, byTime),
		model(nil, bson.E{"path", 1}, byTime),
	}
}

// Indexes returns the indexes of the current collection. The collections of other periods have the
// same indexes.
func (l *Log) Indexes() []patterns.Index {
	coll, _ := l.keeps.place(l, l.env.Now()) // the present is never too old
	return l.indexes(coll)
}

// EnsureIndexes creates the collections of the current and the next period, with their indexes.
func (l *Log) EnsureIndexes(ctx context.Context) error {
	for _, at := range []time.Time{l.env.Now(), l.env.Now().Add(l.keeps.period())} {
		coll, err := l.keeps.place(l, at)
		if err != nil {
			return err
		}
		if err := l.ensure(ctx, coll); err != nil {
			return err
		}
	}
	return nil
}

// Maintain creates the collections of the next period, and drops the collections or databases that
// are too old. It returns the number that it has dropped.
func (l *Log) Maintain(ctx context.Context) (removed int, err error) {
	if err := l.EnsureIndexes(ctx); err != nil {
		return 0, err
	}
	return l.keeps.expire(ctx, l)
}

// Run calls Maintain four times in each period, or every hour if the retention has no periods,
// until ctx ends. Several processes may call Run.
func (l *Log) Run(ctx context.Context) error {
	every := time.Hour
	if p := l.keeps.period(); p > 0 {
		every = p / 4
	}
	for {
		if n, err := l.Maintain(ctx); err != nil && ctx.Err() == nil {
			l.env.Logger.Warn("the log was not maintained", "error", err)
		} else if n > 0 {
			l.env.Logger.Info("old events were removed", "collections", n)
		}
		if err := l.env.Clock.Sleep(ctx, every); err != nil {
			return err
		}
	}
}

// ShardKeys returns the shard key of the events: the path first, and then a hash, because a path
// may have many events. It returns nil for Capped.
func (l *Log) ShardKeys() []patterns.ShardKey {
	if _, capped := l.keeps.(Capped); capped {
		return nil
	}
	coll, _ := l.keeps.place(l, l.env.Now())
	return []patterns.ShardKey{{Collection: coll.Name(), Key: bson.D{{"path", 1}, {"_id", "hashed"}}}}
}

// Shard shards the collections of the current and the next period. Call it in each period. It
// returns ErrCapped for Capped.
func (l *Log) Shard(ctx context.Context) error {
	keys := l.ShardKeys()
	if keys == nil {
		return ErrCapped
	}
	for _, at := range []time.Time{l.env.Now(), l.env.Now().Add(l.keeps.period())} {
		coll, err := l.keeps.place(l, at)
		if err != nil {
			return err
		}
		keys[0].Collection = coll.Name()
		if err := patterns.Shard(ctx, coll.Database(), keys); err != nil {
			return err
		}
	}
	return nil
}
