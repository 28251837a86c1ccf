package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/eventlog"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// retentions has one retention of each kind. None removes events of the last twelve hours.
var retentions = map[string]eventlog.Retention{
	"forever":     nil,
	"capped":      eventlog.Capped{Bytes: 16 << 20},
	"ttl":         eventlog.TTL{Keep: 1 << 20 * time.Hour},
	"collections": eventlog.Collections{Period: time.Hour, Keep: 12 * time.Hour},
	"databases":   eventlog.Databases{Period: time.Hour, Keep: 12 * time.Hour},
}

func each(t *testing.T, test func(t *testing.T, keep eventlog.Retention)) {
	t.Helper()
	t.Parallel()
	for name, keep := range retentions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, keep)
		})
	}
}

// open returns a log, and its clock.
func open(t testing.TB, db *mongo.Database, keep eventlog.Retention) (*eventlog.Log, *patterntest.Clock) {
	t.Helper()
	clock := patterntest.NewClock()
	l, err := eventlog.New(db, eventlog.Config{Env: patterns.Env{Clock: clock}, Retention: keep})
	must(t, err)
	if _, ok := keep.(eventlog.Databases); ok {
		t.Cleanup(func() { dropPeriods(t, db) })
	}
	return l, clock
}

// dropPeriods drops the databases of the periods that a test has created.
func dropPeriods(t testing.TB, db *mongo.Database) {
	t.Helper()
	ctx := context.Background()
	names, err := db.Client().ListDatabaseNames(ctx, bson.D{})
	must(t, err)
	for _, name := range names {
		if strings.HasPrefix(name, db.Name()+"_") {
			must(t, db.Client().Database(name).Drop(ctx))
		}
	}
}

func find(t testing.TB, l *eventlog.Log, q eventlog.Query) (out []*eventlog.Event) {
	t.Helper()
	for e, err := range l.Find(context.Background(), q) {
		must(t, err)
		out = append(out, e)
	}
	return out
}

func mustHold(t testing.TB, l *eventlog.Log) {
	t.Helper()
	violations, err := l.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

// TestQueries compares queries with the events in memory, for every retention.
func TestQueries(t *testing.T) {
	each(t, func(t *testing.T, keep eventlog.Retention) {
		l, clock := open(t, patterntest.Open(t), keep)
		now := clock.Now()
		var all []*eventlog.Event
		for range 200 {
			at := now.Add(-time.Duration(rand.Int64N(int64(12*time.Hour) - 1))).Truncate(time.Millisecond)
			if rand.IntN(9) == 0 {
				at = at.Truncate(time.Hour) // at the border of two periods
			}
			all = append(all, &eventlog.Event{
				Time: at, Host: string(rune('a' + rand.IntN(3))),
				Path: string(rune('p' + rand.IntN(3))), Status: 200,
			})
		}
		slices.SortFunc(all, func(a, b *eventlog.Event) int { return a.Time.Compare(b.Time) })
		if _, capped := keep.(eventlog.Capped); !capped {
			shuffled := slices.Clone(all)
			rand.Shuffle(len(all), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			must(t, l.Append(t.Context(), eventlog.Acknowledged, shuffled...))
		} else {
			must(t, l.Append(t.Context(), eventlog.Acknowledged, all...))
		}
		mustHold(t, l)
		for range 40 {
			q := eventlog.Query{
				From: now.Add(-time.Duration(rand.IntN(12)) * time.Hour),
				To:   now.Add(-time.Duration(rand.IntN(12)*50) * time.Minute),
			}
			switch rand.IntN(4) {
			case 0:
				q.Host = "a"
			case 1:
				q.Path = "p"
			case 2:
				q = eventlog.Query{Limit: rand.Int64N(30)}
			}
			compare(t, l, q, all)
		}
		sizes, err := l.IndexSizes(t.Context())
		if err != nil || len(sizes) != 4 { // the last insert may not be included yet
			t.Errorf("%v %v", sizes, err)
		}
	})
}

func compare(t *testing.T, l *eventlog.Log, q eventlog.Query, all []*eventlog.Event) {
	t.Helper()
	want, counts := []time.Time{}, map[string]int64{}
	for _, e := range all {
		if (q.Host == "" || e.Host == q.Host) && (q.Path == "" || e.Path == q.Path) &&
			!e.Time.Before(q.From) && (q.To.IsZero() || e.Time.Before(q.To)) {
			if q.Limit == 0 || int64(len(want)) < q.Limit {
				want = append(want, e.Time)
			}
			counts[e.Time.Format(time.DateOnly)+e.Path]++
		}
	}
	got, ids := []time.Time{}, map[bson.ObjectID]bool{}
	for _, e := range find(t, l, q) {
		got = append(got, e.Time.UTC())
		ids[e.ID] = true
	}
	if !slices.Equal(got, want) || len(ids) != len(want) {
		t.Fatalf("%+v: %d events, want %d", q, len(got), len(want))
	}
	days, err := l.CountByDay(t.Context(), q)
	must(t, err)
	for _, d := range days {
		if counts[d.Day.Format(time.DateOnly)+d.Path] != d.N {
			t.Fatalf("%+v: %v", q, d)
		}
	}
	if len(days) != len(counts) {
		t.Fatalf("%+v: %v, want %v", q, days, counts)
	}
}

// TestW066 finds the events of one host on one day: 11 of 1296 events.
func TestW066(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	l, _ := open(t, db, nil)
	day := time.Date(2000, 10, 10, 0, 0, 0, 0, time.UTC)
	var events []*eventlog.Event
	for i := range 3 * 1296 {
		host := fmt.Sprint("10.0.0.", i%100)
		if i%1296 < 11 {
			host = "127.0.0.1"
		}
		at := day.Add(time.Duration(i/1296-1)*24*time.Hour + time.Duration(i%1296*7919%1296)*time.Minute)
		events = append(events, &eventlog.Event{Time: at, Host: host, Path: "/"})
	}
	must(t, l.Append(t.Context(), eventlog.Acknowledged, events...))
	if n := len(find(t, l, eventlog.Query{Host: "127.0.0.1", From: day, To: day.AddDate(0, 0, 1)})); n != 11 {
		t.Errorf("%d events", n)
	}
	byTime := bson.D{{"time", 1}, {"host", 1}}
	_, err := db.Collection("events").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: byTime})
	must(t, err)
	keys := func(hint bson.D) (n int32) {
		when := bson.D{{"$gte", day}, {"$lt", day.AddDate(0, 0, 1)}}
		find := bson.D{{"find", "events"}, {"filter", bson.D{{"host", "127.0.0.1"}, {"time", when}}}, {"hint", hint}}
		var out bson.Raw
		must(t, db.RunCommand(t.Context(), bson.D{{"explain", find}, {"verbosity", "executionStats"}}).Decode(&out))
		return out.Lookup("executionStats", "totalKeysExamined").Int32()
	}
	// The query also reads the key after the last one. Skipping to the next host of a minute costs
	// another key.
	if n := keys(bson.D{{"host", 1}, {"time", 1}}); n != 11 && n != 12 {
		t.Errorf("by host and time %d keys are looked at", n)
	}
	if n := keys(byTime); n < 1285 {
		t.Errorf("by time and host %d keys are looked at", n)
	}
}

// TestW144 has a duplicate in a batch. An ordered insert stores nothing after the duplicate. Append
// stores the other events and lists the failed one.
func TestW144(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	batch := func() []*eventlog.Event {
		a, b, c := bson.NewObjectID(), bson.NewObjectID(), bson.NewObjectID()
		var out []*eventlog.Event
		for _, id := range []bson.ObjectID{a, b, b, c} {
			out = append(out, &eventlog.Event{ID: id, Time: time.Unix(1, 0)})
		}
		return out
	}
	_, err := db.Collection("ordered").InsertMany(t.Context(), batch())
	if n, _ := db.Collection("ordered").CountDocuments(t.Context(), bson.D{}); n != 2 ||
		!mongo.IsDuplicateKeyError(err) {
		t.Errorf("%d events: %v", n, err)
	}
	l, _ := open(t, db, nil)
	events := batch()
	err = l.Append(t.Context(), eventlog.Acknowledged, events...)
	var failed *eventlog.AppendError
	if !errors.As(err, &failed) || len(failed.Failures) != 1 || failed.Failures[0].Event != events[2] ||
		!errors.Is(err, eventlog.ErrDuplicate) {
		t.Errorf("%v", err)
	}
	if n := len(find(t, l, eventlog.Query{})); n != 3 {
		t.Errorf("%d events", n)
	}
}

// TestClasses stores events of all classes, and counts lost events of class Sent.
func TestClasses(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	l, _ := open(t, db, nil)
	for _, class := range []eventlog.Class{
		eventlog.Acknowledged, eventlog.Journaled, eventlog.Replicated,
		eventlog.ReplicatedJournaled,
	} {
		must(t, l.Append(t.Context(), class, &eventlog.Event{Path: "/"}))
	}
	const sent = 20
	for i := range sent {
		must(t, l.Append(t.Context(), eventlog.Sent, &eventlog.Event{Path: fmt.Sprint("/", i)}))
	}
	for end := time.Now().Add(20 * time.Second); len(find(t, l, eventlog.Query{})) < 4+
		sent; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("events were lost") // the server is up
		}
	}
	if got, err := l.Losses(t.Context(), eventlog.Query{}); err != nil || len(got) != 1 ||
		got[0].Stored != sent || got[0].Lost != 0 {
		t.Errorf("%v %v", got, err)
	}
	_, err := db.Collection("events").DeleteMany(t.Context(), bson.D{{"number", bson.D{{"$in", bson.A{3, 7, 8}}}}})
	must(t, err)
	if got, err := l.Losses(t.Context(), eventlog.Query{}); err != nil || len(got) != 1 ||
		got[0].Stored != sent-3 || got[0].Lost != 3 {
		t.Errorf("%v %v", got, err)
	}
}

// TestRotate lets hours pass: events that are too old are refused and removed, and no others.
func TestRotate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"collections", "databases"} {
		l, clock := open(t, patterntest.Open(t), retentions[name])
		first := clock.Now()
		var all []*eventlog.Event
		for range 20 {
			for _, age := range []time.Duration{0, 20 * time.Minute, 11 * time.Hour} {
				all = append(all, &eventlog.Event{Time: clock.Now().Add(-age)})
				must(t, l.Append(t.Context(), eventlog.Acknowledged, all[len(all)-1]))
			}
			clock.Advance(time.Hour)
			_, err := l.Maintain(t.Context())
			must(t, err)
			mustHold(t, l)
			since := clock.Now().Add(-12 * time.Hour)
			var want int
			for _, e := range all {
				if !e.Time.Before(since) {
					want++
				}
			}
			if n := len(find(t, l, eventlog.Query{From: since})); n != want {
				t.Fatalf("%s: %d events, want %d", name, n, want)
			}
		}
		if n := len(find(t, l, eventlog.Query{To: first})); n != 0 {
			t.Errorf("%s: %d events are too old", name, n)
		}
		if err := l.Append(t.Context(), eventlog.Acknowledged,
			&eventlog.Event{Time: first}); !errors.Is(err, eventlog.ErrTooOld) {
			t.Error(err)
		}
	}
}

// TestCapped writes more events than a capped collection may hold: only the newest ones remain.
func TestCapped(t *testing.T) {
	t.Parallel()
	l, clock := open(t, patterntest.Open(t), eventlog.Capped{Bytes: 1 << 20, Documents: 10})
	for i := range 25 {
		must(t, l.Append(t.Context(), eventlog.Acknowledged,
			&eventlog.Event{Time: clock.Now().Add(time.Duration(i) * time.Second)}))
	}
	if got := find(t, l, eventlog.Query{}); len(got) != 10 || !got[0].Time.Equal(clock.Now().Add(15*time.Second)) {
		t.Errorf("%d events", len(got))
	}
	if err := l.Shard(t.Context()); !errors.Is(err, eventlog.ErrCapped) {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for _, keep := range []eventlog.Retention{
		eventlog.Capped{},
		eventlog.TTL{Keep: 1},
		eventlog.Collections{Period: time.Second, Keep: time.Hour},
		eventlog.Databases{Period: time.Hour, Keep: time.Minute},
	} {
		if _, err := eventlog.New(db, eventlog.Config{Retention: keep}); err == nil {
			t.Errorf("%+v is taken", keep)
		}
	}
	for _, keep := range retentions {
		l, _ := open(t, db, keep)
		if _, capped := keep.(eventlog.Capped); !capped {
			if err := l.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
				t.Error(err)
			}
		}
		must(t, l.Append(t.Context(), eventlog.Acknowledged))
	}
}

// TestTogether lets several logs append and maintain at the same time while hours pass. No event is
// lost.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, keep eventlog.Retention) {
		const workers, rounds = 5, 12
		db := patterntest.Open(t)
		_, clock := open(t, db, keep)
		var wg sync.WaitGroup
		for range workers {
			l, err := eventlog.New(db, eventlog.Config{Env: patterns.Env{Clock: clock}, Retention: keep})
			must(t, err)
			wg.Go(func() {
				for i := range rounds {
					at := clock.Now().Truncate(time.Hour)
					if err := l.Append(t.Context(), eventlog.Acknowledged, &eventlog.Event{Time: at},
						&eventlog.Event{Time: at.Add(time.Minute)}); err != nil {
						t.Error(err)
					}
					if i%4 == 0 {
						clock.Advance(20 * time.Minute)
						if _, err := l.Maintain(t.Context()); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		l, err := eventlog.New(db, eventlog.Config{Env: patterns.Env{Clock: clock}, Retention: keep})
		must(t, err)
		mustHold(t, l)
		if n := len(find(t, l, eventlog.Query{})); n != 2*workers*rounds {
			t.Errorf("%d events of %d", n, 2*workers*rounds)
		}
	})
}

// TestCrashAppend lets the process die at every point. Then it appends the same events again, and
// each is stored once.
func TestCrashAppend(t *testing.T) {
	t.Parallel()
	for name, keep := range retentions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := patterntest.NewClock().Now()
			events := func() (out []*eventlog.Event) {
				for i := range 4 {
					id := bson.ObjectID{byte(i + 1)}
					out = append(out, &eventlog.Event{
						ID:   id,
						Time: now.Add(-time.Duration(i%2) * 90 * time.Minute), Path: "/",
					})
				}
				return out
			}
			points := patterntest.Crash(t, patterntest.Scenario{
				Operation: func(ctx context.Context, db *mongo.Database) error {
					l, err := eventlog.New(db,
						eventlog.Config{Env: patterns.Env{Clock: patterntest.NewClock()}, Retention: keep})
					if err != nil {
						return err
					}
					return l.Append(ctx, eventlog.Journaled, events()...)
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					l, _ := open(t, db, keep)
					stored := len(find(t, l, eventlog.Query{}))
					var failed *eventlog.AppendError
					err := l.Append(t.Context(), eventlog.Journaled, events()...)
					if errors.As(err, &failed) != (stored > 0) ||
						stored > 0 && (len(failed.Failures) != stored || !errors.Is(err, eventlog.ErrDuplicate)) {
						t.Errorf("%d were stored: %v", stored, err)
					}
					if death.Survived && stored != 4 {
						t.Errorf("%d were stored", stored)
					}
					if n := len(find(t, l, eventlog.Query{})); n != 4 {
						t.Errorf("%d events", n)
					}
					mustHold(t, l)
				},
			})
			want := 10
			if name == "collections" || name == "databases" {
				want = 20
			}
			if points != want {
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestCrashMaintain lets the process die at every point. The next Maintain continues.
func TestCrashMaintain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"collections", "databases"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keep := retentions[name]
			later := func(db *mongo.Database) (*eventlog.Log, error) {
				clock := patterntest.NewClock()
				clock.Advance(13*time.Hour + 30*time.Minute)
				return eventlog.New(db, eventlog.Config{Env: patterns.Env{Clock: clock}, Retention: keep})
			}
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					l, clock := open(t, db, keep)
					for i := range 4 {
						must(t, l.Append(t.Context(), eventlog.Acknowledged,
							&eventlog.Event{Time: clock.Now().Add(time.Duration(2*i-5) * time.Hour)}))
					}
				},
				Operation: func(ctx context.Context, db *mongo.Database) error {
					l, err := later(db)
					if err != nil {
						return err
					}
					_, err = l.Maintain(ctx)
					return err
				},
				After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) {
					open(t, db, keep) // so that the databases are dropped at the end
					l, err := later(db)
					must(t, err)
					for i := range 2 {
						n, err := l.Maintain(t.Context())
						must(t, err)
						if i == 1 && n > 0 {
							t.Errorf("%d collections are removed by a second time", n)
						}
					}
					mustHold(t, l)
					if n := len(find(t, l, eventlog.Query{})); n != 1 {
						t.Errorf("%d events", n)
					}
				},
			})
			if points < 20 {
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestBroken inserts events that violate each rule, as other programs could, and expects Check to
// find them.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		keep       string
		coll, want string
		time       any
	}{
		{"forever", "events", eventlog.RuleTime, "noon"},
		{"forever", "events", eventlog.RuleTime, nil},
		{"collections", "events_202605011200", eventlog.RulePlace, time.Date(2026, 5, 1, 13, 0, 0, 0, time.UTC)},
		{"collections", "events_202605011200", eventlog.RulePlace, time.Date(2026, 5, 1, 11, 59, 0, 0, time.UTC)},
		{"collections", "events_202604011200", eventlog.RuleGone, time.Date(2026, 4, 1, 12, 59, 0, 0, time.UTC)},
		{"databases", "", eventlog.RulePlace, time.Date(2026, 5, 1, 11, 59, 0, 0, time.UTC)},
	} {
		db := patterntest.Open(t)
		l, clock := open(t, db, retentions[tt.keep])
		must(t, l.Append(t.Context(), eventlog.Acknowledged, &eventlog.Event{Time: clock.Now()}))
		mustHold(t, l)
		coll := db.Collection(tt.coll)
		if tt.coll == "" {
			coll = db.Client().Database(db.Name() + "_202605011200").Collection("events")
		}
		_, err := coll.InsertOne(t.Context(), bson.D{{"time", tt.time}})
		must(t, err)
		violations, err := l.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != tt.want {
			t.Errorf("%v: %v %v", tt, violations, err)
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	l, clock := open(t, db, retentions["collections"])
	must(t, l.Append(t.Context(), eventlog.Acknowledged, &eventlog.Event{Time: clock.Now()}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	for len(find(t, l, eventlog.Query{})) > 0 {
		clock.Advance(15 * time.Minute)
		time.Sleep(2 * time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	for _, keep := range []eventlog.Retention{nil, retentions["collections"]} {
		s := patterntest.Start(t)
		n := s.NoScans(t, func(ctx context.Context, db *mongo.Database) {
			l, clock := open(t, db, keep)
			must(t, l.EnsureIndexes(ctx))
			must(t, l.Append(ctx, eventlog.Sent, &eventlog.Event{Path: "/", Host: "h"}))
			span := eventlog.Query{From: clock.Now().Add(-time.Hour), To: clock.Now().Add(time.Hour)}
			for _, q := range []eventlog.Query{
				span,
				{Host: "h"},
				{Path: "/"},
				{Host: "h", From: span.From},
				{Path: "/", To: span.To},
			} {
				find(t, l, q)
				_, err := l.CountByDay(ctx, q)
				must(t, err)
			}
			_, err := l.Losses(ctx, span)
			must(t, err)
			_, err = l.Maintain(ctx)
			must(t, err)
		})
		if n < 11 {
			t.Errorf("%d commands were explained", n)
		}
	}
}

// TestStops ends the iteration over the results of a query before its end.
func TestStops(t *testing.T) {
	t.Parallel()
	l, clock := open(t, patterntest.Open(t), retentions["collections"])
	for i := range 300 {
		must(t, l.Append(t.Context(), eventlog.Acknowledged,
			&eventlog.Event{Time: clock.Now().Add(-time.Duration(i) * 2 * time.Minute)}))
	}
	n := 0
	for _, err := range l.Find(t.Context(), eventlog.Query{}) {
		must(t, err)
		if n++; n == 150 {
			break
		}
	}
	if n != 150 {
		t.Errorf("%d events", n)
	}
}
