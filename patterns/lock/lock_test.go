package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func newLocks(t *testing.T, db *mongo.Database, clock patterns.Clock) *lock.Locks {
	t.Helper()
	locks, err := lock.New(db, lock.Config{Env: patterns.Env{Clock: clock}, Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

func mustAcquire(t *testing.T, locks *lock.Locks) *lock.Lease {
	t.Helper()
	lease, err := locks.Acquire(t.Context(), "l")
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestLease(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	locks := newLocks(t, patterntest.Open(t), clock)
	first := mustAcquire(t, locks)
	if _, err := locks.Acquire(t.Context(), "l"); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("a lock that is held: %v", err)
	}
	clock.Advance(50 * time.Second)
	if err := first.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(50 * time.Second)
	if _, err := locks.Acquire(t.Context(), "l"); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("a lock that was renewed: %v", err)
	}
	clock.Advance(10 * time.Second)
	second := mustAcquire(t, locks)
	if second.Token() <= first.Token() {
		t.Errorf("token %d after %d", second.Token(), first.Token())
	}
	if err := first.Renew(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("renewing what another one holds: %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := locks.Acquire(t.Context(), "l"); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("the release of a lease that has ended gave the lock free: %v", err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if third := mustAcquire(t, locks); third.Token() <= second.Token() {
		t.Errorf("token %d after %d", third.Token(), second.Token())
	}
}

// TestGuard lets a holder sleep until its lease has ended: its late write changes nothing after the
// write of the next holder.
func TestGuard(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	db := patterntest.Open(t)
	locks, coll := newLocks(t, db, clock), db.Collection("reports")
	if _, err := coll.InsertOne(t.Context(), bson.D{{"_id", 1}}); err != nil {
		t.Fatal(err)
	}
	write := func(lease *lock.Lease, total int) int64 {
		when, set := lease.Guard("fence")
		res, err := coll.UpdateOne(t.Context(), append(when, bson.E{"_id", 1}),
			bson.D{{"$set", append(set, bson.E{"total", total})}})
		if err != nil {
			t.Fatal(err)
		}
		return res.MatchedCount
	}
	slow := mustAcquire(t, locks)
	if n := write(slow, 1); n != 1 {
		t.Errorf("the first write changed %d documents", n)
	}
	clock.Advance(time.Hour)
	if n := write(mustAcquire(t, locks), 2); n != 1 {
		t.Errorf("the next holder changed %d documents", n)
	}
	if n := write(slow, 3); n != 0 {
		t.Errorf("a holder without a lease changed %d documents", n)
	}
}

// TestOneHolder lets many goroutines take one lock: at most one of them holds it at a time.
func TestOneHolder(t *testing.T) {
	t.Parallel()
	const workers, rounds = 8, 20
	locks := newLocks(t, patterntest.Open(t), nil)
	var inside, total atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				lease, err := locks.Wait(t.Context(), "l", time.Millisecond)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				total.Add(1)
				inside.Add(-1)
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if total.Load() != workers*rounds {
		t.Errorf("%d of %d turns", total.Load(), workers*rounds)
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	db := patterntest.Open(t)
	locks := newLocks(t, db, clock)
	err := locks.Do(t.Context(), "l", func(ctx context.Context, lease *lock.Lease) error {
		if err := lease.Release(ctx); err != nil { // as if the lease had expired
			return err
		}
		mustAcquire(t, locks)
		for ctx.Err() == nil {
			clock.Advance(20 * time.Second)
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	if !errors.Is(err, lock.ErrLost) {
		t.Errorf("a lease that was lost: %v", err)
	}
	other := newLocks(t, db, clock)
	for range 2 { // the lock is free again afterwards
		if err := other.Do(t.Context(), "m", func(context.Context, *lock.Lease) error { return nil }); err != nil {
			t.Error(err)
		}
	}
}

// TestCrash lets the holder die at every point: the lock is free at once, or when the lease has
// ended.
func TestCrash(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Operation: func(ctx context.Context, db *mongo.Database) error {
			lease, err := newLocks(t, db, patterntest.NewClock()).Acquire(ctx, "l")
			if err != nil {
				return err
			}
			if err := lease.Renew(ctx); err != nil {
				return err
			}
			return lease.Release(ctx)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			clock := patterntest.NewClock()
			locks := newLocks(t, db, clock)
			held := death.Commands > 0 && death.Commands < 3
			if _, err := locks.Acquire(t.Context(), "l"); errors.Is(err, lock.ErrHeld) != held {
				t.Errorf("held: %v, want %v", err, held)
			}
			clock.Advance(time.Minute)
			mustAcquire(t, locks)
		},
	})
	if points != 6 {
		t.Errorf("%d points", points)
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	n := patterntest.Start(t).NoScans(t, func(ctx context.Context, db *mongo.Database) {
		lease := mustAcquire(t, newLocks(t, db, nil))
		if err := errors.Join(lease.Renew(ctx), lease.Release(ctx)); err != nil {
			t.Error(err)
		}
	})
	if n != 3 {
		t.Errorf("%d commands were explained", n)
	}
}

// TestBroken inserts locks that would be held for ever, as other programs could, and expects Check
// to find them.
func TestBroken(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	lease := bson.E{"expires", clock.Now().Add(time.Minute)}
	token := bson.E{"token", int64(7)}
	for name, c := range map[string]struct {
		doc  bson.D
		rule string
	}{
		"no end":   {bson.D{{"_id", "x"}, token}, lock.RuleEnds},
		"no date":  {bson.D{{"_id", "x"}, token, {"expires", "never"}}, lock.RuleEnds},
		"far":      {bson.D{{"_id", "x"}, token, {"expires", clock.Now().Add(time.Hour)}}, lock.RuleEnds},
		"no token": {bson.D{{"_id", "x"}, lease}, lock.RuleToken},
		"a text":   {bson.D{{"_id", "x"}, lease, {"token", "7"}}, lock.RuleToken},
		"negative": {bson.D{{"_id", "x"}, lease, {"token", -1}}, lock.RuleToken},
	} {
		db := patterntest.Open(t)
		locks := newLocks(t, db, clock)
		mustAcquire(t, locks)
		mustHold(t, locks)
		if _, err := db.Collection("locks").InsertOne(t.Context(), c.doc); err != nil {
			t.Fatal(err)
		}
		violations, err := locks.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != c.rule {
			t.Errorf("%s: %v %v", name, violations, err)
		}
	}
}

func TestNotSharded(t *testing.T) {
	t.Parallel()
	if err := newLocks(t, patterntest.Open(t), nil).Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
}
