package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/storagetest"
)

var benchValue = bytes.Repeat([]byte("0123456789abcdef"), 64)

// benchKey returns the n-th key of a scattered sequence.
func benchKey(buf []byte, n uint64) []byte {
	buf = append(buf[:0], 0, 0, 0, 1, 'r')
	return binary.BigEndian.AppendUint64(buf, n*0x9E3779B97F4A7C15)
}

// rawOpen opens Pebble with the engine's options, but without the engine's additions.
func rawOpen(b *testing.B) *pebble.DB {
	e := &Engine{options: Options{}.withDefaults(), guard: &guard{}}
	opts := e.pebbleOptions()
	opts.FS = vfs.Default
	db, err := pebble.Open(b.TempDir(), opts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// cpuTime returns the processor time of the process.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// parallel runs do in several goroutines. Together they make b.N calls with distinct numbers.
func parallel(b *testing.B, writers int, do func(n uint64) error) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	var next atomic.Uint64
	done := make(chan error, writers)
	for range writers {
		go func() {
			for {
				n := next.Add(1)
				if n > uint64(b.N) {
					done <- nil
					return
				}
				if err := do(n); err != nil {
					done <- err
					return
				}
			}
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkCommit writes a record, an index entry and a counter, like an insert. It also runs raw
// Pebble with the same batch as a lower limit: NoSync for Buffered commits, and Sync for Durable
// ones.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		for _, durability := range []storage.Durability{storage.Buffered, storage.Durable} {
			name, options := "buffered", pebble.NoSync
			if durability == storage.Durable {
				name, options = "durable", pebble.Sync
			}
			b.Run(fmt.Sprintf("%s/%dwriters/sheaf", name, writers), func(b *testing.B) {
				e := open(b, b.TempDir(), Options{})
				before := e.guard.fsyncs.Load()
				parallel(b, writers, func(n uint64) error { return insert(e, n, durability) })
				b.ReportMetric(float64(e.guard.fsyncs.Load()-before)/float64(b.N), "fsyncs/op")
			})
			b.Run(fmt.Sprintf("%s/%dwriters/raw", name, writers), func(b *testing.B) {
				db := rawOpen(b)
				parallel(b, writers, func(n uint64) error { return rawInsert(db, n, options) })
			})
		}
	}
}

// insert makes the writes of the insert of a document.
func insert(e storage.Engine, n uint64, durability storage.Durability) error {
	var buf [32]byte
	key := benchKey(buf[:0], n)
	txn := e.Begin()
	defer txn.Rollback()
	if err := txn.Lock(context.Background(), key); err != nil {
		return err
	}
	if found, err := txn.Has(key); found || err != nil {
		return fmt.Errorf("key %d: %w", n, err)
	}
	if err := txn.Put(key, benchValue); err != nil {
		return err
	}
	key[4] = 'i'
	if err := txn.Put(key, nil); err != nil {
		return err
	}
	if err := txn.Add([]byte("counter"), storage.Counter{Count: 1, Bytes: int64(len(benchValue))}); err != nil {
		return err
	}
	return txn.Commit(durability)
}

func rawInsert(db *pebble.DB, n uint64, options *pebble.WriteOptions) error {
	var buf [32]byte
	var counter [storage.CounterSize]byte
	key := benchKey(buf[:0], n)
	batch := db.NewBatch()
	defer batch.Close()
	if _, _, err := db.Get(key); !errors.Is(err, pebble.ErrNotFound) {
		return fmt.Errorf("key %d: %w", n, err)
	}
	_ = batch.Set(key, benchValue, nil)
	key[4] = 'i'
	_ = batch.Set(key, nil, nil)
	_ = batch.Merge([]byte("counter"), storage.Counter{Count: 1}.Append(counter[:0]), nil)
	return batch.Commit(options)
}

func BenchmarkGet(b *testing.B) {
	const records = 50_000
	run := func(b *testing.B, get getter) {
		for _, readers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%dreaders", readers), func(b *testing.B) {
				parallel(b, readers, func(n uint64) error {
					var buf [32]byte
					_, closer, err := get.Get(benchKey(buf[:0], n%records))
					if err != nil {
						return err
					}
					return closer.Close()
				})
			})
		}
	}
	b.Run("sheaf", func(b *testing.B) {
		e := open(b, b.TempDir(), Options{})
		for n := range uint64(records) {
			if err := insert(e, n, storage.Buffered); err != nil {
				b.Fatal(err)
			}
		}
		if err := e.db.Flush(); err != nil {
			b.Fatal(err)
		}
		run(b, e)
	})
	b.Run("raw", func(b *testing.B) {
		db := rawOpen(b)
		for n := range uint64(records) {
			if err := rawInsert(db, n, pebble.NoSync); err != nil {
				b.Fatal(err)
			}
		}
		if err := db.Flush(); err != nil {
			b.Fatal(err)
		}
		run(b, db)
	})
}

func BenchmarkScan(b *testing.B) {
	const records = 50_000
	e := open(b, b.TempDir(), Options{})
	for n := range uint64(records) {
		if err := insert(e, n, storage.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	rows := 0
	for b.Loop() {
		s := e.NewSnapshot()
		it, err := s.NewIter([]byte{0, 0, 0, 1, 'r'}, []byte{0, 0, 0, 1, 's'})
		if err != nil {
			b.Fatal(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			if _, err := it.Value(); err != nil {
				b.Fatal(err)
			}
			rows++
		}
		_ = it.Close()
		_ = s.Close()
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkLargeStore reads 200 MB of records of 1 KB with the default budget, which holds a
// quarter of them.
func BenchmarkLargeStore(b *testing.B) {
	const records = 200_000
	e := open(b, b.TempDir(), Options{})
	texts := storagetest.Texts(10_000, 1000)
	for n := range uint64(records / 100) {
		txn := e.Begin()
		for i := range uint64(100) {
			if err := txn.Put(benchKey(nil, 100*n+i), []byte(texts[rand.IntN(len(texts))])); err != nil {
				b.Fatal(err)
			}
		}
		if err := txn.Commit(storage.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	if err := e.db.Compact(b.Context(), []byte{0}, []byte{1}, false); err != nil {
		b.Fatal(err)
	}
	b.Run("get", func(b *testing.B) {
		parallel(b, 2, func(n uint64) error {
			_, closer, err := e.Get(benchKey(nil, n*7919%records))
			if err != nil {
				return err
			}
			return closer.Close()
		})
	})
	b.Run("scan", func(b *testing.B) {
		it, err := e.NewSnapshot().NewIter(nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer it.Close()
		for ok := it.First(); b.Loop(); ok = it.Next() {
			if !ok && !it.First() {
				b.Fatal(it.Err())
			}
		}
	})
	size, err := e.DiskUsage([]byte{0}, []byte{1})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d MB on disk", size.Total()>>20)
}
