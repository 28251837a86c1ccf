package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of locks.
var (
	// ErrHeld is returned by Acquire if another process or goroutine holds the lock.
	ErrHeld = errors.New("lock: it is held by another one")
	// ErrLost is returned if a lease has ended, even if no other holder has taken the lock yet.
	ErrLost = errors.New("lock: the lease has ended")
)

const (
	// DefaultCollection is the default collection of the locks.
	DefaultCollection = "locks"
	// DefaultLease is the default time for which a lock is held without being renewed.
	DefaultLease = 30 * time.Second
)

// Config configures Locks. The zero value works.
type Config struct {
	patterns.Env
	// Collection is the collection of the locks; DefaultCollection if empty.
	Collection string
	// Lease is the time for which a lock is held without being renewed; DefaultLease if zero.
	Lease time.Duration
}

// Locks holds the locks of a collection. It is safe for concurrent use.
type Locks struct {
	env   patterns.Env
	coll  *mongo.Collection
	lease time.Duration
}

// New returns locks that are stored in db.
func New(db *mongo.Database, cfg Config) (*Locks, error) {
	if cfg.Lease < 0 {
		return nil, fmt.Errorf("lock: a lease of %v", cfg.Lease)
	}
	if cfg.Collection == "" {
		cfg.Collection = DefaultCollection
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	return &Locks{env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection), lease: cfg.Lease}, nil
}

// Lease represents a lock that the caller holds.
type Lease struct {
	locks *Locks
	doc   document
}

// document is a lock as it is stored.
type document struct {
	Name    string    `bson:"_id"`
	Owner   string    `bson:"owner"`
	Token   int64     `bson:"token"`
	Expires time.Time `bson:"expires"`
}

// Token returns the token of this holder. It is greater than the tokens of all earlier holders of
// the lock.
func (l *Lease) Token() int64 { return l.doc.Token }

// Expires returns the time at which the lease ends if it is not renewed.
func (l *Lease) Expires() time.Time { return l.doc.Expires }

// Acquire takes a lock. It returns ErrHeld if the lock is held.
func (l *Locks) Acquire(ctx context.Context, name string) (*Lease, error) {
	now := l.env.Now()
	free := bson.D{{"_id", name}, {"expires", bson.D{{"$lte", now}}}}
	take := bson.D{
		{"$set", bson.D{{"owner", rand.Text()}, {"expires", now.Add(l.lease)}}},
		{"$inc", bson.D{{"token", int64(1)}}},
	}
	lease := &Lease{locks: l}
	opts := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	err := l.coll.FindOneAndUpdate(ctx, free, take, opts).Decode(&lease.doc)
	if mongo.IsDuplicateKeyError(err) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, fmt.Errorf("lock: acquire %s: %w", name, err)
	}
	l.env.Metrics.Add("lock.acquired", 1)
	return lease, nil
}

// Wait calls Acquire at the given interval until it gets the lock or ctx ends.
func (l *Locks) Wait(ctx context.Context, name string, pace time.Duration) (*Lease, error) {
	for {
		lease, err := l.Acquire(ctx, name)
		if !errors.Is(err, ErrHeld) {
			return lease, err
		}
		if err := l.env.Clock.Sleep(ctx, pace); err != nil {
			return nil, err
		}
	}
}

// Renew starts the lease again from now. It returns ErrLost if the lease has already ended: the
// holder must then stop its work.
func (l *Lease) Renew(ctx context.Context) error {
	now := l.locks.env.Now()
	mine := append(l.mine(), bson.E{"expires", bson.D{{"$gt", now}}})
	renew := bson.D{{"$set", bson.D{{"expires", now.Add(l.locks.lease)}}}}
	opts := options.FindOneAndUpdate().SetReturnDocument(options.After)
	err := l.locks.coll.FindOneAndUpdate(ctx, mine, renew, opts).Decode(&l.doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return ErrLost
	}
	if err != nil {
		return fmt.Errorf("lock: renew %s: %w", l.doc.Name, err)
	}
	return nil
}

// Release gives the lock back. It is not an error if the lease has already ended.
func (l *Lease) Release(ctx context.Context) error {
	end := bson.D{{"$set", bson.D{{"expires", time.Unix(0, 0)}}}}
	if _, err := l.locks.coll.UpdateOne(ctx, l.mine(), end); err != nil {
		return fmt.Errorf("lock: release %s: %w", l.doc.Name, err)
	}
	return nil
}

func (l *Lease) mine() bson.D {
	return bson.D{{"_id", l.doc.Name}, {"owner", l.doc.Owner}}
}

// Guard protects a write on behalf of the lock from earlier holders. when is a condition for the
// filter: it does not match if a later holder has written. set stores the token of this holder:
//
//	when, set := lease.Guard("fence")
//	res, err := reports.UpdateOne(ctx, append(bson.D{{"_id", id}}, when...),
//		bson.D{{"$set", append(set, bson.E{"total", total})}})
func (l *Lease) Guard(field string) (when, set bson.D) {
	// A document that was never written under the lock lacks the field; $not matches such a
	// document too.
	when = bson.D{{field, bson.D{{"$not", bson.D{{"$gt", l.doc.Token}}}}}}
	return when, bson.D{{field, l.doc.Token}}
}

// Do runs fn while it holds a lock. It renews the lease three times per lease. The context of fn
// ends if the lease is lost. Do returns ErrHeld if the lock is held.
func (l *Locks) Do(ctx context.Context, name string, fn func(ctx context.Context, lease *Lease) error) (err error) {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// The end of ctx must not interrupt Acquire: a lock that was acquired without a reply would
	// block others until its lease ends.
	lease, err := l.Acquire(context.WithoutCancel(ctx), name)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		cancel(lease.keep(work))
	}()
	err = fn(work, &Lease{locks: l, doc: lease.doc}) // a copy: keep changes the other Lease meanwhile
	if errors.Is(context.Cause(work), ErrLost) {
		err = errors.Join(err, ErrLost)
	}
	cancel(nil)
	<-renewed
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

// keep renews the lease until ctx ends or the lease is lost, and returns the reason.
func (l *Lease) keep(ctx context.Context) error {
	for {
		if err := l.locks.env.Clock.Sleep(ctx, l.locks.lease/3); err != nil {
			return err
		}
		// After another error, keep tries again until the lease ends.
		if err := l.Renew(ctx); errors.Is(err, ErrLost) || !l.locks.env.Now().Before(l.doc.Expires) {
			l.locks.env.Logger.Warn("a lock was lost", "lock", l.doc.Name, "token", l.doc.Token)
			return ErrLost
		}
	}
}

// These are the rules whose violations Locks.Check lists.
const (
	RuleEnds  = "a lock is held for a lease at most"
	RuleToken = "a lock has the token of its last holder"
)

// Check lists the locks that can never be acquired, or only after more than Config.Lease. Only
// another program than this package can write such documents.
func (l *Locks) Check(ctx context.Context) (out []patterns.Violation, err error) {
	ends := bson.D{{"$type", "date"}, {"$lte", l.env.Now().Add(l.lease)}}
	for _, rule := range []struct {
		name, field string
		holds       bson.D
	}{{RuleEnds, "expires", ends}, {RuleToken, "token", bson.D{{"$gte", 1}}}} {
		wrong := bson.D{{rule.field, bson.D{{"$not", rule.holds}}}}
		err := patterns.Each(ctx, l.coll, wrong, func(doc *bson.Raw) error {
			out = append(out, patterns.Violation{
				Rule: rule.name, Collection: l.coll.Name(),
				ID: doc.Lookup("_id"), Detail: doc.String(),
			})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("lock: check: %w", err)
		}
	}
	return out, nil
}

// Indexes returns nil: locks are found by their _id.
func (l *Locks) Indexes() []patterns.Index { return nil }

// EnsureIndexes does nothing.
func (l *Locks) EnsureIndexes(context.Context) error { return nil }

// ShardKeys returns the shard key of the locks.
func (l *Locks) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: l.coll.Name(), Key: bson.D{{"_id", "hashed"}}}}
}

// Shard shards the locks by the key of ShardKeys.
func (l *Locks) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, l.coll.Database(), l.ShardKeys())
}
