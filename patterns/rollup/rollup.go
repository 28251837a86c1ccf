package rollup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of the package.
var (
	// ErrEvent is returned for an event without a key.
	ErrEvent = errors.New("rollup: an event needs a key")
	// ErrMapReduce is returned if the server does not support mapReduce any more.
	ErrMapReduce = errors.New("rollup: the server has no mapReduce")
)

// The defaults of Config.
const (
	DefaultSettle   = time.Minute
	DefaultInterval = time.Minute
)

// slice is the span of arrivals that an update processes in one step. The keys of a slice are kept
// in memory.
const slice = time.Hour

// Config configures a Rollup. The zero value works.
type Config struct {
	patterns.Env
	// Events is the collection of the events; "events" if empty.
	Events string
	// Prefix is a prefix of the names of the other collections; "stats." if empty.
	Prefix string
	// These are the names of an event's fields. KeyField names the key, "userid" if empty.
	// TimeField names the time at which the event happened, "ts" if empty. ValueField names the
	// value to sum up, "length" if empty. ArrivalField names the time of recording, "at" if empty.
	KeyField, TimeField, ValueField, ArrivalField string
	// Location is the time zone in which hours, days, weeks, months and years begin; UTC if nil.
	Location *time.Location
	// FirstDay is the first day of a week. The zero value is Sunday.
	FirstDay time.Weekday
	// Settle is the longest time between the arrival time of an event and the moment when updates
	// can see it. It covers the duration of an insert and differences between clocks; DefaultSettle
	// if zero.
	Settle time.Duration
	// Interval is the time between two updates of Run; DefaultInterval if zero.
	Interval time.Duration
	// Keep is the age at which events are removed; their sums stay. If zero, events are kept.
	Keep time.Duration
	// MapReduce makes the rollup use the command mapReduce instead of aggregate. Then only one
	// process at a time may update. A program that embeds Sheaf must import
	// github.com/sheafdb/sheaf/js for it.
	MapReduce bool
}

// Rollup sums up events. It is safe for concurrent use.
type Rollup struct {
	env    patterns.Env
	cfg    Config
	db     *mongo.Database
	events *mongo.Collection
	state  *mongo.Collection

	prepared patterns.Prepared
}

// New returns a rollup that stores its documents in db.
func New(db *mongo.Database, cfg Config) (*Rollup, error) {
	if cfg.Settle < 0 || cfg.Interval < 0 || cfg.Keep < 0 || cfg.FirstDay < time.Sunday ||
		cfg.FirstDay > time.Saturday {
		return nil, fmt.Errorf("rollup: settle %v, interval %v, keep %v, first day %d", cfg.Settle,
			cfg.Interval, cfg.Keep, cfg.FirstDay)
	}
	for _, field := range []struct {
		name    *string
		without string
	}{
		{&cfg.Events, "events"},
		{&cfg.Prefix, "stats."},
		{&cfg.KeyField, "userid"},
		{&cfg.TimeField, "ts"},
		{&cfg.ValueField, "length"},
		{&cfg.ArrivalField, "at"},
	} {
		if *field.name == "" {
			*field.name = field.without
		}
		if strings.HasPrefix(*field.name, "$") ||
			cfg.MapReduce && field.without != "stats." && strings.Contains(*field.name, ".") {
			return nil, fmt.Errorf("rollup: the name %q", *field.name)
		}
	}
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	if cfg.Settle == 0 {
		cfg.Settle = DefaultSettle
	}
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	return &Rollup{
		env: cfg.WithDefaults(), cfg: cfg, db: db,
		events: db.Collection(cfg.Events), state: db.Collection(cfg.Prefix + "state"),
	}, nil
}

// Event is an event to sum up.
type Event struct {
	// ID identifies the event: an event that is recorded again with the same ID counts once. If
	// nil, each event gets an ID of its own.
	ID any
	// Key is the key under which the event is summed up, for example a user.
	Key any
	// At is the time at which the event happened; now if zero.
	At time.Time
	// Value is the number to sum up.
	Value int64
}

// duplicateKey is the error code for a document that already exists.
const duplicateKey = 11000

// Record inserts events. It ignores events whose ID already exists, so the same events may be
// recorded again after an error. A program may also insert its own documents with the fields that
// Config names.
func (r *Rollup) Record(ctx context.Context, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	now := r.env.Now()
	docs := make([]bson.D, len(events))
	for i, e := range events {
		if e.Key == nil {
			return ErrEvent
		}
		if e.ID == nil {
			e.ID = bson.NewObjectID()
		}
		if e.At.IsZero() {
			e.At = now
		}
		docs[i] = bson.D{
			{"_id", e.ID},
			{r.cfg.KeyField, e.Key},
			{r.cfg.TimeField, e.At},
			{r.cfg.ValueField, e.Value},
			{r.cfg.ArrivalField, now},
		}
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	_, err := r.events.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
	failed := mongo.BulkWriteException{}
	if errors.As(err, &failed) && failed.WriteConcernError == nil {
		err = nil
		for _, e := range failed.WriteErrors {
			if e.Code != duplicateKey {
				err = failed
			}
		}
	}
	if err != nil {
		return fmt.Errorf("rollup: record events: %w", err)
	}
	return nil
}

// Run calls Update in a loop until ctx ends. It logs errors; the next update tries again.
func (r *Rollup) Run(ctx context.Context) error {
	for {
		n, err := r.Update(ctx)
		if err != nil && ctx.Err() == nil {
			r.env.Logger.Warn("events were not summed up", "error", err)
		}
		r.env.Metrics.Add("rollup.hours", int64(n))
		if err := r.env.Clock.Sleep(ctx, r.cfg.Interval); err != nil {
			return err
		}
	}
}

// stateID is the _id of the state, which says up to which arrival time events are summed up.
const stateID = "arrivals"

// state is the document with the _id stateID.
type state struct {
	Until time.Time `bson:"until"`
}

func (r *Rollup) until(ctx context.Context) (time.Time, error) {
	var s state
	err := r.state.FindOne(ctx, bson.D{{"_id", stateID}}).Decode(&s)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return time.Time{}, fmt.Errorf("rollup: read how far events are summed up: %w", err)
	}
	return s.Until, nil
}

// advance stores the arrival time up to which events are summed up. Another process may already
// have stored a later time.
func (r *Rollup) advance(ctx context.Context, until time.Time) error {
	change := bson.D{{"$max", state{until}}}
	err := patterns.Upsert(ctx, r.state, []mongo.WriteModel{
		mongo.NewUpdateOneModel().SetFilter(bson.D{{"_id", stateID}}).SetUpdate(change).SetUpsert(true),
	})
	if err != nil {
		return fmt.Errorf("rollup: note how far events are summed up: %w", err)
	}
	return nil
}

// Update sums up the events that have arrived since the last update. It returns the number of hours
// that it has summed up, where an hour counts once for each key. It may run at any time, any number
// of times, in several processes.
func (r *Rollup) Update(ctx context.Context) (n int, err error) {
	if err := r.ready(ctx); err != nil {
		return 0, err
	}
	cutoff := r.env.Now().Add(-r.cfg.Settle)
	from, err := r.until(ctx)
	if err != nil {
		return 0, err
	}
	for {
		var next bson.Raw
		since := bson.D{{r.cfg.ArrivalField, bson.D{{"$gte", from}, {"$lt", cutoff}}}}
		opts := options.FindOne().SetSort(bson.D{{r.cfg.ArrivalField, 1}}).
			SetProjection(bson.D{{r.cfg.ArrivalField, 1}})
		err := r.events.FindOne(ctx, since, opts).Decode(&next)
		if errors.Is(err, mongo.ErrNoDocuments) {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("rollup: find the next event: %w", err)
		}
		from = next.Lookup(strings.Split(r.cfg.ArrivalField, ".")...).Time()
		to := from.Add(slice)
		if to.After(cutoff) {
			to = cutoff
		}
		touched, err := r.touched(ctx, r.cfg.ArrivalField, from, to)
		if err != nil {
			return n, err
		}
		if err := r.recompute(ctx, touched); err != nil {
			return n, err
		}
		if err := r.advance(ctx, to); err != nil {
			return n, err
		}
		n += touched.size()
		from = to
	}
}

// Recompute sums up all hours in which events happened in [from, to), whenever they arrived, and
// all higher levels that contain these hours. Use it for events that became visible later than
// Settle, and for events that were stored before the first update.
func (r *Rollup) Recompute(ctx context.Context, from, to time.Time) (n int, err error) {
	for ; from.Before(to); from = from.Add(24 * time.Hour) {
		end := from.Add(24 * time.Hour)
		if end.After(to) {
			end = to
		}
		touched, err := r.touched(ctx, r.cfg.TimeField, from, end)
		if err != nil {
			return n, err
		}
		if err := r.recompute(ctx, touched); err != nil {
			return n, err
		}
		n += touched.size()
	}
	return n, nil
}
