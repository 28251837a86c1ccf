package rollup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/rollup"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open returns a rollup, and its clock.
func open(t testing.TB, db *mongo.Database, cfg rollup.Config) (*rollup.Rollup, *patterntest.Clock) {
	t.Helper()
	clock := patterntest.NewClock()
	if cfg.Clock == nil {
		cfg.Clock = clock
	}
	r, err := rollup.New(db, cfg)
	must(t, err)
	must(t, r.EnsureIndexes(context.Background()))
	return r, clock
}

func update(t testing.TB, r *rollup.Rollup) int {
	t.Helper()
	n, err := r.Update(context.Background())
	must(t, err)
	return n
}

// needsMapReduce skips a test if the server does not support mapReduce.
func needsMapReduce(t *testing.T) {
	t.Helper()
	r, clock := open(t, patterntest.Open(t), rollup.Config{MapReduce: true})
	must(t, r.Record(t.Context(), w044()[0]))
	clock.Advance(time.Hour)
	if _, err := r.Update(t.Context()); errors.Is(err, rollup.ErrMapReduce) {
		t.Skip(err)
	}
}

func mustHold(t testing.TB, r *rollup.Rollup) {
	t.Helper()
	violations, err := r.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

var (
	day    = time.Date(2000, 10, 10, 0, 0, 0, 0, time.UTC)
	levels = []rollup.Level{rollup.Hourly, rollup.Daily, rollup.Weekly, rollup.Monthly, rollup.Yearly}
)

// w044 returns the events of worked example W044.
func w044() []rollup.Event {
	at := func(h, m int) time.Time { return day.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute) }
	return []rollup.Event{
		{ID: 1, Key: "u1", At: at(10, 5), Value: 10},
		{ID: 2, Key: "u1", At: at(10, 40), Value: 20},
		{ID: 3, Key: "u1", At: at(11, 15), Value: 60},
	}
}

// stats returns the sums of a level as texts.
func stats(t testing.TB, r *rollup.Rollup, level rollup.Level, key any) (out []string) {
	t.Helper()
	got, err := r.Stats(context.Background(), level, key, day.AddDate(-1, 0, 0), day.AddDate(1, 0, 0))
	must(t, err)
	for _, s := range got {
		out = append(out, fmt.Sprint(s.ID.Key, " ", s.ID.Start.UTC().Format("2006-01-02T15"), " ", s.Value.Total, " ",
			s.Value.Count, " ", s.Value.Mean))
	}
	return out
}

// TestW044 sums up with both commands, after a single update and after an update for each event.
func TestW044(t *testing.T) {
	t.Parallel()
	for _, mapReduce := range []bool{false, true} {
		if mapReduce {
			needsMapReduce(t)
		}
		for _, once := range []bool{false, true} {
			r, clock := open(t, patterntest.Open(t), rollup.Config{MapReduce: mapReduce})
			for _, e := range w044() {
				must(t, r.Record(t.Context(), e))
				clock.Advance(2 * time.Minute)
				if !once {
					update(t, r)
					update(t, r)
				}
			}
			update(t, r)
			mustHold(t, r)
			for level, want := range map[rollup.Level]string{
				rollup.Hourly:  "[u1 2000-10-10T10 30 2 15 u1 2000-10-10T11 60 1 60]",
				rollup.Daily:   "[u1 2000-10-10T00 90 3 30]",
				rollup.Weekly:  "[u1 2000-10-08T00 90 3 30]",
				rollup.Monthly: "[u1 2000-10-01T00 90 3 30]",
				rollup.Yearly:  "[u1 2000-01-01T00 90 3 30]",
			} {
				if got := fmt.Sprint(stats(t, r, level, "u1")); got != want {
					t.Errorf("mapReduce %v, %v: %s, want %s", mapReduce, level, got, want)
				}
			}
		}
	}
}

// TestW045 reduces in two steps, with the same result as in one step.
func TestW045(t *testing.T) {
	t.Parallel()
	needsMapReduce(t)
	db := patterntest.Open(t)
	const reduce = `function(key, values) { var r = {total: 0, count: 0}; values.forEach(function(v) { r.total += v.total; r.count += v.count; }); return r; }`
	for _, parts := range [][][]int{{{10, 20, 60}}, {{10, 20}, {60}}} {
		must(t, db.Collection("out").Drop(t.Context()))
		for _, part := range parts {
			must(t, db.Collection("in").Drop(t.Context()))
			for _, n := range part {
				_, err := db.Collection("in").InsertOne(t.Context(), bson.D{{"n", n}})
				must(t, err)
			}
			must(t, db.RunCommand(t.Context(), bson.D{
				{"mapReduce", "in"},
				{"map", bson.JavaScript(`function() { emit("k", {total: this.n, count: 1}); }`)},
				{"reduce", bson.JavaScript(reduce)},
				{"out", bson.D{{"reduce", "out"}}},
			}).Err())
		}
		var doc struct{ Value struct{ Total, Count int } }
		must(t, db.Collection("out").FindOne(t.Context(), bson.D{}).Decode(&doc))
		if doc.Value.Total != 90 || doc.Value.Count != 3 {
			t.Errorf("%v: %v", parts, doc)
		}
	}
}

// random returns events of a year; some of them happen long before they arrive.
func random(n int) (out []rollup.Event) {
	for i := range n {
		at := day.Add(time.Duration(rand.Int64N(int64(300*24*time.Hour) / (1 + int64(i%7)*40))))
		out = append(out, rollup.Event{
			ID: fmt.Sprint(rand.Int64(), i), Key: rand.IntN(3), At: at,
			Value: rand.Int64N(100) - 20,
		})
	}
	return out
}

// everything returns all sums, without the times at which they were computed.
func everything(t testing.TB, db *mongo.Database, prefix string) (out [][]bson.M) {
	t.Helper()
	for _, level := range levels {
		found, err := db.Collection(prefix+level.String()).Find(context.Background(), bson.D{},
			options.Find().SetSort(bson.D{{"_id", 1}}).SetProjection(bson.D{{"value.ts", 0}}))
		must(t, err)
		var docs []bson.M
		must(t, found.All(context.Background(), &docs))
		out = append(out, docs)
	}
	return out
}

// TestSchedules updates at random times, repeatedly, in several processes, while events arrive, and
// compares the sums with a single run over all events.
func TestSchedules(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	clock := patterntest.NewClock()
	var arriving sync.RWMutex // held while an event is recorded: the clock must not advance meanwhile
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			r, _ := open(t, db, rollup.Config{Env: patterns.Env{Clock: clock}})
			for _, e := range random(25) {
				arriving.RLock()
				if err := r.Record(t.Context(), e, rollup.Event{Key: 9, Value: 1}); err != nil {
					t.Error(err)
				}
				arriving.RUnlock()
			}
		})
		wg.Go(func() {
			r, _ := open(t, db, rollup.Config{Env: patterns.Env{Clock: clock}})
			for range 12 {
				arriving.Lock()
				clock.Advance(time.Duration(rand.Int64N(int64(3 * time.Minute))))
				arriving.Unlock()
				if _, err := r.Update(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	clock.Advance(time.Hour)
	r, _ := open(t, db, rollup.Config{Env: patterns.Env{Clock: clock}})
	update(t, r)
	mustHold(t, r)
	batch, _ := open(t, db, rollup.Config{Env: patterns.Env{Clock: clock}, Prefix: "batch."})
	update(t, batch)
	if got, want := everything(t, db, "stats."), everything(t, db, "batch."); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := update(t, r); n != 0 {
		t.Errorf("%d hours are summed up again", n)
	}
}

// TestZones sums up by the days of other time zones, with weeks that begin on Monday.
func TestZones(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Skip(err)
		}
		r, clock := open(t, patterntest.Open(t), rollup.Config{Location: loc, FirstDay: time.Monday})
		clock.Advance(-8 * 30 * 24 * time.Hour)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, loc)
		var events []rollup.Event
		for at := start; at.Year() == 2026; at = at.Add(1111 * time.Minute) {
			events = append(events, rollup.Event{Key: "k", At: at, Value: 1})
		}
		must(t, r.Record(t.Context(), events...))
		clock.Advance(time.Hour)
		update(t, r)
		mustHold(t, r)
		for _, level := range levels {
			got, err := r.Stats(t.Context(), level, "k", start.AddDate(0, 0, -7), start.AddDate(2, 0, 0))
			must(t, err)
			var n int64
			for i, s := range got {
				n += s.Value.Total
				if i > 0 && s.ID.Start.Before(r.End(level, got[i-1].ID.Start)) {
					t.Errorf("%s %v: %v overlaps the one before", zone, level, s.ID.Start)
				}
				if level == rollup.Weekly && s.ID.Start.In(loc).Weekday() != time.Monday {
					t.Errorf("%s: %v", zone, s.ID.Start.In(loc))
				}
			}
			if n != int64(len(events)) {
				t.Errorf("%s %v: %d of %d", zone, level, n, len(events))
			}
		}
	}
}

// TestCrash lets an update die at every point. The next update counts every event once.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, mapReduce := range []bool{false, true} {
		t.Run(fmt.Sprint(mapReduce), func(t *testing.T) {
			t.Parallel()
			if mapReduce {
				needsMapReduce(t)
			}
			cfg := rollup.Config{MapReduce: mapReduce}
			late := func(d time.Duration) rollup.Config {
				clock := patterntest.NewClock()
				clock.Advance(d)
				cfg := cfg
				cfg.Clock = clock
				return cfg
			}
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					r, _ := open(t, db, cfg)
					must(t, r.Record(t.Context(), w044()[0]))
					r, _ = open(t, db, late(time.Hour))
					update(t, r)
					must(t, r.Record(t.Context(), w044()[1:]...))
				},
				Operation: func(ctx context.Context, db *mongo.Database) error {
					r, err := rollup.New(db, late(2*time.Hour))
					if err != nil {
						return err
					}
					_, err = r.Update(ctx)
					return err
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					r, _ := open(t, db, late(2*time.Hour))
					if death.Survived {
						mustHold(t, r)
					}
					update(t, r)
					mustHold(t, r)
					if got := fmt.Sprint(stats(t, r, rollup.Yearly, "u1")); got != "[u1 2000-01-01T00 90 3 30]" {
						t.Error(got)
					}
				},
			})
			if points != 22 { // 2 hours, 4 higher levels, and 5 commands around them
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestCrashRecord lets the process die while it records events. The same events may be recorded
// again.
func TestCrashRecord(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Operation: func(ctx context.Context, db *mongo.Database) error {
			r, err := rollup.New(db, rollup.Config{})
			if err != nil {
				return err
			}
			return r.Record(ctx, w044()...)
		},
		After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) {
			clock := patterntest.NewClock()
			clock.Advance(100 * 365 * 24 * time.Hour) // the events may have the system's time
			r, _ := open(t, db, rollup.Config{Env: patterns.Env{Clock: clock}})
			must(t, r.Record(t.Context(), w044()...))
			clock.Advance(time.Hour)
			update(t, r)
			mustHold(t, r)
			if got := fmt.Sprint(stats(t, r, rollup.Daily, "u1")); got != "[u1 2000-10-10T00 90 3 30]" {
				t.Error(got)
			}
		},
	})
	if points != 2 {
		t.Errorf("%d points", points)
	}
}

// TestRecompute finds events that became visible later than Settle.
func TestRecompute(t *testing.T) {
	t.Parallel()
	r, clock := open(t, patterntest.Open(t), rollup.Config{})
	must(t, r.Record(t.Context(), w044()[0]))
	clock.Advance(time.Hour)
	update(t, r)
	clock.Advance(-2 * time.Hour)
	must(t, r.Record(t.Context(), w044()[1]))
	clock.Advance(2 * time.Hour)
	update(t, r)
	if violations, err := r.Check(t.Context()); err != nil || len(violations) != 1 {
		t.Errorf("%v %v", violations, err)
	}
	if n, err := r.Recompute(t.Context(), day, day.AddDate(0, 0, 3)); err != nil || n != 1 {
		t.Errorf("%d hours: %v", n, err)
	}
	mustHold(t, r)
}

// TestBroken inserts documents that violate each rule, as other programs could, and expects Check
// to find them.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ coll, change, want string }{
		{"events", `{"$inc": {"length": 2}}`, rollup.RuleEvents},
		{"stats.hourly", "", rollup.RuleEvents},
		{"stats.daily", "", rollup.RuleSums},
		{"stats.daily", `{"$inc": {"value.total": 1}, "$set": {"value.mean": 11.0}}`, rollup.RuleSums},
		{"stats.monthly", "", rollup.RuleSums},
		{"stats.yearly", `{"$inc": {"value.count": 1, "value.total": 10}}`, rollup.RuleSums},
		{"stats.yearly", `{"$inc": {"value.total": -1}, "$set": {"value.mean": 9.0}}`, rollup.RuleSums},
		{"stats.weekly", "", rollup.RuleSums},
		{"stats.weekly", `{"$inc": {"value.mean": 1}}`, rollup.RuleMean},
	} {
		db := patterntest.Open(t)
		r, clock := open(t, db, rollup.Config{})
		must(t, r.Record(t.Context(), w044()[0]))
		clock.Advance(time.Hour)
		update(t, r)
		mustHold(t, r)
		var err error
		if tt.change == "" {
			_, err = db.Collection(tt.coll).DeleteMany(t.Context(), bson.D{})
		} else {
			var change bson.D
			must(t, bson.UnmarshalExtJSON([]byte(tt.change), false, &change))
			_, err = db.Collection(tt.coll).UpdateMany(t.Context(), bson.D{}, change)
		}
		must(t, err)
		violations, err := r.Check(t.Context())
		if err != nil || len(violations) == 0 || violations[0].Rule != tt.want {
			t.Errorf("%s %s: %v %v", tt.coll, tt.change, violations, err)
		}
	}
}

// TestKeep does not change sums whose events have been removed.
func TestKeep(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	r, clock := open(t, db, rollup.Config{Keep: 24 * time.Hour})
	must(t, r.Record(t.Context(), w044()...))
	clock.Advance(time.Hour)
	update(t, r)
	_, err := db.Collection("events").DeleteMany(t.Context(), bson.D{{"_id", bson.D{{"$lt", 3}}}})
	must(t, err)
	if _, err := r.Recompute(t.Context(), day, day.AddDate(0, 0, 1)); err != nil {
		t.Error(err)
	}
	mustHold(t, r)
	if got := fmt.Sprint(stats(t, r, rollup.Daily, "u1")); got != "[u1 2000-10-10T00 90 3 30]" {
		t.Error(got)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	r, clock := open(t, patterntest.Open(t), rollup.Config{})
	must(t, r.Record(t.Context(), w044()...))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	for len(stats(t, r, rollup.Yearly, "u1")) == 0 {
		clock.Advance(time.Minute)
		time.Sleep(2 * time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	r, _ := open(t, db, rollup.Config{})
	if err := r.Record(t.Context(), rollup.Event{Value: 1}); !errors.Is(err, rollup.ErrEvent) {
		t.Error(err)
	}
	must(t, r.Record(t.Context()))
	if err := r.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	for _, cfg := range []rollup.Config{
		{Settle: -1},
		{Interval: -1},
		{Keep: -1},
		{FirstDay: 7},
		{KeyField: "$a"},
		{KeyField: "a.b", MapReduce: true},
	} {
		if _, err := rollup.New(db, cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
	// Documents of other programs that lack a field are left out.
	_, err := db.Collection("events").InsertOne(t.Context(), bson.D{{"userid", 1}, {"at", time.Unix(0, 0)}})
	must(t, err)
	update(t, r)
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	s := patterntest.Start(t)
	open(t, s.Database(), rollup.Config{})
	n := s.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		r, clock := open(t, db, rollup.Config{})
		must(t, r.Record(ctx, w044()...))
		clock.Advance(time.Hour)
		update(t, r)
		_, err := r.Recompute(ctx, day, day.AddDate(0, 0, 1))
		must(t, err)
		stats(t, r, rollup.Daily, "u1")
	})
	if n < 12 {
		t.Errorf("%d commands were explained", n)
	}
}

// TestCrashRecompute lets the process die at every point. Recompute is repeated, and counts no
// event twice.
func TestCrashRecompute(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			r, _ := open(t, db, rollup.Config{})
			must(t, r.Record(t.Context(), w044()...))
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			r, err := rollup.New(db, rollup.Config{})
			if err != nil {
				return err
			}
			_, err = r.Recompute(ctx, day, day.AddDate(0, 0, 1))
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			r, _ := open(t, db, rollup.Config{})
			if death.Survived {
				mustHold(t, r)
			}
			_, err := r.Recompute(t.Context(), day, day.AddDate(0, 0, 1))
			must(t, err)
			mustHold(t, r)
			if got := fmt.Sprint(stats(t, r, rollup.Monthly, "u1")); got != "[u1 2000-10-01T00 90 3 30]" {
				t.Error(got)
			}
		},
	})
	if points != 14 { // the touched hours, two hours, four higher levels
		t.Errorf("%d points", points)
	}
}
