package eventlog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Retention says how events are removed: Capped, TTL, Collections or Databases.
type Retention interface {
	valid() error
	// place returns the collection for events of a time.
	place(l *Log, at time.Time) (*mongo.Collection, error)
	// places returns the collections with events in [from, to), in the order of time. A zero time
	// sets no limit.
	places(ctx context.Context, l *Log, from, to time.Time) ([]*mongo.Collection, error)
	create() *options.CreateCollectionOptionsBuilder
	timeIndex() *options.IndexOptionsBuilder
	// period returns the time for which a collection is written; zero if it is written for ever.
	period() time.Duration
	// expire drops collections that are too old.
	expire(ctx context.Context, l *Log) (int, error)
}

// one is the part that retentions with a single collection have in common.
type one struct{}

func (one) place(l *Log, _ time.Time) (*mongo.Collection, error) { return l.db.Collection(l.name), nil }

func (one) places(_ context.Context, l *Log, _, _ time.Time) ([]*mongo.Collection, error) {
	return []*mongo.Collection{l.db.Collection(l.name)}, nil
}

func (one) create() *options.CreateCollectionOptionsBuilder { return options.CreateCollection() }
func (one) timeIndex() *options.IndexOptionsBuilder         { return options.Index() }
func (one) period() time.Duration                           { return 0 }
func (one) expire(context.Context, *Log) (int, error)       { return 0, nil }

// Capped stores events in a collection of a fixed size. When it is full, the oldest events go. It
// costs least, but cannot be sharded, and the time for which events are kept depends on their
// number.
type Capped struct {
	one
	// Bytes is the size of the collection. Documents is a further limit if it is not zero.
	Bytes, Documents int64
}

func (c Capped) valid() error {
	if c.Bytes <= 0 || c.Documents < 0 {
		return fmt.Errorf("eventlog: a capped collection of %d bytes, %d documents", c.Bytes, c.Documents)
	}
	return nil
}

func (c Capped) create() *options.CreateCollectionOptionsBuilder {
	opts := options.CreateCollection().SetCapped(true).SetSizeInBytes(c.Bytes)
	if c.Documents > 0 {
		opts.SetMaxDocuments(c.Documents)
	}
	return opts
}

// TTL makes the server delete each event some time after it has reached the age Keep. This costs
// one deletion for each event.
type TTL struct {
	one
	// Keep is the time for which events are kept; for ever if zero.
	Keep time.Duration
}

func (t TTL) valid() error {
	if t.Keep < 0 || t.Keep > 0 && t.Keep < time.Second {
		return fmt.Errorf("eventlog: events are kept for %v", t.Keep)
	}
	return nil
}

func (t TTL) timeIndex() *options.IndexOptionsBuilder {
	if t.Keep == 0 {
		return options.Index()
	}
	return options.Index().SetExpireAfterSeconds(int32(min(t.Keep/time.Second, 1<<31-1)))
}

// Collections stores the events of each period in a collection of its own, and drops it as a whole,
// which costs almost nothing. An event is in the collection of its own time, whenever it is stored.
type Collections struct {
	// Period is the length of a period. It must be a multiple of a minute. Periods are counted from
	// 1970.
	Period time.Duration
	// Keep is the shortest time for which an event is kept. A collection is dropped one Period
	// after its last event has reached this age.
	Keep time.Duration
}

// Databases is like Collections, with a database for each period: dropping a database frees disk
// space on every storage engine.
type Databases Collections

func (c Collections) valid() error {
	if c.Period < time.Minute || c.Period%time.Minute != 0 || c.Keep < c.Period {
		return fmt.Errorf("eventlog: periods of %v that are kept for %v", c.Period, c.Keep)
	}
	return nil
}

// stamp is the layout of the time at the end of the name of a collection or database.
const stamp = "200601021504"

// start returns the start of the period that contains a time.
func (c Collections) start(at time.Time) time.Time {
	rest := at.UnixMilli() % c.Period.Milliseconds()
	if rest < 0 {
		rest += c.Period.Milliseconds()
	}
	return time.UnixMilli(at.UnixMilli() - rest).UTC()
}

// suffix returns the end of the name of a period's collection or database. It returns ErrTooOld for
// events that are older than Keep.
func (c Collections) suffix(l *Log, at time.Time) (string, error) {
	if at.Before(l.env.Now().Add(-c.Keep)) {
		return "", ErrTooOld
	}
	return "_" + c.start(at).Format(stamp), nil
}

func (c Collections) place(l *Log, at time.Time) (*mongo.Collection, error) {
	suffix, err := c.suffix(l, at)
	return l.db.Collection(l.name + suffix), err
}

// overlapping returns the names of the periods that overlap [from, to).
func (c Collections) overlapping(prefix string, names []string, from, to time.Time) (out []string) {
	slices.Sort(names)
	for _, name := range names {
		start, err := time.Parse(stamp, name[len(prefix)+1:])
		if err == nil && start.Add(c.Period).After(from) && (to.IsZero() || start.Before(to)) {
			out = append(out, name)
		}
	}
	return out
}

// named returns a filter for listCollections. It matches the names of all collections that hold a
// period of the log: the prefix, and twelve digits for the begin of the period.
func named(prefix string) bson.D {
	return bson.D{{"name", bson.Regex{Pattern: "^" + regexp.QuoteMeta(prefix) + `_\d{12}$`}}}
}

func (c Collections) names(ctx context.Context, l *Log, from, to time.Time) ([]string, error) {
	names, err := l.db.ListCollectionNames(ctx, named(l.name))
	if err != nil {
		return nil, fmt.Errorf("eventlog: list the collections: %w", err)
	}
	return c.overlapping(l.name, names, from, to), nil
}

func (c Collections) places(ctx context.Context, l *Log, from, to time.Time) (out []*mongo.Collection, err error) {
	names, err := c.names(ctx, l, from, to)
	for _, name := range names {
		out = append(out, l.db.Collection(name))
	}
	return out, err
}

func (Collections) create() *options.CreateCollectionOptionsBuilder {
	return options.CreateCollection()
}
func (Collections) timeIndex() *options.IndexOptionsBuilder { return options.Index() }
func (c Collections) period() time.Duration                 { return c.Period }

// over returns the time before which a period must have begun to be dropped. Such a period ended at
// least Keep and one Period ago; the additional Period is for events that arrive late.
func (c Collections) over(l *Log) time.Time { return c.start(l.env.Now().Add(-c.Keep - c.Period)) }

func (c Collections) expire(ctx context.Context, l *Log) (n int, err error) {
	names, err := c.names(ctx, l, time.Time{}, c.over(l))
	for _, name := range names {
		l.forget(l.db.Name(), name)
		err = errors.Join(err, l.db.Collection(name).Drop(ctx))
	}
	return len(names), err
}

func (d Databases) valid() error { return Collections(d).valid() }

func (d Databases) place(l *Log, at time.Time) (*mongo.Collection, error) {
	suffix, err := Collections(d).suffix(l, at)
	return l.db.Client().Database(l.db.Name() + suffix).Collection(l.name), err
}

func (d Databases) names(ctx context.Context, l *Log, from, to time.Time) ([]string, error) {
	names, err := l.db.Client().ListDatabaseNames(ctx, named(l.db.Name()))
	if err != nil {
		return nil, fmt.Errorf("eventlog: list the databases: %w", err)
	}
	return Collections(d).overlapping(l.db.Name(), names, from, to), nil
}

func (d Databases) places(ctx context.Context, l *Log, from, to time.Time) (out []*mongo.Collection, err error) {
	names, err := d.names(ctx, l, from, to)
	for _, name := range names {
		out = append(out, l.db.Client().Database(name).Collection(l.name))
	}
	return out, err
}

func (Databases) create() *options.CreateCollectionOptionsBuilder { return options.CreateCollection() }
func (Databases) timeIndex() *options.IndexOptionsBuilder         { return options.Index() }
func (d Databases) period() time.Duration                         { return d.Period }

func (d Databases) expire(ctx context.Context, l *Log) (n int, err error) {
	names, err := d.names(ctx, l, time.Time{}, Collections(d).over(l))
	for _, name := range names {
		l.forget(name, l.name)
		err = errors.Join(err, l.db.Client().Database(name).Drop(ctx))
	}
	return len(names), err
}
