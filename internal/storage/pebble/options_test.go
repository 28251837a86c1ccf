package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

// fillKinds commits records in order, scattered index entries and a counter.
func fillKinds(t *testing.T, e storage.Engine, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		txn := e.Begin()
		for _, key := range []string{fmt.Sprintf("\x10%08d", n), fmt.Sprintf("\x20%08d", n*7919%10007)} {
			if err := txn.Put([]byte(key), benchValue); err != nil {
				t.Fatal(err)
			}
		}
		if err := txn.Add([]byte("\x03counter"), storage.Counter{Count: 1}); err != nil {
			t.Fatal(err)
		}
		if err := txn.Commit(storage.Buffered); err != nil {
			t.Fatal(err)
		}
	}
}

func checkKinds(t *testing.T, e storage.Engine, count int) {
	t.Helper()
	for n := range count {
		for _, key := range []string{fmt.Sprintf("\x10%08d", n), fmt.Sprintf("\x20%08d", n*7919%10007)} {
			value, closer, err := e.Get([]byte(key))
			if err != nil || string(value) != string(benchValue) {
				t.Fatalf("key %q: %d bytes, %v", key, len(value), err)
			}
			_ = closer.Close()
		}
	}
	if c, err := e.Counter([]byte("\x03counter")); err != nil || c.Count != int64(count) {
		t.Fatalf("counter: %+v, %v", c, err)
	}
}

// TestTablesOfOneKind flushes and compacts keys of three kinds. No table may have two kinds, and
// tables of records, which are added in order, must not overlap.
func TestTablesOfOneKind(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{})
	for i := range 3 {
		fillKinds(t, e, i*500, (i+1)*500)
		if err := e.db.Flush(); err != nil {
			t.Fatal(err)
		}
		levels, err := e.db.SSTables()
		if err != nil {
			t.Fatal(err)
		}
		var records []pebble.SSTableInfo
		for _, table := range slices.Concat(levels...) {
			low, high := table.Smallest.UserKey, table.Largest.UserKey
			if low[0] != high[0] {
				t.Fatalf("a table has keys from %q to %q", low, high)
			}
			if low[0] == 0x10 {
				records = append(records, table)
			}
		}
		slices.SortFunc(records, func(a, b pebble.SSTableInfo) int {
			return bytes.Compare(a.Smallest.UserKey, b.Smallest.UserKey)
		})
		for j := 1; j < len(records); j++ {
			if a, b := records[j-1].Largest.UserKey, records[j].Smallest.UserKey; bytes.Compare(a, b) >= 0 {
				t.Fatalf("a table of records ends at %q, and the next begins at %q", a, b)
			}
		}
	}
	if err := e.db.Compact(t.Context(), []byte{0}, []byte{0xFF}, false); err != nil {
		t.Fatal(err)
	}
	checkKinds(t, e, 1500)
}

// TestOlderLayout opens a store whose tables have other block sizes, filters on every level and
// mixed kinds of keys, and continues with it.
func TestOlderLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir, Options{})
	older := &Engine{options: e.options, guard: &guard{}}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	opts := older.pebbleOptions()
	opts.FS = vfs.Default
	opts.Experimental.SpanPolicyFunc = nil
	for i := range opts.Levels {
		opts.Levels[i].BlockSize, opts.Levels[i].IndexBlockSize = 8<<10, 0
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	older.db = db
	for n := range 1000 {
		batch := db.NewBatch()
		_ = batch.Set(fmt.Appendf(nil, "\x10%08d", n), benchValue, nil)
		_ = batch.Set(fmt.Appendf(nil, "\x20%08d", n*7919%10007), benchValue, nil)
		_ = batch.Merge([]byte("\x03counter"), storage.Counter{Count: 1}.Append(nil), nil)
		if err := batch.Commit(pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		if n == 500 {
			if err := db.Compact(t.Context(), []byte{0}, []byte{0xFF}, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, Options{})
	checkKinds(t, e, 1000)
	fillKinds(t, e, 1000, 1500)
	if err := e.db.Compact(t.Context(), []byte{0}, []byte{0xFF}, false); err != nil {
		t.Fatal(err)
	}
	checkKinds(t, e, 1500)
}

// fillCaches writes more than the caches hold, and reads all of it twice, with iterators and with
// gets.
func fillCaches(t *testing.T, e *Engine, size int) {
	t.Helper()
	const count = 200
	value := bytes.Repeat([]byte("v"), 4000)
	for n := 0; n < size; n += count * len(value) {
		txn := e.Begin()
		for i := range count {
			if err := txn.Put(fmt.Appendf(nil, "\x10%08d%04d", n, i), value); err != nil {
				t.Fatal(err)
			}
		}
		if err := txn.Commit(storage.Buffered); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := e.NewSnapshot()
		it, err := s.NewIter(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			_, closer, err := e.Get(it.Key())
			if err != nil {
				t.Fatal(err)
			}
			_ = closer.Close()
		}
		if err := errors.Join(it.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBudgetIsUsed fills the caches. They must take exactly the budget without the memtables.
func TestBudgetIsUsed(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	if raceEnabled {
		t.Skip("fills the caches with one goroutine, which takes minutes under the race detector")
	}
	const budget = 32 << 20
	e := open(t, t.TempDir(), Options{MemoryBudget: budget, Keep: func(key []byte) bool { return key[0] == 0x10 }})
	fillCaches(t, e, 2*budget)
	checkCaches(t, e, budget)
}

// checkCaches fails if the caches hold less than a budget without its memtables, or more than the
// budget.
func checkCaches(t *testing.T, e *Engine, budget int64) {
	t.Helper()
	memtables := 2 * e.options.MemoryBudget / 8
	if got := e.Stats().CacheBytes; got < (budget-memtables)*9/10 || got > budget {
		t.Errorf("the caches hold %d bytes; the budget is %d, %d of it for memtables", got, budget, memtables)
	}
	if got := e.Stats().CacheBytesMax; got != budget {
		t.Errorf("the caches may hold %d bytes, want %d", got, budget)
	}
}

// TestYield fills the spare memory, too. The caches must give it up immediately on request, and get
// it back afterwards.
func TestYield(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	if raceEnabled {
		t.Skip("fills the caches with one goroutine, which takes minutes under the race detector")
	}
	const budget, spare = 16 << 20, 24 << 20
	e := open(t, t.TempDir(), Options{
		MemoryBudget: budget, SpareMemory: spare, Keep: func(key []byte) bool { return key[0] == 0x10 },
	})
	fillCaches(t, e, 2*(budget+spare))
	checkCaches(t, e, budget+spare)
	for _, n := range []int64{spare / 2, spare, spare / 4, 2 * spare} {
		e.Yield(n)
		left := budget + spare - min(n, spare)
		if got := e.Stats().CacheBytes; got > left {
			t.Errorf("the caches hold %d bytes after Yield(%d), want at most %d", got, n, left)
		}
	}
	checkCaches(t, e, budget)
	e.Yield(0)
	fillCaches(t, e, 2*(budget+spare))
	checkCaches(t, e, budget+spare)
}
