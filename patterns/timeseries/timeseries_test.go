package timeseries_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/timeseries"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func withClock(cfg timeseries.Config) timeseries.Config {
	if cfg.Clock == nil {
		cfg.Clock = patterntest.NewClock()
	}
	return cfg
}

func buckets(t testing.TB, db *mongo.Database, cfg timeseries.Config) *timeseries.Buckets {
	t.Helper()
	b, err := timeseries.New(db, withClock(cfg))
	must(t, err)
	must(t, b.EnsureIndexes(context.Background()))
	return b
}

func windows(t testing.TB, db *mongo.Database, cfg timeseries.Config) *timeseries.Windows {
	t.Helper()
	w, err := timeseries.NewWindows(db, withClock(cfg))
	must(t, err)
	must(t, w.EnsureIndexes(context.Background()))
	return w
}

// design is a design, with the resolution that queries can use.
type design struct {
	name string
	slot time.Duration
	open func(t testing.TB, db *mongo.Database) timeseries.Series
}

var designs = []design{
	{
		"seconds", time.Second,
		func(t testing.TB, db *mongo.Database) timeseries.Series { return buckets(t, db, timeseries.Config{}) },
	},
	{"minutes", time.Minute, func(t testing.TB, db *mongo.Database) timeseries.Series {
		return buckets(t, db, timeseries.Config{Resolution: timeseries.Minutes})
	}},
	{"hours", time.Hour, func(t testing.TB, db *mongo.Database) timeseries.Series {
		return buckets(t, db, timeseries.Config{Resolution: timeseries.Hours})
	}},
	{
		"windows", time.Minute,
		func(t testing.TB, db *mongo.Database) timeseries.Series { return windows(t, db, timeseries.Config{}) },
	},
	{"native", time.Second, func(t testing.TB, db *mongo.Database) timeseries.Series {
		s, err := timeseries.NewNative(db, timeseries.Config{Keep: 20 * 365 * 24 * time.Hour})
		must(t, err)
		err = s.EnsureIndexes(context.Background())
		if errors.Is(err, timeseries.ErrNative) {
			t.Skip(err)
		}
		must(t, err)
		must(t, s.EnsureIndexes(context.Background()))
		return s
	}},
}

// each runs a test for each design.
func each(t *testing.T, test func(t *testing.T, d design)) {
	t.Helper()
	t.Parallel()
	for _, d := range designs {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

func mustHold(t testing.TB, s timeseries.Series) {
	t.Helper()
	violations, err := s.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

func total(t testing.TB, s timeseries.Series, tag string) (n int64) {
	t.Helper()
	points, err := s.Query(context.Background(), tag, begin.AddDate(0, 0, -1), begin.AddDate(0, 0, 9), 24*time.Hour)
	must(t, err)
	for _, p := range points {
		n += p.N
	}
	return n
}

var begin = time.Date(2014, 1, 1, 10, 0, 0, 0, time.UTC)

// TestQuery compares queries with sums in memory.
func TestQuery(t *testing.T) {
	each(t, func(t *testing.T, d design) {
		s := d.open(t, patterntest.Open(t))
		if _, err := s.Last(t.Context(), "a"); !errors.Is(err, timeseries.ErrNone) {
			t.Error(err)
		}
		var samples []timeseries.Sample
		for range 300 {
			at := begin.Add(time.Duration(rand.Int64N(int64(30 * time.Hour)))).Truncate(time.Millisecond)
			tag := string(rune('a' + rand.IntN(2)))
			samples = append(samples, timeseries.Sample{Tag: tag, At: at, N: rand.Int64N(9) + 1})
		}
		for part := range slices.Chunk(samples, 100) {
			must(t, s.Add(t.Context(), part...))
		}
		mustHold(t, s)
		for _, step := range []time.Duration{1, 2, 7, 24, 60, 3600, 4 * 3600} {
			step *= d.slot
			from := begin.Add(time.Duration(rand.Int64N(int64(10 * time.Hour))))
			to := from.Add(min(time.Duration(rand.Int64N(int64(20*time.Hour))), 5000*min(step, time.Hour)))
			got, err := s.Query(t.Context(), "a", from, to, step)
			must(t, err)
			compare(t, got, samples, from, to, step)
		}
		var last time.Time
		for _, sample := range samples {
			if sample.Tag == "b" && sample.At.After(last) {
				last = sample.At
			}
		}
		if p, err := s.Last(t.Context(), "b"); err != nil ||
			p.Start.Truncate(d.slot) != last.Truncate(d.slot) || p.N == 0 {
			t.Errorf("%v, want %v: %v", p, last, err)
		}
	})
}

// compare fails unless the points have all whole steps of the time, and the sums of the samples of
// tag a.
func compare(t *testing.T, got []timeseries.Point, samples []timeseries.Sample,
	from, to time.Time, step time.Duration,
) {
	t.Helper()
	ms := step.Milliseconds()
	first, end := from.UnixMilli()/ms, (to.Add(-1).UnixMilli()+ms)/ms
	want := map[int64]int64{}
	for _, s := range samples {
		if s.Tag == "a" {
			want[s.At.UnixMilli()/ms] += s.N
		}
	}
	if int64(len(got)) != end-first {
		t.Fatalf("%d points from %v to %v by %v", len(got), from, to, step)
	}
	for i, p := range got {
		if n := first + int64(i); p.Start.UnixMilli() != n*ms || p.N != want[n] {
			t.Fatalf("by %v: %v, want %v %d", step, p, time.UnixMilli(n*ms).UTC(), want[n])
		}
	}
}

func TestRefused(t *testing.T) {
	each(t, func(t *testing.T, d design) {
		s := d.open(t, patterntest.Open(t))
		for _, step := range []time.Duration{0, -d.slot, d.slot + time.Microsecond} {
			if _, err := s.Query(t.Context(), "a", begin, begin, step); !errors.Is(err, timeseries.ErrStep) {
				t.Errorf("%v: %v", step, err)
			}
		}
		if _, err := s.Query(t.Context(), "a", begin, begin.Add(200_000*d.slot),
			d.slot); !errors.Is(err, timeseries.ErrRange) {
			t.Error(err)
		}
		if points, err := s.Query(t.Context(), "a", begin, begin.Add(-100*d.slot),
			d.slot); err != nil || len(points) != 0 {
			t.Errorf("%v %v", points, err)
		}
		must(t, s.Add(t.Context()))
		if err := s.(interface{ Shard(context.Context) error }).
			Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
			t.Error(err)
		}
	})
	for _, cfg := range []timeseries.Config{{Keep: -1}, {Lead: -1}, {Prefill: 2}, {Resolution: 7}} {
		if _, err := timeseries.New(nil, cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// TestTogether lets goroutines add samples to the same spans of time. Some goroutines create the
// documents beforehand. All sums are right.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, d design) {
		const workers, rounds = 6, 15
		s := d.open(t, patterntest.Open(t))
		var wg sync.WaitGroup
		for i := range workers {
			wg.Go(func() {
				for n := range rounds {
					at := begin.Add(time.Duration(n*29) * time.Minute)
					if p, ok := s.(interface {
						Preallocate(ctx context.Context, tag string, from, to time.Time) (int64, error)
					}); ok && (n+i)%5 == 0 {
						if _, err := p.Preallocate(t.Context(), "a", at, at.Add(time.Hour)); err != nil {
							t.Error(err)
						}
					}
					sample := timeseries.Sample{Tag: "a", At: at, N: 1}
					if err := s.Add(t.Context(), sample, sample,
						timeseries.Sample{Tag: "b", At: at.Add(time.Hour), N: 1}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		mustHold(t, s)
		if a, b := total(t, s, "a"), total(t, s, "b"); a != 2*workers*rounds || b != workers*rounds {
			t.Errorf("%d of %d, %d of %d", a, 2*workers*rounds, b, workers*rounds)
		}
	})
}

// TestCrashAdd lets the process die at every point: a document has all its samples or none.
func TestCrashAdd(t *testing.T) {
	t.Parallel()
	for _, d := range designs {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) { d.open(t, db) },
				Operation: func(ctx context.Context, db *mongo.Database) error {
					var s timeseries.Series
					s, err := timeseries.New(db, timeseries.Config{})
					switch d.name {
					case "windows":
						s, err = timeseries.NewWindows(db, timeseries.Config{})
					case "native":
						s, err = timeseries.NewNative(db, timeseries.Config{})
					case "minutes":
						s, err = timeseries.New(db, timeseries.Config{Resolution: timeseries.Minutes})
					case "hours":
						s, err = timeseries.New(db, timeseries.Config{Resolution: timeseries.Hours})
					}
					if err != nil {
						return err
					}
					return s.Add(ctx, timeseries.Sample{Tag: "a", At: begin, N: 2},
						timeseries.Sample{Tag: "a", At: begin, N: 3})
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					s := d.open(t, db)
					mustHold(t, s)
					n := total(t, s, "a")
					if n != 0 && n != 5 || death.Survived && n != 5 {
						t.Errorf("the total is %d", n)
					}
				},
			})
			if want := map[bool]int{true: 6, false: 2}[d.name == "windows"]; points != want {
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestCrashPreallocate lets the process die at every point: the sums stay, and the next Preallocate
// creates the missing documents.
func TestCrashPreallocate(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			b := buckets(t, db, timeseries.Config{})
			must(t, b.Add(t.Context(), timeseries.Sample{Tag: "a", At: begin.Add(90 * time.Second), N: 5}))
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			b, err := timeseries.New(db, timeseries.Config{})
			if err != nil {
				return err
			}
			_, err = b.Preallocate(ctx, "a", begin, begin.Add(time.Hour))
			return err
		},
		After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) {
			b := buckets(t, db, timeseries.Config{})
			mustHold(t, b)
			if n, err := b.Preallocate(t.Context(), "a", begin, begin.Add(time.Hour)); err != nil || n != 60 {
				t.Errorf("%d documents: %v", n, err)
			}
			mustHold(t, b)
			if n := total(t, b, "a"); n != 5 {
				t.Errorf("the total is %d", n)
			}
		},
	})
	if points != 4 {
		t.Errorf("%d points", points)
	}
}

func TestNoScans(t *testing.T) {
	each(t, func(t *testing.T, d design) {
		if d.name == "native" {
			t.Skip("the plan is the server's own")
		}
		server := patterntest.Start(t)
		d.open(t, server.Database())
		n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
			s := d.open(t, db)
			must(t, s.Add(ctx, timeseries.Sample{Tag: "a", At: begin, N: 1}))
			for _, step := range []time.Duration{d.slot, 24 * time.Hour} {
				_, err := s.Query(ctx, "a", begin, begin.Add(time.Hour), step)
				must(t, err)
			}
			_, err := s.Last(ctx, "a")
			must(t, err)
			p := s.(interface {
				Preallocate(ctx context.Context, tag string, from, to time.Time) (int64, error)
				PreallocateNext(ctx context.Context) (int, error)
			})
			_, err = p.Preallocate(ctx, "a", begin, begin.Add(time.Minute))
			must(t, err)
			_, err = p.PreallocateNext(ctx)
			must(t, err)
		})
		if n < 6 {
			t.Errorf("%d commands were explained", n)
		}
	})
}

// TestBroken breaks each rule by a change of a document, and expects Check to find it.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ collection, change, want string }{
		{"b", `{"$inc": {"total": 1}}`, timeseries.RuleTotal},
		{"b", `{"$inc": {"seconds.60": 1, "total": 1}}`, timeseries.RuleTotal},
		{"b", `{"$set": {"timestamp": {"$date": "2014-01-01T10:00:01Z"}}}`, timeseries.RuleOne},
		{"w", `{"$inc": {"visits.hours.0": 1}}`, timeseries.RuleHours},
		{"w", `{"$push": {"visits.minutes.0": 0}}`, timeseries.RuleHours},
		{"w", `{"$set": {"visits": {"minutes": {"0": {"0": 1}}, "hours": [1]}}}`, timeseries.RuleHours},
		{"w", `{"$set": {"timestamp": {"$date": "2014-01-01T10:00:01Z"}}}`, timeseries.RuleOne},
		{"b", "", timeseries.RuleOne},
		{"w", "", timeseries.RuleOne},
	} {
		db := patterntest.Open(t)
		var s timeseries.Series
		s, err := timeseries.New(db, timeseries.Config{Collection: "b"})
		if tt.collection == "w" {
			s, err = timeseries.NewWindows(db, timeseries.Config{Collection: "w"})
		}
		must(t, err)
		must(t, s.EnsureIndexes(t.Context()))
		// The indexes would prevent the changes.
		must(t, db.Collection(tt.collection).Indexes().DropAll(t.Context()))
		must(t, s.Add(t.Context(), timeseries.Sample{Tag: "a", At: begin, N: 1}))
		mustHold(t, s)
		coll := db.Collection(tt.collection)
		if tt.change == "" {
			var doc bson.M
			must(t, coll.FindOne(t.Context(), bson.D{}).Decode(&doc))
			doc["_id"] = 1
			_, err = coll.InsertOne(t.Context(), doc)
		} else {
			var change bson.D
			must(t, bson.UnmarshalExtJSON([]byte(tt.change), false, &change))
			_, err = coll.UpdateMany(t.Context(), bson.D{}, change)
		}
		must(t, err)
		violations, err := s.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != tt.want {
			t.Errorf("%s %s: %v %v", tt.collection, tt.change, violations, err)
		}
	}
}

// TestPrefill creates the documents of the next hour in two ways: by the first sample, and by Run
// before the hour.
func TestPrefill(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	// The clock shows 12:00.
	now := clock.Now()
	db := patterntest.Open(t)
	count := func(coll string, from time.Time) int64 {
		n, err := db.Collection(coll).CountDocuments(t.Context(), bson.D{{"timestamp", bson.D{{"$gte", from}}}})
		must(t, err)
		return n
	}
	cfg := timeseries.Config{Env: patterns.Env{Clock: clock}, Collection: "p", Prefill: 1}
	must(t, buckets(t, db, cfg).Add(t.Context(),
		timeseries.Sample{Tag: "a", At: now, N: 1}, timeseries.Sample{Tag: "b", At: now.Add(-time.Hour), N: 1}))
	if n := count("p", now.Add(time.Hour)); n != 60 {
		t.Errorf("%d documents", n)
	}

	b := buckets(t, db, timeseries.Config{Env: patterns.Env{Clock: clock}, Collection: "r"})
	must(t, b.Add(t.Context(), timeseries.Sample{Tag: "a", At: now, N: 1}, timeseries.Sample{Tag: "b", At: now, N: 1}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- b.Run(ctx) }()
	for minute := 0; count("r", now.Add(time.Hour)) < 120; time.Sleep(time.Millisecond) {
		if minute < 59 && clock.Sleepers() > 0 {
			clock.Advance(time.Minute)
			minute++
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	mustHold(t, b)
	w := windows(t, db, timeseries.Config{Env: patterns.Env{Clock: clock}, Collection: "w"})
	must(t, w.Add(t.Context(), timeseries.Sample{Tag: "a", At: now, N: 1}))
	clock.Advance(5 * time.Hour)
	if n, err := w.PreallocateNext(t.Context()); err != nil || n != 1 || count("w", now) != 2 {
		t.Errorf("%d tags, %d windows: %v", n, count("w", now), err)
	}
}

// TestCrashPreallocateNext lets the process die at every point. The next PreallocateNext creates
// the missing documents.
func TestCrashPreallocateNext(t *testing.T) {
	t.Parallel()
	now := patterntest.NewClock().Now()
	late := patterntest.NewClock()
	// At one minute before the hour, PreallocateNext does not pause between the tags.
	late.Advance(59 * time.Minute)
	env := patterns.Env{Clock: late}
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			b := buckets(t, db, timeseries.Config{Env: env, Collection: "b"})
			must(t, b.Add(t.Context(), timeseries.Sample{Tag: "a", At: now, N: 1},
				timeseries.Sample{Tag: "b", At: now, N: 1}))
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			b, err := timeseries.New(db, timeseries.Config{Env: env, Collection: "b"})
			if err != nil {
				return err
			}
			_, err = b.PreallocateNext(ctx)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) {
			b := buckets(t, db, timeseries.Config{Env: env, Collection: "b"})
			mustHold(t, b)
			if n, err := b.PreallocateNext(t.Context()); err != nil || n != 2 {
				t.Errorf("%d tags: %v", n, err)
			}
			mustHold(t, b)
			if n, err := db.Collection("b").CountDocuments(t.Context(), bson.D{}); err != nil || n != 2*61 {
				t.Errorf("%d documents: %v", n, err)
			}
		},
	})
	// PreallocateNext lists the tags with one command. Then it sends two commands for each tag.
	if points != 10 {
		t.Errorf("%d points", points)
	}
}
