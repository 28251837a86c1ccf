package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestLongKeysAreBounded puts keys of a megabyte until they are refused. Pebble's memory for them
// must stay within the limit. Other writes must continue, deletes must make room, and a store with
// this many long keys must open.
func TestLongKeysAreBounded(t *testing.T) {
	torture.NeedsLong(t)
	if raceEnabled {
		t.Skip("copies gigabytes, which takes long under the race detector")
	}
	t.Parallel()
	fs := vfs.NewMem()
	e := open(t, "store", Options{FS: fs, MemoryBudget: minMemoryBudget})
	key := func(i int) []byte { return append(fmt.Appendf(nil, "k%06d", i), bytes.Repeat([]byte{'x'}, 1<<20)...) }
	put := func(e *Engine, key []byte) error {
		txn := e.Begin()
		defer txn.Rollback()
		if err := txn.Put(key, []byte("v")); err != nil {
			t.Fatal(err)
		}
		return txn.Commit(storage.Buffered)
	}
	n := 0
	fill := func(e *Engine) (err error) {
		for ; n < 1000 && err == nil; n++ {
			if err = put(e, key(n)); err == nil && n%3 == 0 {
				err = e.db.Flush()
			}
		}
		return err
	}
	check := func(e *Engine) {
		t.Helper()
		sum, err := longBounds(e.db)
		if err != nil || sum > minLongKeys || sum < minLongKeys/8 {
			t.Errorf("Pebble keeps %d bytes, the bound is %d: %v", sum, minLongKeys, err)
		}
	}
	if err := fill(e); !errors.Is(err, storage.ErrLongKeys) {
		t.Fatalf("after %d keys: %v", n, err)
	}
	if n < minLongKeys>>21 {
		t.Errorf("%d keys were put", n)
	}
	check(e)
	if err := put(e, []byte("short")); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, "store", Options{FS: fs, MemoryBudget: minMemoryBudget})
	if err := fill(e); !errors.Is(err, storage.ErrLongKeys) {
		t.Errorf("after a restart: %v", err)
	}
	check(e)
	if err := e.DeleteRange([]byte("k"), []byte("l")); err != nil {
		t.Fatal(err)
	}
	if err := e.db.Compact(context.Background(), []byte("k"), []byte("l"), false); err != nil {
		t.Fatal(err)
	}
	if err := put(e, key(n)); err != nil {
		t.Errorf("after deleting: %v", err)
	}
}
