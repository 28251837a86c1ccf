package slicecache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/slicecache"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type (
	latest = slicecache.Latest[string]
	item   = slicecache.Item[string]
	config = slicecache.LatestConfig[string]
)

func newLatest(t testing.TB, db *mongo.Database, cfg config) *latest {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = patterntest.NewClock()
	}
	l, err := slicecache.NewLatest(db, cfg)
	must(t, err)
	must(t, l.EnsureIndexes(context.Background()))
	return l
}

func insertParents(t testing.TB, db *mongo.Database, n int) {
	t.Helper()
	for id := range n {
		_, err := db.Collection("posts").InsertOne(context.Background(), bson.D{{"_id", id}, {"title", "a post"}})
		must(t, err)
	}
}

// checker is the interface that both caches have.
type checker interface {
	Check(ctx context.Context) ([]patterns.Violation, error)
}

func mustHold(t testing.TB, c checker) {
	t.Helper()
	violations, err := c.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

// bodies returns the items that a parent shows.
func bodies(t testing.TB, l *latest, parent any) (out []string) {
	t.Helper()
	items, err := l.Show(context.Background(), parent)
	must(t, err)
	for _, i := range items {
		out = append(out, i.Body)
	}
	return out
}

// TestW033 adds an eleventh comment to ten comments: the post shows the newest ten.
func TestW033(t *testing.T) {
	t.Parallel()
	for _, preallocate := range []bool{false, true} {
		db := patterntest.Open(t)
		insertParents(t, db, 1)
		l := newLatest(t, db, config{Preallocate: preallocate})
		must(t, l.Prepare(t.Context(), 0))
		for i := range 11 {
			must(t, l.Add(t.Context(), 0, &item{ID: i, Body: fmt.Sprint("c", i+1)}))
			if n := len(bodies(t, l, 0)); n != min(i+1, 10) {
				t.Errorf("%d are shown", n)
			}
			must(t, l.Prepare(t.Context(), 0)) // the second call has no effect
			var doc struct{ Latest []bson.Raw }
			must(t, db.Collection("posts").FindOne(t.Context(), bson.D{}).Decode(&doc))
			if preallocate && len(doc.Latest) != 10 {
				t.Errorf("%d items", len(doc.Latest))
			}
		}
		if got := fmt.Sprint(bodies(t, l, 0)); got != "[c11 c10 c9 c8 c7 c6 c5 c4 c3 c2]" {
			t.Error(got)
		}
		mustHold(t, l)
	}
}

// TestW031 checks $push with $slice from the beginning and from the end of the array (worked
// examples W031 and W032 of the book).
func TestW031(t *testing.T) {
	t.Parallel()
	coll := patterntest.Open(t).Collection("c")
	for i, tt := range []struct {
		in, each bson.A
		slice    int
		want     string
	}{
		{bson.A{40, 50, 60}, bson.A{80, 78, 86}, -5, "[50 60 80 78 86]"},
		{bson.A{89, 90}, bson.A{100, 20}, 3, "[89 90 100]"},
	} {
		_, err := coll.InsertOne(t.Context(), bson.D{{"_id", i}, {"a", tt.in}})
		must(t, err)
		push := bson.D{{"$each", tt.each}, {"$slice", tt.slice}}
		_, err = coll.UpdateByID(t.Context(), i, bson.D{{"$push", bson.D{{"a", push}}}})
		must(t, err)
		var doc struct{ A []int }
		must(t, coll.FindOne(t.Context(), bson.D{{"_id", i}}).Decode(&doc))
		if got := fmt.Sprint(doc.A); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

func TestEditAndDelete(t *testing.T) {
	t.Parallel()
	for _, preallocate := range []bool{false, true} {
		db := patterntest.Open(t)
		insertParents(t, db, 1)
		l := newLatest(t, db, config{Max: 2, Preallocate: preallocate, Template: "      "})
		if got := bodies(t, l, 0); len(got) != 0 {
			t.Error(got)
		}
		now := time.Unix(1e9, 0)
		for i, body := range []string{"a", "b", "c", "d"} {
			// the newest first
			must(t, l.Add(t.Context(), 0, &item{ID: i, At: now.Add(-time.Duration(i) * time.Second), Body: body}))
		}
		for _, step := range []struct {
			do   func() error
			want string
		}{
			{func() error { return nil }, "[a b]"},
			{func() error { return l.Edit(t.Context(), 1, "B") }, "[a B]"},
			{func() error { return l.Edit(t.Context(), 3, "D") }, "[a B]"},
			{func() error { return l.Delete(t.Context(), 0) }, "[B c]"},
			{func() error { return l.Delete(t.Context(), 1) }, "[c D]"},
			{func() error { return l.Delete(t.Context(), 2) }, "[D]"},
			{func() error { return l.Delete(t.Context(), 3) }, "[]"},
			{func() error { return l.Add(t.Context(), 0, &item{Body: "e"}) }, "[e]"},
		} {
			must(t, step.do())
			if got := fmt.Sprint(bodies(t, l, 0)); got != step.want {
				t.Errorf("%s, want %s", got, step.want)
			}
			mustHold(t, l)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	l := newLatest(t, db, config{})
	if err := l.Add(ctx, 1, &item{Body: "x"}); !errors.Is(err, slicecache.ErrNoParent) {
		t.Error(err)
	}
	mustHold(t, l)
	if _, err := l.Show(ctx, 1); !errors.Is(err, slicecache.ErrNoParent) {
		t.Error(err)
	}
	if err := l.Rebuild(ctx, 1); !errors.Is(err, slicecache.ErrNoParent) {
		t.Error(err)
	}
	if err := l.Edit(ctx, 1, ""); !errors.Is(err, slicecache.ErrNoItem) {
		t.Error(err)
	}
	if err := l.Delete(ctx, 1); !errors.Is(err, slicecache.ErrNoItem) {
		t.Error(err)
	}
	if err := l.Shard(ctx); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	insertParents(t, db, 1)
	must(t, l.Add(ctx, 0, &item{ID: 1, Body: "x"}))
	_, err := db.Collection("posts").DeleteMany(ctx, bson.D{})
	must(t, err)
	must(t, l.Delete(ctx, 1)) // the parent does not exist any more
	if _, err := slicecache.NewLatest(db, config{Max: -1}); err == nil {
		t.Error("a negative number is taken")
	}
}

// TestTogether adds, repeats, edits and deletes items, and rebuilds caches, at the same time.
func TestTogether(t *testing.T) {
	t.Parallel()
	const workers, rounds, parents = 6, 25, 2
	db := patterntest.Open(t)
	insertParents(t, db, parents)
	l := newLatest(t, db, config{Max: 4, Env: patterns.Env{Clock: patterns.SystemClock{}}})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var mine []any
			for i := range rounds {
				it := &item{Body: fmt.Sprint(w, " ", i)}
				if i%3 == 0 {
					it.At = time.UnixMilli(rand.Int64N(1e12))
				}
				err := l.Add(t.Context(), rand.IntN(parents), it)
				mine = append(mine, it.ID)
				switch j := rand.IntN(len(mine)); rand.IntN(5) {
				case 0:
					err = errors.Join(err, l.Edit(t.Context(), mine[j], "edited"))
				case 1:
					err = errors.Join(err, l.Delete(t.Context(), mine[j]))
					mine = append(mine[:j], mine[j+1:]...)
				case 2:
					err = errors.Join(err, l.Rebuild(t.Context(), rand.IntN(parents)))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, l)
}

// TestCrash lets the process die at every point of every operation. Repair corrects the caches, and
// the operation can be repeated.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		do     func(ctx context.Context, l *latest) error
		before string // the items shown if the operation had no effect
		after  string
		points int
	}{
		{"add", func(ctx context.Context, l *latest) error {
			return l.Add(ctx, 0, &item{ID: 9, At: time.Unix(2e9, 0), Body: "z"})
		}, "[c b]", "[z c]", 4},
		{"add to none", func(ctx context.Context, l *latest) error {
			if err := l.Add(ctx, 5, &item{ID: 9, Body: "z"}); !errors.Is(err, slicecache.ErrNoParent) {
				return err
			}
			return nil
		}, "[c b]", "[c b]", 8},
		{"edit", func(ctx context.Context, l *latest) error { return l.Edit(ctx, 2, "C") }, "[c b]", "[C b]", 8},
		{"delete", func(ctx context.Context, l *latest) error {
			if err := l.Delete(ctx, 2); !errors.Is(err, slicecache.ErrNoItem) {
				return err
			}
			return nil
		}, "[c b]", "[b a]", 8},
		{"rebuild", func(ctx context.Context, l *latest) error { return l.Rebuild(ctx, 0) }, "[c b]", "[c b]", 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					insertParents(t, db, 1)
					l := newLatest(t, db, config{Max: 2})
					for i, body := range []string{"a", "b", "c"} {
						must(t, l.Add(t.Context(), 0, &item{ID: i, Body: body}))
					}
				},
				Operation: func(ctx context.Context, db *mongo.Database) error {
					l, err := slicecache.NewLatest(db, config{Max: 2})
					if err != nil {
						return err
					}
					return tt.do(ctx, l)
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					l := newLatest(t, db, config{Max: 2})
					if death.Survived {
						mustHold(t, l)
					}
					for i := range 2 {
						n, err := l.Repair(t.Context())
						must(t, err)
						if n > 1 || i == 1 && n > 0 {
							t.Errorf("repair %d mends %d", i, n)
						}
						mustHold(t, l)
					}
					want := tt.after
					if death.Commands == 0 {
						want = tt.before
					}
					if got := fmt.Sprint(bodies(t, l, 0)); got != want {
						t.Errorf("%s, want %s", got, want)
					}
					must(t, tt.do(t.Context(), l))
					mustHold(t, l)
					if got := fmt.Sprint(bodies(t, l, 0)); got != tt.after {
						t.Errorf("%s, want %s", got, tt.after)
					}
				},
			})
			if points != tt.points {
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestBroken inserts documents that violate each rule, as other programs could. Check finds them,
// and Repair corrects them.
func TestBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ coll, change, want string }{
		{"posts", `{"$push": {"latest": {"$each": [{"_id": 8}, {"_id": 9}]}}}`, slicecache.RuleSize},
		{"posts", `{"$pop": {"latest": 1}}`, slicecache.RuleLatest},
		{"posts", `{"$set": {"latest.0.body": "x"}}`, slicecache.RuleLatest},
		{"posts", `{"$unset": {"latest": 1}}`, slicecache.RuleLatest},
		{"comments", `{"$set": {"body": "x"}}`, slicecache.RuleLatest},
		{"posts", "", slicecache.RuleParent},
	} {
		db := patterntest.Open(t)
		insertParents(t, db, 1)
		l := newLatest(t, db, config{Max: 2})
		must(t, l.Add(t.Context(), 0, &item{ID: 1, Body: "a"}))
		mustHold(t, l)
		var err error
		if tt.change == "" {
			_, err = db.Collection(tt.coll).DeleteMany(t.Context(), bson.D{})
		} else {
			var change bson.D
			must(t, bson.UnmarshalExtJSON([]byte(tt.change), false, &change))
			_, err = db.Collection(tt.coll).UpdateMany(t.Context(), bson.D{}, change)
		}
		must(t, err)
		violations, err := l.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != tt.want {
			t.Errorf("%s: %v %v", tt.change, violations, err)
		}
		if n, err := l.Repair(t.Context()); err != nil || n != 1 {
			t.Errorf("%d are mended: %v", n, err)
		}
		mustHold(t, l)
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	s := patterntest.Start(t)
	insertParents(t, s.Database(), 1)
	n := s.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		l := newLatest(t, db, config{})
		must(t, l.Prepare(ctx, 0))
		must(t, l.Add(ctx, 0, &item{ID: 1, Body: "a"}))
		bodies(t, l, 0)
		must(t, l.Edit(ctx, 1, "b"))
		must(t, l.Delete(ctx, 1))

		c := newCache(t, db, slicecache.CacheConfig{})
		for range 2 {
			_, err := c.Get(ctx, "k",
				func(context.Context) (string, []string, error) { return "v", []string{"t"}, nil })
			must(t, err)
		}
		must(t, errors.Join(c.Set(ctx, "k", "w"), c.Delete(ctx, "k", "l"), c.DeleteTag(ctx, "t")))
	})
	if n < 18 {
		t.Errorf("%d commands were explained", n)
	}
}

// TestCrashRepair lets the process die during Repair. The next Repair continues.
func TestCrashRepair(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			insertParents(t, db, 2)
			l := newLatest(t, db, config{Max: 2})
			for i := range 6 {
				must(t, l.Add(t.Context(), i%2, &item{ID: i, Body: fmt.Sprint(i)}))
			}
			_, err := db.Collection("posts").UpdateMany(t.Context(), bson.D{}, bson.D{{"$pop", bson.D{{"latest", 1}}}})
			must(t, err)
			_, err = db.Collection("comments").InsertOne(t.Context(), bson.D{{"_id", 9}, {"parent", 7}})
			must(t, err)
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			l, err := slicecache.NewLatest(db, config{Max: 2})
			if err != nil {
				return err
			}
			_, err = l.Repair(ctx)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			l := newLatest(t, db, config{Max: 2})
			n, err := l.Repair(t.Context())
			must(t, err)
			if death.Survived && n != 0 {
				t.Errorf("a second repair mends %d", n)
			}
			mustHold(t, l)
			if got := fmt.Sprint(bodies(t, l, 0), bodies(t, l, 1)); got != "[4 2] [5 3]" {
				t.Error(got)
			}
		},
	})
	if points != 18 { // two comparisons, two caches of three commands, an item
		t.Errorf("%d points", points)
	}
}
