package storagetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
)

// lockLater locks a key in another goroutine. It returns when that goroutine waits for the lock or
// has a result.
func lockLater(ctx context.Context, t *testing.T, e storage.Engine, txn storage.Txn, key string) <-chan error {
	t.Helper()
	result, before := make(chan error, 1), e.Stats().LockWaits
	go func() { result <- txn.Lock(ctx, []byte(key)) }()
	for late := time.After(patience); e.Stats().LockWaits == before && len(result) == 0; {
		select {
		case <-late:
			t.Fatal("Lock neither waits nor returns")
		case <-time.After(time.Millisecond):
		}
	}
	return result
}

// waits fails the test if the lock was taken within a short time.
func waits(t *testing.T, result <-chan error) {
	t.Helper()
	select {
	case err := <-result:
		t.Fatalf("Lock did not wait: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
}

// gets checks that a waiting Lock gets the lock.
func gets(t *testing.T, result <-chan error) {
	t.Helper()
	wantError(t, result1(t, result), nil)
}

func result1(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		t.Fatal("Lock still waits")
		return nil
	}
}

func testLockWaits(t *testing.T, e storage.Engine) {
	for _, commit := range []bool{true, false} {
		first, second := e.Begin(), e.Begin()
		lockKey(t, first, "a")
		result := lockLater(context.Background(), t, e, second, "a")
		waits(t, result)
		lockKey(t, e.Begin(), strconv.FormatBool(commit))
		noError(t, first.Put([]byte("a"), []byte(strconv.FormatBool(commit))))
		if commit {
			noError(t, first.Commit(storage.Buffered))
		} else {
			first.Rollback()
		}
		gets(t, result)
		wantValue(t, second, "a", "true")
		second.Rollback()
	}
}

func testLockIsFair(t *testing.T, e storage.Engine) {
	const waiters = 5
	holder := e.Begin()
	lockKey(t, holder, "a")
	var results []<-chan error
	var txns []storage.Txn
	for range waiters {
		txn := e.Begin()
		txns = append(txns, txn)
		result := lockLater(context.Background(), t, e, txn, "a")
		waits(t, result)
		results = append(results, result)
	}
	holder.Rollback()
	for i, result := range results {
		gets(t, result)
		if i+1 < waiters {
			waits(t, results[i+1])
		}
		txns[i].Rollback()
	}
}

func testLockTwice(t *testing.T, e storage.Engine) {
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		for range 3 {
			lockKey(t, txn, "a")
		}
		noError(t, txn.Put([]byte("a"), []byte("1")))
		lockKey(t, txn, "a")
		noError(t, txn.Commit(storage.Buffered))
		put(t, e, pair{"a", "2"})
	}
}

func testLockDeadline(t *testing.T, e storage.Engine) {
	holder, waiter, next := e.Begin(), e.Begin(), e.Begin()
	lockKey(t, holder, "a")
	ctx, cancel := context.WithCancel(context.Background())
	result := lockLater(ctx, t, e, waiter, "a")
	waits(t, result)
	behind := lockLater(context.Background(), t, e, next, "a")
	waits(t, behind)
	cancel()
	wantError(t, result1(t, result), context.Canceled)
	waiter.Rollback()
	waits(t, behind)
	holder.Rollback()
	gets(t, behind)
	next.Rollback()
	late := e.Begin()
	defer late.Rollback()
	lockKey(t, late, "a")
	blocked := e.Begin()
	defer blocked.Rollback()
	wantError(t, blocked.Lock(ctx, []byte("a")), context.Canceled)
}

func testDeadlock(t *testing.T, e storage.Engine) {
	const n = 4
	txns := make([]storage.Txn, n)
	for i := range txns {
		txns[i] = e.Begin()
		lockKey(t, txns[i], number(i))
	}
	var results []<-chan error
	for i := range n - 1 {
		result := lockLater(context.Background(), t, e, txns[i], number(i+1))
		waits(t, result)
		results = append(results, result)
	}
	wantError(t, txns[n-1].Lock(context.Background(), []byte(number(0))), storage.ErrConflict)
	txns[n-1].Rollback()
	for i := n - 2; i >= 0; i-- {
		gets(t, results[i])
		txns[i].Rollback()
	}
}

func testReadModifyWrite(t *testing.T, e storage.Engine) {
	const writers, rounds, keys = 8, 60, 3
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range rounds {
				key := number((w + i) % keys)
				txn := e.Begin()
				lockKey(t, txn, key)
				v, _ := value(t, txn, key)
				n, _ := strconv.Atoi(v)
				noError(t, txn.Put([]byte(key), []byte(strconv.Itoa(n+1))))
				noError(t, txn.Commit(storage.Buffered))
			}
		}()
	}
	wg.Wait()
	sum := 0
	for k := range keys {
		v, _ := value(t, reader{e}, number(k))
		n, _ := strconv.Atoi(v)
		sum += n
	}
	if sum != writers*rounds {
		t.Fatalf("%d increments are left of %d", sum, writers*rounds)
	}
}

func testSnapshotTxnReadsSnapshot(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"})
	txn := e.BeginSnapshot()
	defer txn.Rollback()
	put(t, e, pair{"a", "2"}, pair{"b", "2"})
	wantValue(t, txn, "a", "1")
	wantValue(t, txn, "b", "")
	wantScan(t, txn, "", "", "a=1")
	noError(t, txn.Put([]byte("c"), []byte("3")))
	wantScan(t, txn, "", "", "a=1", "c=3")
	noError(t, txn.Commit(storage.Buffered))
	wantScan(t, reader{e}, "", "", "a=2", "b=2", "c=3")
}

func testSnapshotTxnConflictHeld(t *testing.T, e storage.Engine) {
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		holder, txn := begin(), e.BeginSnapshot()
		lockKey(t, holder, "a")
		wantError(t, txn.Lock(context.Background(), []byte("a")), storage.ErrConflict)
		holder.Rollback()
		// The holder has changed nothing.
		lockKey(t, txn, "a")
		txn.Rollback()
	}
}

func testSnapshotTxnConflictChanged(t *testing.T, e storage.Engine) {
	put(t, e, pair{"deleted", "1"})
	txn := e.BeginSnapshot()
	defer txn.Rollback()
	put(t, e, pair{"put", "1"})
	remove(t, e, "deleted")
	// The lock that was taken counts, not the key that was written.
	other := e.Begin()
	lockKey(t, other, "unique")
	noError(t, other.Put([]byte("unique/1"), nil))
	noError(t, other.Commit(storage.Buffered))
	for _, key := range []string{"put", "deleted", "unique"} {
		wantError(t, txn.Lock(context.Background(), []byte(key)), storage.ErrConflict)
	}
	lockKey(t, txn, "fresh")
	later := e.BeginSnapshot()
	defer later.Rollback()
	for _, key := range []string{"put", "deleted", "unique"} {
		if key == "put" {
			wantError(t, later.Lock(context.Background(), []byte("fresh")), storage.ErrConflict)
		}
	}
	txn.Rollback()
	for _, key := range []string{"put", "deleted", "unique", "fresh"} {
		lockKey(t, later, key)
	}
}

func testSnapshotTxnNoConflict(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"})
	txn := e.BeginSnapshot()
	defer txn.Rollback()
	// A transaction without changes or one that was rolled back does not conflict, and neither does
	// adding to a counter.
	for _, commit := range []bool{true, false} {
		other := e.Begin()
		lockKey(t, other, "a")
		if commit {
			noError(t, other.Commit(storage.Buffered))
			continue
		}
		noError(t, other.Put([]byte("a"), []byte("2")))
		other.Rollback()
	}
	other := e.Begin()
	noError(t, other.Add([]byte("n"), storage.Counter{Count: 1}))
	noError(t, other.Commit(storage.Buffered))
	lockKey(t, txn, "a")
	noError(t, txn.Add([]byte("n"), storage.Counter{Count: 1}))
	noError(t, txn.Put([]byte("a"), []byte("3")))
	noError(t, txn.Commit(storage.Buffered))
	c, err := e.Counter([]byte("n"))
	noError(t, err)
	if c.Count != 2 {
		t.Fatalf("the counter is %d", c.Count)
	}
}

func testFirstCommitterWins(t *testing.T, e storage.Engine) {
	first, second := e.BeginSnapshot(), e.BeginSnapshot()
	lockKey(t, first, "a")
	noError(t, first.Put([]byte("a"), []byte("first")))
	noError(t, first.Commit(storage.Buffered))
	wantError(t, second.Lock(context.Background(), []byte("a")), storage.ErrConflict)
	second.Rollback()
	third := e.BeginSnapshot()
	lockKey(t, third, "a")
	wantValue(t, third, "a", "first")
	noError(t, third.Put([]byte("a"), []byte("third")))
	noError(t, third.Commit(storage.Buffered))
	wantValue(t, reader{e}, "a", "third")
	// A statement transaction waits for a snapshot transaction as for any other transaction.
	holder, waiter := e.BeginSnapshot(), e.Begin()
	lockKey(t, holder, "a")
	result := lockLater(context.Background(), t, e, waiter, "a")
	waits(t, result)
	noError(t, holder.Put([]byte("a"), []byte("fourth")))
	noError(t, holder.Commit(storage.Buffered))
	gets(t, result)
	wantValue(t, waiter, "a", "fourth")
	waiter.Rollback()
}

// testSnapshotTransfers moves units between accounts in snapshot transactions. The sum never
// changes.
func testSnapshotTransfers(t *testing.T, e storage.Engine) {
	const accounts, writers, rounds = 5, 6, 40
	for a := range accounts {
		put(t, e, pair{number(a), "100"})
	}
	move := func(from, to string) error {
		txn := e.BeginSnapshot()
		defer txn.Rollback()
		for key, delta := range map[string]int{from: -1, to: 1} {
			if err := txn.Lock(context.Background(), []byte(key)); err != nil {
				return err
			}
			v, _ := value(t, txn, key)
			n, _ := strconv.Atoi(v)
			noError(t, txn.Put([]byte(key), []byte(strconv.Itoa(n+delta))))
		}
		return txn.Commit(storage.Buffered)
	}
	sum := func(r storage.Reader) int {
		total := 0
		for a := range accounts {
			v, _ := value(t, r, number(a))
			n, _ := strconv.Atoi(v)
			total += n
		}
		return total
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range rounds {
				err := move(number((w+i)%accounts), number((w+i+1+i%3)%accounts))
				if err != nil && !errors.Is(err, storage.ErrConflict) {
					t.Errorf("transfer: %v", err)
				}
				s := e.NewSnapshot()
				if got := sum(s); got != accounts*100 {
					t.Errorf("a snapshot saw a sum of %d", got)
				}
				noError(t, s.Close())
			}
		}()
	}
	wg.Wait()
}
