package lock_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func newTallies(t testing.TB, db *mongo.Database) *lock.Tallies {
	t.Helper()
	tallies, err := lock.NewTallies(db, lock.TallyConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return tallies
}

func newLines(t testing.TB, db *mongo.Database, limit int) *lock.Lines {
	t.Helper()
	lines, err := lock.NewLines(db, lock.LinesConfig{Max: limit})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// checker is the interface that both kinds of documents have.
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

// TestTally compares tallies with a map in memory.
func TestTally(t *testing.T) {
	t.Parallel()
	tallies := newTallies(t, patterntest.Open(t))
	id := 0
	rapid.Check(t, func(rt *rapid.T) {
		id++
		want, total := map[string]int64{}, int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "changes") {
			kind, n := rapid.SampledFrom([]string{"apples", "pears", "figs"}).Draw(rt, "kind"),
				rapid.Int64Range(-3, 3).Draw(rt, "n")
			got, err := tallies.Add(t.Context(), id, kind, n)
			if want[kind]+n < 0 {
				if !errors.Is(err, lock.ErrNegative) {
					rt.Fatalf("%d of %d %s: %v", n, want[kind], kind, err)
				}
				continue
			}
			if err != nil {
				rt.Fatal(err)
			}
			total += n
			if want[kind] += n; want[kind] == 0 {
				delete(want, kind)
			}
			if !maps.Equal(got.Counts, want) || got.Total != total || got.Kinds != int64(len(want)) {
				rt.Fatalf("%+v, want %v, total %d", got, want, total)
			}
		}
	})
	mustHold(t, tallies)
}

// TestBook is worked examples W034 to W036 of the book: a document counts pieces of fruit, and has
// their sum and the number of their kinds. The book counts the kinds while it holds a lock; here no
// lock is needed.
func TestBook(t *testing.T) {
	t.Parallel()
	db, ctx := patterntest.Open(t), t.Context()
	tallies := newTallies(t, db)
	add := func(kind string, n int64) *lock.Tally {
		tally, err := tallies.Add(ctx, 123, kind, n)
		if err != nil {
			t.Fatal(err)
		}
		return tally
	}
	add("apples", 10)
	add("oranges", 5)
	add("apples", 10)
	if got := add("oranges", -2); got.Counts["apples"] != 20 || got.Counts["oranges"] != 3 ||
		got.Total != 23 || got.Kinds != 2 {
		t.Errorf("%+v", got)
	}
	locks := newLocks(t, db, nil)
	first := mustAcquire(t, locks)
	if _, err := locks.Acquire(ctx, "l"); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("another client: %v", err)
	}
	if got := add("banana", 3); got.Counts["banana"] != 3 || got.Total != 26 || got.Kinds != 3 {
		t.Errorf("%+v", got)
	}
	if err := first.Release(ctx); err != nil {
		t.Error(err)
	}
	mustAcquire(t, locks)
	mustHold(t, tallies)
	mustHold(t, locks)
}

func TestTallyNames(t *testing.T) {
	t.Parallel()
	tallies := newTallies(t, patterntest.Open(t))
	for _, kind := range []string{"", "a.b", "$a", "a\x00b"} {
		if _, err := tallies.Add(t.Context(), 1, kind, 1); !errors.Is(err, lock.ErrKind) {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if got, err := tallies.Add(t.Context(), 1, "0", 2); err != nil || got.Counts["0"] != 2 {
		t.Errorf("%+v %v", got, err)
	}
}

// TestTallyBroken inserts tallies with wrong sums, like other programs could. Check finds them, and
// Repair corrects them.
func TestTallyBroken(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	tallies := newTallies(t, db)
	if _, err := tallies.Add(t.Context(), 0, "a", 1); err != nil {
		t.Fatal(err)
	}
	counts := bson.D{{"a", 2}, {"b", 3}}
	_, err := db.Collection("tallies").InsertMany(t.Context(), []bson.D{
		{{"_id", 1}, {"counts", counts}, {"total", 6}, {"kinds", 2}},
		{{"_id", 2}, {"counts", counts}, {"total", 5}, {"kinds", 3}},
		{{"_id", 3}, {"counts", counts}, {"total", 5}, {"kinds", 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if violations, err := tallies.Check(t.Context()); err != nil || len(violations) != 2 ||
		violations[0].Rule != lock.RuleSums {
		t.Errorf("%v %v", violations, err)
	}
	if n, err := tallies.Repair(t.Context()); err != nil || n != 2 {
		t.Errorf("%d tallies are mended: %v", n, err)
	}
	mustHold(t, tallies)
}

// TestLinesTogether lets many goroutines add to the same lines at the same time: the total is
// right.
func TestLinesTogether(t *testing.T) {
	t.Parallel()
	const workers, rounds = 8, 20
	db := patterntest.Open(t)
	lines := newLines(t, db, 0)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range rounds {
				if err := lines.Add(t.Context(), "order", string(rune('a'+i%5)), 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, lines)
	var doc struct{ Total int64 }
	if err := db.Collection("lines").FindOne(t.Context(), bson.D{}).
		Decode(&doc); err != nil || doc.Total != workers*rounds {
		t.Errorf("%d, want %d: %v", doc.Total, workers*rounds, err)
	}
}

func TestLinesFull(t *testing.T) {
	t.Parallel()
	lines := newLines(t, patterntest.Open(t), 2)
	for i, sku := range []string{"a", "b", "a", "c"} {
		if err := lines.Add(t.Context(), 1, sku, 1); errors.Is(err, lock.ErrFull) != (i == 3) {
			t.Errorf("%s: %v", sku, err)
		}
	}
	mustHold(t, lines)
}

// TestLinesCrash lets the process die at every point: the line and its part of the sum exist
// together, or not at all.
func TestLinesCrash(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Operation: func(ctx context.Context, db *mongo.Database) error {
			return newLines(t, db, 0).Add(ctx, 1, "a", 3)
		},
		After: func(t *testing.T, db *mongo.Database, _ patterntest.Death) { mustHold(t, newLines(t, db, 0)) },
	})
	if points != 4 {
		t.Errorf("%d points", points)
	}
}

func TestLinesBroken(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	line := bson.D{{"sku", "a"}, {"qty", 1}}
	_, err := db.Collection("lines").InsertMany(t.Context(), []bson.D{
		{{"_id", 1}, {"items", bson.A{line}}, {"total", 2}},
		{{"_id", 2}, {"items", bson.A{line, line}}, {"total", 2}},
		{{"_id", 3}, {"items", bson.A{line}}, {"total", 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if violations, err := newLines(t, db, 0).Check(t.Context()); err != nil || len(violations) != 2 ||
		violations[0].Rule != lock.RuleLines {
		t.Errorf("%v %v", violations, err)
	}
}
