package storagetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
)

func testDeleteRange(t *testing.T, e storage.Engine) {
	put(t, e, letters...)
	noError(t, e.DeleteRange([]byte("d"), []byte("h")))
	wantScan(t, reader{e}, "", "", "b=1", "h=4", "j=5")
	put(t, e, pair{"d", "new"})
	wantScan(t, reader{e}, "", "", "b=1", "d=new", "h=4", "j=5")
	noError(t, e.DeleteRange([]byte("x"), []byte("z")))
	noError(t, e.DeleteRange([]byte("a"), []byte("z")))
	wantScan(t, reader{e}, "", "")
}

func testCheckpoint(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"})
	noError(t, e.Checkpoint(""))
	wantValue(t, reader{e}, "a", "1")
	if _, err := e.DiskUsage([]byte("a"), []byte("b")); err != nil {
		t.Fatal(err)
	}
}

func testStats(t *testing.T, e storage.Engine) {
	base := e.Stats()
	s, txn := e.NewSnapshot(), e.Begin()
	got := e.Stats()
	if got.OpenSnapshots != base.OpenSnapshots+1 || got.TransactionsActive != base.TransactionsActive+1 {
		t.Fatalf("open: %+v, before: %+v", got, base)
	}
	noError(t, s.Close())
	noError(t, txn.Put([]byte("a"), nil))
	noError(t, txn.Commit(storage.Durable))
	put(t, e, pair{"b", "1"})
	snap := e.BeginSnapshot()
	put(t, e, pair{"b", "2"})
	wantError(t, snap.Lock(context.Background(), []byte("b")), storage.ErrConflict)
	snap.Rollback()
	got = e.Stats()
	if got.OpenSnapshots != 0 || got.TransactionsActive != 0 {
		t.Fatalf("something is still open: %+v", got)
	}
	if got.CommitsDurable != 1 || got.CommitsBuffered != 2 || got.Conflicts != 1 {
		t.Fatalf("commits and conflicts: %+v", got)
	}
}

func testClose(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"})
	s, txn, snapTxn := e.NewSnapshot(), e.Begin(), e.BeginSnapshot()
	noError(t, txn.Put([]byte("b"), []byte("1")))
	noError(t, snapTxn.Put([]byte("c"), []byte("1")))
	s.Close()
	_ = e.Close()
	wantError(t, e.Close(), storage.ErrClosed)
	for name, err := range map[string]error{
		"Get":         second(e.Get([]byte("a"))),
		"Counter":     first(e.Counter([]byte("a"))),
		"DeleteRange": e.DeleteRange([]byte("a"), []byte("b")),
		"Checkpoint":  e.Checkpoint(""),
		"DiskUsage":   first(e.DiskUsage([]byte("a"), []byte("b"))),
		"Contents":    first(e.Contents([]byte("a"), []byte("b"))),
		"Disk":        first(e.Disk()),
		"Commit":      txn.Commit(storage.Durable),
		"CommitSnap":  snapTxn.Commit(storage.Durable),
		"Snapshot":    second(e.NewSnapshot().Get([]byte("a"))),
		"Begin":       second(e.Begin().Get([]byte("a"))),
		"BeginHas":    first(e.Begin().Has([]byte("a"))),
		"BeginLock":   e.Begin().Lock(context.Background(), []byte("a")),
		"BeginSnap":   second(e.BeginSnapshot().Get([]byte("a"))),
		"NewIter":     first(e.BeginSnapshot().NewIter(nil, nil)),
	} {
		if !errors.Is(err, storage.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	txn.Rollback()
	snapTxn.Rollback()
	e.Begin().Rollback()
	_ = e.Stats()
}

func first[T any](_ T, err error) error { return err }

func second[T, U any](_ T, _ U, err error) error { return err }

// testCloseLeaks closes an engine while a snapshot and transactions are open: they return errors.
func testCloseLeaks(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"})
	s, txn, snapTxn := e.NewSnapshot(), e.Begin(), e.BeginSnapshot()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, r := range []storage.Reader{s, txn, snapTxn} {
				_, closer, err := r.Get([]byte("a"))
				if err == nil {
					_ = closer.Close()
					continue
				}
				if !errors.Is(err, storage.ErrClosed) {
					t.Errorf("Get around Close: %v", err)
				}
			}
		}
	}()
	time.Sleep(5 * time.Millisecond)
	_ = e.Close()
	time.Sleep(5 * time.Millisecond)
	close(stop)
	within(t, done, "the reader's end")
	wantError(t, txn.Commit(storage.Buffered), storage.ErrClosed)
	snapTxn.Rollback()
	_ = s.Close()
}

func testCloseWakesWaiters(t *testing.T, e storage.Engine) {
	holder, waiter := e.Begin(), e.Begin()
	lockKey(t, holder, "a")
	result := lockLater(context.Background(), t, e, waiter, "a")
	waits(t, result)
	_ = e.Close()
	wantError(t, result1(t, result), storage.ErrClosed)
	waiter.Rollback()
	holder.Rollback()
}
