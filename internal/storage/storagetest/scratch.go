package storagetest

import (
	"errors"
	"testing"

	"github.com/sheafdb/sheaf/internal/storage"
)

// testScratch changes keys of a snapshot in a scratch transaction, while other transactions hold
// and change the same keys. Only the scratch transaction sees its changes.
func testScratch(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"}, pair{"b", "1"})
	snap := e.NewSnapshot()
	put(t, e, pair{"a", "2"}, pair{"c", "2"})
	holder := e.Begin()
	defer holder.Rollback()
	lockKey(t, holder, "a")

	txn := e.Scratch(snap)
	lockKey(t, txn, "a")
	noError(t, txn.Delete([]byte("b")))
	noError(t, txn.Put([]byte("d"), []byte("3")))
	wantScan(t, txn, "", "", "a=1", "d=3")
	if has, err := txn.Has([]byte("b")); err != nil || has {
		t.Errorf("a deleted key: %v, %v", has, err)
	}
	other := e.Scratch(snap)
	wantScan(t, other, "", "", "a=1", "b=1")
	other.Rollback()
	if err := txn.Commit(storage.Buffered); !errors.Is(err, storage.ErrScratch) {
		t.Errorf("commit: %v", err)
	}
	if _, _, err := txn.Get([]byte("a")); !errors.Is(err, storage.ErrEnded) {
		t.Errorf("a get after the commit: %v", err)
	}
	wantScan(t, snap, "", "", "a=1", "b=1")
	noError(t, snap.Close())
	wantScan(t, reader{e}, "", "", "a=2", "b=1", "c=2")
	if _, _, err := e.Scratch(snap).Get([]byte("a")); err == nil {
		t.Error("a transaction over a closed snapshot")
	}
}
