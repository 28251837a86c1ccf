package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
)

// Open opens an empty engine that the test cleans up.
type Open func(t testing.TB) storage.Engine

// patience is how long a test waits for something that should happen immediately.
const patience = 10 * time.Second

// Run runs the suite on engines that open returns.
func Run(t *testing.T, open Open) {
	tests := []struct {
		name string
		run  func(t *testing.T, e storage.Engine)
	}{
		{"GetMissing", testGetMissing},
		{"PutGetDelete", testPutGetDelete},
		{"EmptyKeysAndValues", testEmptyValues},
		{"InputsAreCopied", testInputsAreCopied},
		{"CommitIsAtomic", testCommitIsAtomic},
		{"OwnWrites", testOwnWrites},
		{"OwnWritesMany", testOwnWritesMany},
		{"StatementReadsNewest", testStatementReadsNewest},
		{"EndedTransaction", testEndedTransaction},
		{"SizeOfTransaction", testSizeOfTransaction},
		{"Iterator", testIterator},
		{"IteratorBounds", testIteratorBounds},
		{"IteratorTurns", testIteratorTurns},
		{"IteratorIgnoresLaterWrites", testIteratorIgnoresLaterWrites},
		{"IteratorOverOwnWrites", testIteratorOverOwnWrites},
		{"IteratorsOverOwnWrites", testIteratorsOverOwnWrites},
		{"IteratorOutlivesTxn", testIteratorOutlivesTxn},
		{"IteratorsReadNewest", testIteratorsReadNewest},
		{"Snapshot", testSnapshot},
		{"SnapshotClosed", testSnapshotClosed},
		{"LockWaits", testLockWaits},
		{"LockIsFair", testLockIsFair},
		{"LockTwice", testLockTwice},
		{"LockDeadline", testLockDeadline},
		{"Deadlock", testDeadlock},
		{"ReadModifyWrite", testReadModifyWrite},
		{"SnapshotTxnReadsSnapshot", testSnapshotTxnReadsSnapshot},
		{"SnapshotTxnConflictHeld", testSnapshotTxnConflictHeld},
		{"SnapshotTxnConflictChanged", testSnapshotTxnConflictChanged},
		{"SnapshotTxnNoConflict", testSnapshotTxnNoConflict},
		{"SnapshotTxnsFirstCommitterWins", testFirstCommitterWins},
		{"SnapshotTransfers", testSnapshotTransfers},
		{"Scratch", testScratch},
		{"Stamps", testStamps},
		{"StampsConcurrent", testStampsConcurrent},
		{"OrderAdvance", testOrderAdvance},
		{"OrderSafe", testOrderSafe},
		{"Counters", testCounters},
		{"CountersConcurrent", testCountersConcurrent},
		{"CountersEnd", testCountersEnd},
		{"DeleteRange", testDeleteRange},
		{"LargeTransaction", testLargeTransaction},
		{"Checkpoint", testCheckpoint},
		{"Stats", testStats},
		{"Close", testClose},
		{"CloseLeaks", testCloseLeaks},
		{"CloseWakesWaiters", testCloseWakesWaiters},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open(t))
		})
	}
}

// pair is a key and its value, as text.
type pair struct{ key, value string }

func (p pair) String() string { return p.key + "=" + p.value }

// put commits pairs in one statement transaction.
func put(t testing.TB, e storage.Engine, pairs ...pair) {
	t.Helper()
	txn := e.Begin()
	defer txn.Rollback()
	for _, p := range pairs {
		lockKey(t, txn, p.key)
		noError(t, txn.Put([]byte(p.key), []byte(p.value)))
	}
	noError(t, txn.Commit(storage.Buffered))
}

// remove commits the deletion of keys in one statement transaction.
func remove(t testing.TB, e storage.Engine, keys ...string) {
	t.Helper()
	txn := e.Begin()
	defer txn.Rollback()
	for _, key := range keys {
		lockKey(t, txn, key)
		noError(t, txn.Delete([]byte(key)))
	}
	noError(t, txn.Commit(storage.Buffered))
}

func lockKey(t testing.TB, txn storage.Txn, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	noError(t, txn.Lock(ctx, []byte(key)))
}

// value reads a key. It returns "" and false if the key is missing.
func value(t testing.TB, r storage.Reader, key string) (string, bool) {
	t.Helper()
	v, closer, err := r.Get([]byte(key))
	if txn, ok := r.(storage.Txn); ok {
		checkHas(t, txn, []byte(key), err == nil)
	}
	if errors.Is(err, storage.ErrNotFound) {
		return "", false
	}
	noError(t, err)
	s := string(v)
	noError(t, closer.Close())
	return s, true
}

// checkHas checks whether a transaction finds a key.
func checkHas(t interface{ Fatalf(string, ...any) }, txn storage.Txn, key []byte, want bool) {
	if got, err := txn.Has(key); err != nil || got != want {
		t.Fatalf("a transaction has %q: %v, %v, want %v", key, got, err, want)
	}
}

// wantValue checks the value of a key; want "" means that it is missing.
func wantValue(t testing.TB, r storage.Reader, key, want string) {
	t.Helper()
	got, ok := value(t, r, key)
	if got != want || ok != (want != "") {
		t.Fatalf("value of %q: got %q (present: %v), want %q", key, got, ok, want)
	}
}

// reader makes a Reader of the newest state of an engine, for single gets.
type reader struct{ storage.Engine }

// NewIter implements storage.Reader with a new snapshot.
func (r reader) NewIter(lower, upper []byte) (storage.Iterator, error) {
	s := r.NewSnapshot()
	defer s.Close()
	return s.NewIter(lower, upper)
}

// scan returns the pairs of [lower, upper) as text, in ascending order.
func scan(t testing.TB, r storage.Reader, lower, upper string) []string {
	t.Helper()
	it, err := r.NewIter(bound(lower), bound(upper))
	noError(t, err)
	defer func() { noError(t, it.Close()) }()
	var pairs []string
	for ok := it.First(); ok; ok = it.Next() {
		pairs = append(pairs, here(t, it))
	}
	noError(t, it.Err())
	var back []string
	for ok := it.Last(); ok; ok = it.Prev() {
		back = append(back, here(t, it))
	}
	noError(t, it.Err())
	slices.Reverse(back)
	if !slices.Equal(pairs, back) {
		t.Fatalf("scan of [%q, %q): forward %v, backward %v", lower, upper, pairs, back)
	}
	return pairs
}

// bound converts "" to an open bound.
func bound(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// here returns the pair that an iterator is at.
func here(t testing.TB, it storage.Iterator) string {
	t.Helper()
	v, err := it.Value()
	noError(t, err)
	return pair{string(bytes.Clone(it.Key())), string(v)}.String()
}

func wantScan(t testing.TB, r storage.Reader, lower, upper string, want ...string) {
	t.Helper()
	if got := scan(t, r, lower, upper); !slices.Equal(got, want) {
		t.Fatalf("scan of [%q, %q): got %v, want %v", lower, upper, got, want)
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func wantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

// within fails the test if done is not closed in time.
func within(t testing.TB, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s did not happen in %v", what, patience)
	}
}

// number returns a key or value whose text order is the order of the numbers.
func number(n int) string { return fmt.Sprintf("%08d", n) }
