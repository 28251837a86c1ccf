package hits_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/hits"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newCounters(t testing.TB, db *mongo.Database, cfg hits.Config) *hits.Counters {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = patterntest.NewClock()
	}
	c, err := hits.New(db, cfg)
	must(t, err)
	must(t, c.EnsureIndexes(context.Background()))
	return c
}

func newWriter(t testing.TB, c *hits.Counters, cfg hits.WriterConfig) *hits.Writer {
	t.Helper()
	w, err := c.NewWriter(cfg)
	must(t, err)
	return w
}

// rules returns the rules that are violated.
func rules(t testing.TB, c *hits.Counters) (out []string) {
	t.Helper()
	violations, err := c.Check(context.Background())
	must(t, err)
	for _, v := range violations {
		out = append(out, v.Rule)
	}
	return out
}

func mustHold(t testing.TB, c *hits.Counters) {
	t.Helper()
	if broken := rules(t, c); len(broken) > 0 {
		t.Fatal(broken)
	}
}

// sum adds up the points of a chart.
func sum(t testing.TB, c *hits.Counters, g hits.Granularity, from, to time.Time) (n int64) {
	t.Helper()
	points, err := c.Chart(context.Background(), "site-1", "/a", g, from, to)
	must(t, err)
	for _, p := range points {
		n += p.N
	}
	return n
}

var day = time.Date(2000, 10, 10, 0, 0, 0, 0, time.UTC)

func find(t testing.TB, coll *mongo.Collection, id string) (doc bson.M) {
	t.Helper()
	must(t, coll.FindOne(context.Background(), bson.D{{"_id", id}}).Decode(&doc))
	return doc
}

// TestW042 adds the hit of the book to the document of the book.
func TestW042(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := newCounters(t, db, hits.Config{Form: hits.Flat})
	const id = "20001010/site-1/apache_pb.gif"
	_, err := db.Collection("hits.daily").InsertOne(t.Context(), bson.D{
		{"_id", id},
		{"metadata", bson.D{{"date", day}, {"site", "site-1"}, {"page", "/apache_pb.gif"}}},
		{"daily", 5468426},
		{"hourly", bson.D{{"0", 227850}, {"1", 210231}, {"23", 20457}}},
		{"minute", bson.D{{"0", 3612}, {"1", 3241}, {"1439", 2819}}},
	})
	must(t, err)
	must(t, c.Add(t.Context(), hits.Hit{Site: "site-1", Page: "/apache_pb.gif", At: day.Add(time.Minute)}))
	doc := find(t, db.Collection("hits.daily"), id)
	hourly, minute := doc["hourly"].(bson.D), doc["minute"].(bson.D)
	if got := fmt.Sprint(doc["daily"], hourly[0], minute[1], len(minute)); got != "5468427 {0 227851} {1 3242} 3" {
		t.Error(got)
	}
	month := find(t, db.Collection("hits.monthly"), "200010/site-1/apache_pb.gif")
	if got := fmt.Sprint(month["daily"], month["monthly"]); got != `{"10":{"$numberLong":"5468427"}} 5468427` {
		t.Error(got)
	}
}

// TestW043 stores minute 61 in hour 1, under its number in the day.
func TestW043(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := newCounters(t, db, hits.Config{})
	must(t, c.Add(t.Context(), hits.Hit{Site: "s", Page: "/", At: day.Add(61 * time.Minute)}))
	doc := find(t, db.Collection("hits.daily"), "20001010/s/")
	if got := fmt.Sprint(doc["minute"], doc["hourly"]); got != `{"1":{"61":{"$numberLong":"1"}}} {"1":{"$numberLong":"1"}}` {
		t.Error(got)
	}
}

// TestCharts compares all charts with the hits, in both forms, with and without months.
func TestCharts(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for i, cfg := range []hits.Config{{}, {Form: hits.Flat}, {WithoutMonths: true}} {
		cfg.Daily, cfg.Monthly = fmt.Sprint("d", i), fmt.Sprint("m", i)
		c := newCounters(t, db, cfg)
		w := newWriter(t, c, hits.WriterConfig{})
		from, to := day.AddDate(0, 0, -3), day.AddDate(0, 1, 3)
		var all []hits.Hit
		for range 300 {
			at := from.Add(time.Duration(rand.Int64N(int64(to.Sub(from)))))
			all = append(all, hits.Hit{Site: "site-1", Page: "/a", At: at, N: rand.Int64N(3)})
			must(t, w.Hit(all[len(all)-1]))
		}
		must(t, w.Flush(t.Context()))
		for g, step := range map[hits.Granularity]time.Duration{
			hits.Minute: time.Minute,
			hits.Hour:   time.Hour, hits.Day: 24 * time.Hour,
		} {
			from := from.Add(50 * time.Hour) // the chart does not begin at the start of a month
			points, err := c.Chart(t.Context(), "site-1", "/a", g, from, to)
			must(t, err)
			if g == hits.Day {
				from = from.Truncate(step).Add(step)
			}
			want := map[time.Time]int64{}
			for _, h := range all {
				want[h.At.Truncate(step)] += max(h.N, 1)
			}
			for i, p := range points {
				if !p.Start.Equal(from.Add(time.Duration(i)*step)) || p.N != want[p.Start.UTC()] {
					t.Fatalf("granularity %d: %v, want %d", g, p, want[p.Start.UTC()])
				}
			}
			if len(points) != int(to.Sub(from)/step) {
				t.Errorf("granularity %d: %d points", g, len(points))
			}
		}
		if !cfg.WithoutMonths {
			mustHold(t, c)
			if months, days := sum(t, c, hits.Month, from.AddDate(0, -1, 0), to),
				sum(t, c, hits.Day, from, to); months != days {
				t.Errorf("months have %d, days %d", months, days)
			}
		}
	}
}

// TestSummerTime counts hits on days of 23 and 25 hours: a chart has one point for each hour of the
// day.
func TestSummerTime(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	c := newCounters(t, patterntest.Open(t), hits.Config{Location: berlin})
	for _, tt := range []struct {
		day   time.Time
		hours int
	}{{time.Date(2026, 3, 29, 0, 0, 0, 0, berlin), 23}, {time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), 25}} {
		next := tt.day.AddDate(0, 0, 1)
		for at := tt.day; at.Before(next); at = at.Add(30 * time.Minute) {
			must(t, c.Add(t.Context(), hits.Hit{Site: "site-1", Page: "/a", At: at}))
		}
		points, err := c.Chart(t.Context(), "site-1", "/a", hits.Hour, tt.day, next)
		must(t, err)
		for i, p := range points {
			if p.N != 2 || !p.Start.Equal(tt.day.Add(time.Duration(i)*time.Hour)) {
				t.Errorf("%v", p)
			}
		}
		if n := sum(t, c, hits.Day, tt.day, next); n != int64(2*tt.hours) || len(points) != tt.hours {
			t.Errorf("%d hours, %d hits", len(points), n)
		}
		must(t, c.Preallocate(t.Context(), "s", "/empty", tt.day))
	}
	mustHold(t, c)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := newCounters(t, db, hits.Config{})
	w := newWriter(t, c, hits.WriterConfig{MaxPending: 3})
	for _, h := range []hits.Hit{
		{Page: "/"},
		{Site: "a/b", Page: "/"},
		{Site: "a", Page: "b"},
		{Site: "a", Page: "/", N: -1},
	} {
		if err := errors.Join(c.Add(t.Context(), h), w.Hit(h)); !errors.Is(err, hits.ErrHit) {
			t.Errorf("%v: %v", h, err)
		}
	}
	if _, err := c.Chart(t.Context(), "s", "/", hits.Minute, day,
		day.AddDate(1, 0, 0)); !errors.Is(err, hits.ErrRange) {
		t.Error(err)
	}
	if err := w.Hit(hits.Hit{Site: "a", Page: "/", N: 4}); !errors.Is(err, hits.ErrFull) {
		t.Error(err)
	}
	must(t, c.Add(t.Context()))
	if err := c.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	for _, cfg := range []hits.Config{{Keep: -1}, {Prefill: 2}, {Form: 7}} {
		if _, err := hits.New(db, cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// TestPreallocate creates documents before, between and after hits: no counter changes.
func TestPreallocate(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for _, form := range []hits.Form{hits.Hierarchical, hits.Flat} {
		c := newCounters(t, db, hits.Config{Form: form, Daily: fmt.Sprint("d", form), Monthly: fmt.Sprint("m", form)})
		for i := range 3 {
			must(t, c.Preallocate(t.Context(), "site-1", "/a", day))
			must(t, c.Add(t.Context(), hits.Hit{Site: "site-1", Page: "/a", At: day.Add(time.Duration(i) * time.Hour)}))
		}
		mustHold(t, c)
		if n := sum(t, c, hits.Minute, day, day.AddDate(0, 0, 1)); n != 3 {
			t.Errorf("%d hits", n)
		}
		doc := find(t, db.Collection(fmt.Sprint("d", form)), "20001010/site-1/a")
		if n := len(doc["minute"].(bson.D)); n != 24 && n != 1440 {
			t.Errorf("%d minutes", n)
		}
	}
}

// TestPrefill creates tomorrow's document with the first hit of today.
func TestPrefill(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := newCounters(t, db, hits.Config{Prefill: 1})
	must(t, c.Add(t.Context(), hits.Hit{Site: "s", Page: "/"}, hits.Hit{Site: "s", Page: "/late", At: day}))
	n, err := db.Collection("hits.daily").CountDocuments(t.Context(), bson.D{})
	if err != nil || n != 3 {
		t.Errorf("%d documents: %v", n, err)
	}
	if doc := find(t, db.Collection("hits.daily"), "20260502/s/"); doc["daily"] != int64(0) {
		t.Error(doc)
	}
}

func TestTop(t *testing.T) {
	t.Parallel()
	c := newCounters(t, patterntest.Open(t), hits.Config{})
	for i, name := range []string{"/c", "/b", "/a"} {
		for d := range 3 {
			must(t, c.Add(t.Context(), hits.Hit{Site: "s", Page: name, At: day.AddDate(0, 0, d), N: int64(1 + i/2)}))
		}
	}
	got, err := c.Top(t.Context(), "s", day, day.AddDate(0, 0, 2), 2)
	if want := "[{/a 4} {/b 2}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v %v", got, err)
	}
}

// TestTogether counts hits of the same page by several writers and by direct calls of Add at the
// same time. Each hit is counted once.
func TestTogether(t *testing.T) {
	t.Parallel()
	const workers, rounds = 6, 40
	c := newCounters(t, patterntest.Open(t), hits.Config{})
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			w := newWriter(t, c, hits.WriterConfig{})
			for n := range rounds {
				h := hits.Hit{Site: "site-1", Page: "/a", At: day.Add(time.Duration(n*37) * time.Hour)}
				if i%2 == 0 {
					if err := c.Add(t.Context(), h); err != nil {
						t.Error(err)
					}
				} else if err := w.Hit(h); err != nil {
					t.Error(err)
				}
				if n%7 == 0 {
					if err := w.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
			if err := w.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mustHold(t, c)
	if n := sum(t, c, hits.Day, day, day.AddDate(0, 3, 0)); n != workers*rounds {
		t.Errorf("%d hits of %d", n, workers*rounds)
	}
}

// TestRun flushes by the clock, when many hits are waiting, and at the end.
func TestRun(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	c := newCounters(t, patterntest.Open(t), hits.Config{Env: patterns.Env{Clock: clock}})
	w := newWriter(t, c, hits.WriterConfig{MaxPending: 100})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	written := func() {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); w.Waiting() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d hits wait", w.Waiting())
			}
		}
	}
	must(t, w.Hit(hits.Hit{Site: "site-1", Page: "/a", At: day, N: 60})) // more than half of MaxPending
	written()
	must(t, w.Hit(hits.Hit{Site: "site-1", Page: "/a", At: day}))
	for w.Waiting() > 0 {
		clock.Advance(time.Second)
		time.Sleep(time.Millisecond)
	}
	must(t, w.Hit(hits.Hit{Site: "site-1", Page: "/a", At: day}))
	cancel()
	wg.Wait()
	if n := sum(t, c, hits.Minute, day, day.Add(time.Hour)); n != 62 || w.Waiting() != 0 {
		t.Errorf("%d hits, %d wait", n, w.Waiting())
	}
}

// some returns hits of two days. A document of the first day already exists.
func some() (setup, then []hits.Hit) {
	return []hits.Hit{{Site: "site-1", Page: "/a", At: day}},
		[]hits.Hit{
			{Site: "site-1", Page: "/a", At: day.Add(time.Hour), N: 2},
			{Site: "site-1", Page: "/a", At: day.AddDate(0, 0, 1), N: 3},
		}
}

// TestCrashAdd lets a process die at every point: each hit is counted once or not at all, and
// Repair updates the months.
func TestCrashAdd(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			c := newCounters(t, db, hits.Config{})
			before, _ := some()
			must(t, c.Add(t.Context(), before...))
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			c, err := hits.New(db, hits.Config{})
			if err != nil {
				return err
			}
			_, then := some()
			return c.Add(ctx, then...)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			c := newCounters(t, db, hits.Config{})
			repaired(t, c)
			want := int64(6)
			if death.Commands == 0 {
				want = 1
			}
			if n := sum(t, c, hits.Minute, day, day.AddDate(0, 0, 2)); n != want {
				t.Errorf("%d hits, want %d", n, want)
			}
		},
	})
	if points != 6 {
		t.Errorf("%d points", points)
	}
}

func repaired(t *testing.T, c *hits.Counters) {
	t.Helper()
	for i := range 2 {
		n, err := c.Repair(t.Context())
		must(t, err)
		if i > 0 && n > 0 {
			t.Errorf("a second repair mends %d", n)
		}
		mustHold(t, c)
	}
}

// TestCrashFlush lets the process die at every point of a flush: hits that were not written are
// lost, and no hit is counted twice. If only the connections break, the next flush counts the
// missing hits.
func TestCrashFlush(t *testing.T) {
	t.Parallel()
	for _, lives := range []bool{false, true} {
		t.Run(fmt.Sprint(lives), func(t *testing.T) {
			t.Parallel()
			var w *hits.Writer
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					c := newCounters(t, db, hits.Config{})
					before, _ := some()
					must(t, c.Add(t.Context(), before...))
				},
				Operation: func(ctx context.Context, db *mongo.Database) error {
					c, err := hits.New(db, hits.Config{})
					if err != nil {
						return err
					}
					w = newWriter(t, c, hits.WriterConfig{})
					_, then := some()
					for _, h := range then {
						if err := w.Hit(h); err != nil {
							return err
						}
					}
					return w.Flush(ctx)
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					afterFlush(t, db, death, w, lives)
				},
			})
			if points != 10 {
				t.Errorf("%d points", points)
			}
		})
	}
}

func afterFlush(t *testing.T, db *mongo.Database, death patterntest.Death, w *hits.Writer, lives bool) {
	t.Helper()
	c := newCounters(t, db, hits.Config{})
	lost := w.Waiting()
	if death.Survived != (lost == 0) {
		t.Errorf("%d hits wait", lost)
	}
	if lives {
		w.MoveTo(c)
		must(t, w.Hit(hits.Hit{Site: "site-1", Page: "/a", At: day, N: 4}))
		must(t, w.Flush(t.Context()))
		mustHold(t, c)
		if n := sum(t, c, hits.Minute, day, day.AddDate(0, 0, 2)); n != 10 {
			t.Errorf("%d hits, want 10", n)
		}
		return
	}
	repaired(t, c)
	n := sum(t, c, hits.Minute, day, day.AddDate(0, 0, 2))
	if n > 6 || n < 6-lost || death.Survived && n != 6 {
		t.Errorf("%d hits of 6, %d were not known to be written", n, lost)
	}
}

// TestBroken inserts documents that violate each rule, as other programs could, and expects Check
// to find them. Repair corrects months that are behind their days.
func TestBroken(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := newCounters(t, db, hits.Config{})
	for _, tt := range []struct{ coll, change, want string }{
		{"hits.daily", `{"$inc": {"hourly.0": 1}}`, hits.RuleDay},
		{"hits.daily", `{"$inc": {"minute.0.1": 1}}`, hits.RuleDay},
		{"hits.daily", `{"$inc": {"minute.0.1": -1, "minute.1.61": 1}}`, hits.RuleDay},
		{"hits.daily", `{"$inc": {"minute.23.1439": 1, "hourly.22": 1}}`, hits.RuleDay},
		{"hits.monthly", `{"$inc": {"monthly": 1}}`, hits.RuleMonth},
		{"hits.monthly", `{"$inc": {"monthly": -1, "daily.10": -1}}`, hits.RuleSame},
		{"hits.daily", `{"$set": {"metadata.page": "/b"}}`, hits.RuleOne},
	} {
		for _, coll := range []string{"hits.daily", "hits.monthly"} {
			_, err := db.Collection(coll).DeleteMany(t.Context(), bson.D{})
			must(t, err)
		}
		must(t, c.Add(t.Context(), hits.Hit{Site: "site-1", Page: "/a", At: day}))
		mustHold(t, c)
		var change bson.D
		must(t, bson.UnmarshalExtJSON([]byte(tt.change), false, &change))
		_, err := db.Collection(tt.coll).UpdateMany(t.Context(), bson.D{}, change)
		must(t, err)
		if got := rules(t, c); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: %s", tt.change, got)
		}
	}
}

// TestForget removes the batch numbers of writers from past days.
func TestForget(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	c := newCounters(t, db, hits.Config{})
	w := newWriter(t, c, hits.WriterConfig{})
	must(t, errors.Join(w.Hit(hits.Hit{Site: "s", Page: "/"}),
		w.Hit(hits.Hit{Site: "s", Page: "/", At: day}), w.Flush(t.Context())))
	_, err := c.Repair(t.Context())
	must(t, err)
	n, err := db.Collection("hits.daily").CountDocuments(t.Context(), bson.D{{"writers", bson.D{{"$exists", true}}}})
	if err != nil || n != 1 {
		t.Errorf("%d documents have writers: %v", n, err)
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	s := patterntest.Start(t)
	newCounters(t, s.Database(), hits.Config{Keep: time.Hour})
	n := s.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		c := newCounters(t, db, hits.Config{Keep: time.Hour})
		h := hits.Hit{Site: "site-1", Page: "/a", At: day}
		w := newWriter(t, c, hits.WriterConfig{})
		must(t, errors.Join(c.Add(ctx, h), w.Hit(h), w.Flush(ctx), c.Preallocate(ctx, "s", "/", day)))
		for g := range hits.Month + 1 {
			sum(t, c, g, day, day.Add(time.Hour))
		}
		_, err := c.Top(ctx, "site-1", day, day.Add(time.Hour), 3)
		must(t, err)
	})
	if n < 10 {
		t.Errorf("%d commands were explained", n)
	}
}

// TestCrashRepair lets the process die during Repair. The next Repair continues.
func TestCrashRepair(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			w := newWriter(t, newCounters(t, db, hits.Config{}), hits.WriterConfig{})
			before, then := some()
			for _, h := range append(before, then...) {
				must(t, w.Hit(h))
			}
			must(t, w.Flush(t.Context()))
			_, err := db.Collection("hits.monthly").DeleteMany(t.Context(), bson.D{})
			must(t, err)
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			c, err := hits.New(db, hits.Config{})
			if err != nil {
				return err
			}
			_, err = c.Repair(ctx)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			c := newCounters(t, db, hits.Config{})
			if death.Survived {
				mustHold(t, c)
			}
			repaired(t, c)
			if n := sum(t, c, hits.Day, day, day.AddDate(0, 0, 2)); n != 6 {
				t.Errorf("%d hits", n)
			}
		},
	})
	if points != 8 { // the comparison, two days, the batch numbers of writers
		t.Errorf("%d points", points)
	}
}
