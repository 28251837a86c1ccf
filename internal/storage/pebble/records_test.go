package pebble

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// keptEngine opens a store in memory that keeps every value.
func keptEngine(t testing.TB) *Engine {
	return open(t, "store", Options{FS: vfs.NewMem(), Keep: keepAll, MemoryBudget: 32 << 20})
}

// change commits one change of a key: a value, or a deletion.
func change(t testing.TB, e *Engine, durability storage.Durability, key string, value []byte) {
	t.Helper()
	txn := e.Begin()
	defer txn.Rollback()
	if err := txn.Lock(context.Background(), []byte(key)); err != nil {
		t.Fatal(err)
	}
	var err error
	if value == nil {
		err = txn.Delete([]byte(key))
	} else {
		err = txn.Put([]byte(key), value)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := txn.Commit(durability); err != nil {
		t.Fatal(err)
	}
}

// single is the interface of types with Get: an engine, a snapshot, a transaction.
type single interface {
	Get(key []byte) (value []byte, closer io.Closer, err error)
}

func TestRecordsHit(t *testing.T) {
	t.Parallel()
	e := keptEngine(t)
	hits := func() int64 { return e.Stats().RecordHits }
	want := func(r single, value string, hit bool) {
		t.Helper()
		before := hits()
		v, closer, err := r.Get([]byte("k"))
		if err != nil {
			v = nil
		} else {
			defer closer.Close()
		}
		if string(v) != value || hits() > before != hit {
			t.Fatalf("got %q (%v), hit %t; want %q, hit %t", v, err, hits() > before, value, hit)
		}
	}
	for _, durability := range []storage.Durability{storage.Buffered, storage.Durable} {
		change(t, e, durability, "k", []byte("1"))
		early := e.NewSnapshot()
		want(e, "1", false)
		want(e, "1", true)
		want(early, "1", true)

		// An update of a cached value is cached. A view taken before the update reads the store,
		// and the old value is not cached.
		change(t, e, durability, "k", []byte("2"))
		want(e, "2", true)
		want(early, "1", false)
		want(early, "1", false)
		want(e, "2", true)
		late := e.NewSnapshot()
		want(late, "2", true)

		// A deleted key has no value, and a later put is visible.
		change(t, e, durability, "k", nil)
		want(e, "", false)
		want(late, "2", false)
		change(t, e, durability, "k", []byte("3"))
		want(late, "2", false)
		want(e, "3", false)
		want(e, "3", true)

		// A rollback changes nothing. Only the transaction sees its own writes.
		txn := e.Begin()
		if err := txn.Put([]byte("k"), []byte("own")); err != nil {
			t.Fatal(err)
		}
		want(txn, "own", false)
		want(e, "3", true)
		txn.Rollback()
		want(e, "3", true)

		// If a transaction changes a key twice, only its last change has an effect.
		twice := e.Begin()
		if err := twice.Put([]byte("k"), []byte("4")); err != nil {
			t.Fatal(err)
		}
		if err := twice.Delete([]byte("k")); err != nil {
			t.Fatal(err)
		}
		if err := twice.Commit(durability); err != nil {
			t.Fatal(err)
		}
		want(e, "", false)
		change(t, e, durability, "k", []byte("3"))
		want(e, "3", false)

		snapshot := e.BeginSnapshot()
		want(snapshot, "3", true)
		if err := e.DeleteRange([]byte("k"), []byte("l")); err != nil {
			t.Fatal(err)
		}
		want(snapshot, "3", false)
		want(e, "", false)
		snapshot.Rollback()
		for _, s := range []storage.Snapshot{early, late} {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Get([]byte("k")); err == nil {
		t.Fatal("a closed store answers")
	}
}

// TestRecordsBound fills the cache beyond its size. The cache must not exceed its limit, and values
// that are read again must stay.
func TestRecordsBound(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	e := keptEngine(t)
	c := newRecords(keepAll, size)
	key := func(i int) []byte { return fmt.Appendf(nil, "k%06d", i) }
	value := []byte(strings.Repeat("v", 1000))
	hot := key(0)
	for i := range 10_000 {
		c.add(e.locks.Hash(key(i)), key(i), value, 0)
		if _, ok := c.get(e.locks.Hash(hot), hot, 0); !ok {
			t.Fatalf("what is read all the time left after %d others", i)
		}
		if held, _, _ := c.usage(); held > size {
			t.Fatalf("%d bytes held of %d", held, size)
		}
	}
	held, _, _ := c.usage()
	if held < size*3/4 {
		t.Fatalf("only %d bytes held of %d", held, size)
	}
	// A value that would evict all others is not cached.
	large := []byte(strings.Repeat("v", size/recordShards))
	c.add(e.locks.Hash([]byte("large")), []byte("large"), large, 0)
	if _, ok := c.get(e.locks.Hash([]byte("large")), []byte("large"), 0); ok {
		t.Fatal("a large value was kept")
	}
}

// TestRecordsCollision gives two keys the same hash.
func TestRecordsCollision(t *testing.T) {
	t.Parallel()
	c := newRecords(keepAll, 1<<20)
	a, b := []byte("a"), []byte("b")
	c.add(7, a, []byte("1"), 0)
	if _, ok := c.get(7, b, 0); ok {
		t.Fatal("another key's value")
	}
	if c.begin(7, b) {
		t.Fatal("another key's entry was removed")
	}
	c.end(7, b, nil)
	if v, ok := c.get(7, a, c.now()); !ok || string(v) != "1" {
		t.Fatalf("got %q, %t", v, ok)
	}
	c.add(7, b, []byte("2"), c.now())
	if _, ok := c.get(7, a, c.now()); ok {
		t.Fatal("both are kept")
	}
}

// TestRecordsConcurrent changes a few keys from many goroutines. No reader may see an older state
// than before, or miss an acknowledged write. In one snapshot, a get, which may use the cache, must
// agree with an iterator, which never does.
func TestRecordsConcurrent(t *testing.T) {
	t.Parallel()
	const keys, rounds = 16, 3000
	e := keptEngine(t)
	var acknowledged [keys]atomic.Uint64
	number := func(v []byte) uint64 { return binary.BigEndian.Uint64(v) }
	name := func(i int) []byte { return fmt.Appendf(nil, "k%02d", i) }
	increment := func(i int, durability storage.Durability) error {
		txn := e.Begin()
		defer txn.Rollback()
		if err := txn.Lock(context.Background(), name(i)); err != nil {
			return err
		}
		var n uint64
		if v, closer, err := txn.Get(name(i)); err == nil {
			n = number(v)
			_ = closer.Close()
		}
		if err := txn.Put(name(i), binary.BigEndian.AppendUint64(nil, n+1)); err != nil {
			return err
		}
		if err := txn.Commit(durability); err != nil {
			return err
		}
		for {
			old := acknowledged[i].Load()
			if old >= n+1 || acknowledged[i].CompareAndSwap(old, n+1) {
				return nil
			}
		}
	}
	read := func(r single, i int) uint64 {
		v, closer, err := r.Get(name(i))
		if err != nil {
			return 0
		}
		defer closer.Close()
		return number(v)
	}
	inSnapshot := func(rng *rand.Rand) error {
		s := e.NewSnapshot()
		defer s.Close()
		it, err := s.NewIter(nil, nil)
		if err != nil {
			return err
		}
		defer it.Close()
		for range 4 {
			i := rng.IntN(keys)
			got, want := read(s, i), uint64(0)
			if it.SeekGE(name(i)) && string(it.Key()) == string(name(i)) {
				v, err := it.Value()
				if err != nil {
					return err
				}
				want = number(v)
			}
			if got != want {
				return fmt.Errorf("key %d: a get in a snapshot has %d, an iterator %d", i, got, want)
			}
		}
		return nil
	}
	var writers, readers sync.WaitGroup
	var done atomic.Bool
	for w := range 4 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				if err := increment(rng.IntN(keys), storage.Durability(rng.IntN(2))); err != nil {
					t.Error(err)
					return
				}
			}
		})
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 2))
			var seen [keys]uint64
			for !done.Load() {
				i := rng.IntN(keys)
				least := max(acknowledged[i].Load(), seen[i])
				if seen[i] = read(e, i); seen[i] < least {
					t.Errorf("key %d: read %d after %d", i, seen[i], least)
					return
				}
				if err := inSnapshot(rng); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
	var sum uint64
	for i := range keys {
		sum += read(e, i)
	}
	if sum != 4*rounds {
		t.Fatalf("%d increments are left of %d", sum, 4*rounds)
	}
	if s := e.Stats(); s.RecordHits == 0 || s.RecordBytes == 0 {
		t.Fatalf("the cache was not used: %+v", s)
	}
}

// TestSpareRecords checks that values offered for spare memory evict no value that was requested
// again.
func TestSpareRecords(t *testing.T) {
	c := newRecords(func([]byte) bool { return true }, recordShards*10_000)
	value := make([]byte, 900)
	key := func(i int) []byte { return []byte(strconv.Itoa(i)) }
	for i := range 5 * recordShards {
		c.offer(uint64(i), key(i), value, 0, true)
		if _, ok := c.get(uint64(i), key(i), 0); !ok {
			t.Fatalf("%d is not kept though there is room", i)
		}
	}
	for i := 5 * recordShards; i < 100*recordShards; i++ {
		c.offer(uint64(i), key(i), value, 0, true)
	}
	for i := range 5 * recordShards {
		if _, ok := c.get(uint64(i), key(i), 0); !ok {
			t.Errorf("%d was pushed out", i)
		}
	}
	if size, _, _ := c.usage(); size > recordShards*10_000 || size < recordShards*8_000 {
		t.Errorf("%d bytes are kept", size)
	}
}
