package storagetest

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/sheafdb/sheaf/internal/storage"
)

func testStamps(t *testing.T, e storage.Engine) {
	order := e.Order()
	if order.Visible() != 0 {
		t.Fatalf("a new engine has stamp %d", order.Visible())
	}
	least := storage.NewStamp(100, 1)
	txn := e.Begin()
	noError(t, txn.PutStamped([]byte("log"), []byte("--------one"), 0, least))
	noError(t, txn.PutStamped([]byte("log"), []byte("two"), -1, least))
	if txn.Len() != 2 || txn.Bytes() != 2*11+14 {
		t.Errorf("length %d, %d bytes", txn.Len(), txn.Bytes())
	}
	arrival := order.Arrival()
	noError(t, txn.Commit(storage.Buffered))
	<-arrival
	if txn.Stamp() != least+1 || order.Visible() != least+1 {
		t.Errorf("stamp %x, visible %x", txn.Stamp(), order.Visible())
	}
	second := e.Begin()
	noError(t, second.PutStamped([]byte("log"), []byte("three"), -1, 5))
	noError(t, second.Commit(storage.Durable))
	order.Advance(storage.NewStamp(200, 7))
	order.Advance(3)
	third := e.BeginSnapshot()
	noError(t, third.PutStamped([]byte("log"), []byte("four"), -1, 5))
	noError(t, third.Commit(storage.Buffered))
	rolledBack := e.Begin()
	noError(t, rolledBack.PutStamped([]byte("log"), []byte("never"), -1, 5))
	rolledBack.Rollback()
	empty := e.Begin()
	noError(t, empty.Commit(storage.Buffered))
	if empty.Stamp() != 0 || rolledBack.Stamp() != 0 {
		t.Error("a stamp without a commit")
	}
	stamps, values := readLog(t, e)
	wantStamps := []storage.Stamp{least, least + 1, least + 2, storage.NewStamp(200, 8)}
	wantValues := []string{string(binary.LittleEndian.AppendUint64(nil, uint64(least))) + "one", "two", "three", "four"}
	for i := range wantStamps {
		if i >= len(stamps) || stamps[i] != wantStamps[i] || values[i] != wantValues[i] {
			t.Fatalf("the log has %x %q, want %x %q", stamps, values, wantStamps, wantValues)
		}
	}
	if len(stamps) != len(wantStamps) {
		t.Errorf("the log has %x %q", stamps, values)
	}
}

// testOrderAdvance advances the order while a commit is in progress. The new time becomes visible
// when the commit has ended.
func testOrderAdvance(t *testing.T, e storage.Engine) {
	order := e.Order()
	order.Advance(storage.NewStamp(10, 1))
	first := order.Begin(5, 2)
	if first != storage.NewStamp(10, 2) || order.Visible() != storage.NewStamp(10, 1) {
		t.Fatalf("first %x, visible %x", first, order.Visible())
	}
	order.Advance(storage.NewStamp(20, 0))
	if order.Visible() != storage.NewStamp(10, 1) || order.Last() != storage.NewStamp(20, 0) {
		t.Errorf("under way: visible %x, last %x", order.Visible(), order.Last())
	}
	taken := order.Take(0)
	arrival := order.Arrival()
	order.End(first)
	<-arrival
	if taken != storage.NewStamp(20, 1) || order.Visible() != taken || order.Last() != taken {
		t.Errorf("taken %x, visible %x, last %x", taken, order.Visible(), order.Last())
	}
	second := order.Begin(0, 1)
	order.Advance(storage.NewStamp(30, 0))
	order.End(second)
	if order.Visible() != storage.NewStamp(30, 0) {
		t.Errorf("an advance beside the last commit is not visible: %x", order.Visible())
	}
}

// testOrderSafe reveals commits before they are safe. They end in another order.
func testOrderSafe(t *testing.T, e storage.Engine) {
	order := e.Order()
	expect := func(what string, visible, safe storage.Stamp) {
		t.Helper()
		if order.Visible() != visible || order.Safe() != safe {
			t.Errorf("%s: visible %d, safe %d; want %d and %d", what, order.Visible(), order.Safe(), visible, safe)
		}
	}
	one, two, three := order.Begin(1, 1), order.Begin(1, 3), order.Begin(1, 1)
	order.Reveal(two)
	expect("the second is revealed", 0, 0)
	order.Reveal(one)
	expect("the first is revealed, too", 4, 0)
	order.End(two)
	order.End(three)
	expect("all but the first are safe", 5, 0)
	order.Advance(9)
	expect("an advance beside a commit that is not safe", 9, 0)
	safe := order.SafeArrival()
	order.End(one)
	<-safe
	expect("all are safe", 9, 9)
}

// readLog returns the stamps and values under "log".
func readLog(t *testing.T, r storage.Engine) (stamps []storage.Stamp, values []string) {
	t.Helper()
	snapshot := r.NewSnapshot()
	defer snapshot.Close()
	it, err := snapshot.NewIter([]byte("log"), []byte("loh"))
	noError(t, err)
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		stamps = append(stamps, storage.Stamp(binary.BigEndian.Uint64(it.Key()[3:])))
		value, err := it.Value()
		noError(t, err)
		values = append(values, string(value))
	}
	noError(t, it.Err())
	return stamps, values
}

// testStampsConcurrent reads up to the visible stamp while other goroutines commit. No stamp may
// appear later that a reader has already passed.
func testStampsConcurrent(t *testing.T, e storage.Engine) {
	const writers, commits = 8, 100
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range commits {
				txn := e.Begin()
				for range 1 + i%3 {
					if err := txn.PutStamped([]byte("log"), []byte{byte(w)}, -1, 1); err != nil {
						t.Error(err)
					}
				}
				durability := storage.Buffered
				if i%10 == 0 {
					durability = storage.Durable
				}
				if err := txn.Commit(durability); err != nil {
					t.Error(err)
				}
				if txn.Stamp() == 0 {
					t.Error("no stamp")
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var seen []storage.Stamp
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		visible := e.Order().Visible()
		stamps, _ := readLog(t, e)
		n := 0
		for n < len(stamps) && stamps[n] <= visible {
			n++
		}
		for i, stamp := range seen {
			if i >= n || stamps[i] != stamp {
				t.Fatalf("stamp %d at %d was read, now there is %x", stamp, i, stamps[:n])
			}
		}
		seen = stamps[:n]
	}
	total := 0
	for i := range commits {
		total += writers * (1 + i%3)
	}
	if len(seen) != total || seen[total-1] != storage.Stamp(total) {
		t.Errorf("%d stamps up to %d, want %d", len(seen), e.Order().Visible(), total)
	}
}
