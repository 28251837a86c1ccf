package slicecache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/slicecache"
)

func newCache(t testing.TB, db *mongo.Database, cfg slicecache.CacheConfig) *slicecache.Cache[string] {
	t.Helper()
	c, err := slicecache.NewCache[string](db, cfg)
	must(t, err)
	must(t, c.EnsureIndexes(context.Background()))
	return c
}

// counting returns a load that returns "v1", "v2" and so on.
func counting(n *atomic.Int64) slicecache.Load[string] {
	return func(context.Context) (string, []string, error) { return fmt.Sprint("v", n.Add(1)), nil, nil }
}

func TestGet(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	clock.Advance(100 * 365 * 24 * time.Hour) // the clock is far in the future, so the server removes no entry
	c := newCache(t, patterntest.Open(t), slicecache.CacheConfig{Env: patterns.Env{Clock: clock}, TTL: time.Minute})
	var n atomic.Int64
	for _, step := range []struct {
		pass time.Duration
		do   func() error
		want string
	}{
		{0, nil, "v1"},
		{59 * time.Second, nil, "v1"},
		{time.Second, nil, "v2"},
		{0, func() error { return c.Set(t.Context(), "k", "set", "a", "b") }, "set"},
		{0, func() error { return c.DeleteTag(t.Context(), "c") }, "set"},
		{0, func() error { return c.DeleteTag(t.Context(), "b") }, "v3"},
		{0, func() error { return c.Delete(t.Context(), "l", "k") }, "v4"},
		{0, func() error { return c.Delete(t.Context()) }, "v4"},
	} {
		clock.Advance(step.pass)
		if step.do != nil {
			must(t, step.do())
		}
		if got, err := c.Get(t.Context(), "k", counting(&n)); err != nil || got != step.want {
			t.Errorf("%s, want %s: %v", got, step.want, err)
		}
		mustHold(t, c)
	}
	if err := c.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	if _, err := slicecache.NewCache[int](nil, slicecache.CacheConfig{TTL: -1}); err == nil {
		t.Error("a negative time is taken")
	}
}

// TestStampede lets many goroutines miss the same value at the same time: only one goroutine loads
// the value at a time, and the others get the value that it loads.
func TestStampede(t *testing.T) {
	t.Parallel()
	const workers = 12
	c := newCache(t, patterntest.Open(t), slicecache.CacheConfig{Poll: time.Millisecond})
	var loads, failures atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			got, err := c.Get(t.Context(), "k", func(context.Context) (string, []string, error) {
				if n := loads.Add(1); n < 3 { // the first two loads fail
					return "", nil, errors.New("try again")
				}
				time.Sleep(20 * time.Millisecond)
				return "v", nil, nil
			})
			if err != nil {
				failures.Add(1)
			} else if got != "v" {
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if loads.Load() != 3 || failures.Load() != 2 {
		t.Errorf("%d loads, %d failures", loads.Load(), failures.Load())
	}
	mustHold(t, c)
}

// TestStale returns the old value while a new one is being loaded, for the time Stale.
func TestStale(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	clock.Advance(100 * 365 * 24 * time.Hour)
	c := newCache(t, patterntest.Open(t),
		slicecache.CacheConfig{Env: patterns.Env{Clock: clock}, TTL: time.Minute, Stale: time.Minute, Lease: time.Hour})
	var n atomic.Int64
	get := func() string {
		got, err := c.Get(t.Context(), "k", counting(&n))
		must(t, err)
		return got
	}
	get()
	clock.Advance(90 * time.Second)
	inside, goOn, done := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		got, err := c.Get(t.Context(), "k", func(context.Context) (string, []string, error) {
			close(inside)
			<-goOn
			return "new", nil, nil
		})
		if err != nil || got != "new" {
			t.Error(got, err)
		}
	}()
	<-inside
	if got := get(); got != "v1" {
		t.Error(got)
	}
	clock.Advance(30 * time.Second) // the time Stale is over
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := c.Get(ctx, "k", counting(&n)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(got, err)
	}
	close(goOn)
	<-done
	if got := get(); got != "new" || n.Load() != 1 {
		t.Error(got, n.Load())
	}
}

// TestRemovedWhileLoaded checks that a value is not stored if its key was removed, set, or leased
// to another caller during the load.
func TestRemovedWhileLoaded(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	clock.Advance(100 * 365 * 24 * time.Hour)
	c := newCache(t, patterntest.Open(t), slicecache.CacheConfig{Env: patterns.Env{Clock: clock}})
	var n atomic.Int64
	for i, tt := range []struct {
		meanwhile func(key string) error
		want      string
	}{
		{func(key string) error { return c.Delete(t.Context(), key) }, "v1"},
		{func(key string) error { return c.Set(t.Context(), key, "set") }, "set"},
		{func(key string) error {
			clock.Advance(time.Minute)
			_, err := c.Get(t.Context(), key, counting(&n))
			return err
		}, "v2"},
	} {
		key := fmt.Sprint(i)
		got, err := c.Get(t.Context(), key,
			func(context.Context) (string, []string, error) { return "old", nil, tt.meanwhile(key) })
		if err != nil || got != "old" {
			t.Error(got, err)
		}
		if got, err := c.Get(t.Context(), key, counting(&n)); err != nil || got != tt.want {
			t.Errorf("%s, want %s: %v", got, tt.want, err)
		}
		mustHold(t, c)
	}
}

// TestCacheTogether gets, sets and deletes values at the same time: Get never returns a value that
// was removed before the call.
func TestCacheTogether(t *testing.T) {
	t.Parallel()
	const workers, rounds = 6, 30
	c := newCache(t, patterntest.Open(t), slicecache.CacheConfig{Poll: time.Millisecond})
	var version atomic.Int64 // the version from which values are made
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				if w == 0 {
					version.Add(1)
					if err := c.Delete(t.Context(), "k"); err != nil {
						t.Error(err)
					}
					continue
				}
				loaded := false
				at := version.Load()
				got, err := c.Get(t.Context(), "k", func(context.Context) (string, []string, error) {
					loaded = true
					return fmt.Sprintf("%09d", version.Load()), nil, nil
				})
				if err != nil {
					t.Error(err)
				}
				// The deletion of version at may still be under way, but the deletion of version
				// at-1 has ended.
				if !loaded && got < fmt.Sprintf("%09d", at-1) {
					t.Errorf("%s at version %d", got, at)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, c)
}

// TestCrashGet lets the process die at every point. After the lease, another process gets a value.
func TestCrashGet(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) { newCache(t, db, slicecache.CacheConfig{}) },
		Operation: func(ctx context.Context, db *mongo.Database) error {
			c, err := slicecache.NewCache[string](db, slicecache.CacheConfig{})
			if err != nil {
				return err
			}
			_, err = c.Get(ctx, "k", func(context.Context) (string, []string, error) { return "v", nil, nil })
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			now := time.Now()
			clock := patterntest.NewClock()
			clock.Advance(now.Sub(clock.Now()))
			c := newCache(t, db, slicecache.CacheConfig{Env: patterns.Env{Clock: clock}, Lease: time.Minute})
			mustHold(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := c.Get(ctx, "k", func(context.Context) (string, []string, error) { return "w", nil, nil })
			leased := death.Commands == 2 || death.Commands == 3 && !death.Unheard && !death.Survived
			if !leased && !errors.Is(err, context.DeadlineExceeded) && err != nil {
				t.Error(err)
			}
			clock.Advance(time.Minute)
			got, err := c.Get(t.Context(), "k",
				func(context.Context) (string, []string, error) { return "w", nil, nil })
			if err != nil || death.Commands == 3 && got != "v" {
				t.Error(got, err)
			}
			mustHold(t, c)
		},
	})
	if points != 6 {
		t.Errorf("%d points", points)
	}
}

// TestCacheBroken inserts entries that violate each rule, as other programs could, and expects
// Check to find them.
func TestCacheBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ change, want string }{
		{`{"$unset": {"expires": 1}}`, slicecache.RuleExpires},
		{`{"$unset": {"fresh": 1}}`, slicecache.RuleExpires},
		{`{"$set": {"fresh": {"$date": "2999-01-01T00:00:00Z"}}}`, slicecache.RuleExpires},
		{`{"$set": {"loader": {"token": 1}}}`, slicecache.RuleLoader},
		{`{"$set": {"loader": {"until": {"$date": "2999-01-01T00:00:00Z"}}}}`, slicecache.RuleLoader},
	} {
		db := patterntest.Open(t)
		c := newCache(t, db, slicecache.CacheConfig{})
		must(t, c.Set(t.Context(), "k", "v"))
		mustHold(t, c)
		var change bson.D
		must(t, bson.UnmarshalExtJSON([]byte(tt.change), false, &change))
		_, err := db.Collection("cache").UpdateMany(t.Context(), bson.D{}, change)
		must(t, err)
		violations, err := c.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != tt.want {
			t.Errorf("%s: %v %v", tt.change, violations, err)
		}
	}
}

// TestW064 checks that the server removes entries older than 1000 seconds, and no others.
func TestW064(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	fast := bson.D{{"setParameter", 1}, {"ttlMonitorSleepSecs", 1}}
	if err := db.Client().Database("admin").RunCommand(t.Context(), fast).Err(); err != nil {
		t.Skip(err) // the test would take a minute
	}
	clock := patterntest.NewClock()
	clock.Advance(time.Now().Add(-1001 * time.Second).Sub(clock.Now()))
	newCache(t, db, slicecache.CacheConfig{}) // this cache uses the real time
	old, err := slicecache.NewCache[string](db, slicecache.CacheConfig{Env: patterns.Env{Clock: clock}})
	must(t, err)
	must(t, old.Set(t.Context(), "old", "v"))
	clock.Advance(901 * time.Second)
	must(t, old.Set(t.Context(), "young", "v"))
	_, err = db.Collection("cache").
		InsertMany(t.Context(), []bson.D{{{"_id", "none"}}, {{"_id", "text"}, {"expires", "x"}}})
	must(t, err)
	left := func() (out []string) {
		must(t, db.Collection("cache").Distinct(t.Context(), "_id", bson.D{}).Decode(&out))
		return out
	}
	for end := time.Now().Add(30 * time.Second); len(left()) > 3 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if got := fmt.Sprint(left()); got != "[none text young]" {
		t.Error(got)
	}
}
