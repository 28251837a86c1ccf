package table_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/storage/storagetest"
	"github.com/sheafdb/sheaf/internal/table"
)

// cpuTime returns the processor time that the process has used. It varies less than elapsed time on
// a busy machine.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkInsertMany inserts 1,000 documents of 1 KB in one transaction. The cases differ in the
// order of the _ids, in the indexes (none, one on a scattered field, unique or not), in whether the
// collection is capped, and in whether the oplog is on.
func BenchmarkInsertMany(b *testing.B) {
	ordered := func(n int64) int64 { return n }
	b.Run("plain", func(b *testing.B) { benchmarkInsertMany(b, ordered, nil, nil, false) })
	b.Run("scatteredID", func(b *testing.B) { benchmarkInsertMany(b, scattered, nil, nil, false) })
	b.Run("unique", func(b *testing.B) {
		benchmarkInsertMany(b, ordered, nil, schematest.Spec("k_1", bsonx.NewDoc("k", 1), "unique", true), false)
	})
	b.Run("index", func(b *testing.B) {
		benchmarkInsertMany(b, ordered, nil, schematest.Spec("k_1", bsonx.NewDoc("k", 1)), false)
	})
	b.Run("capped", func(b *testing.B) {
		benchmarkInsertMany(b, ordered, bsonx.NewDoc("capped", true, "size", int64(1<<40)), nil, false)
	})
	b.Run("logged", func(b *testing.B) { benchmarkInsertMany(b, ordered, nil, nil, true) })
}

func scattered(n int64) int64 { return int64(uint64(n)*0x9E3779B97F4A7C15) >> 1 }

func benchmarkInsertMany(b *testing.B, id func(n int64) int64, options, index bsonx.Doc, logged bool) {
	engine, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = engine.Close() })
	var s *table.Store
	if logged {
		s = schematest.OpenLogged(b, engine, table.Options{OplogSize: 256 << 20})
		b.Cleanup(s.Close)
	} else {
		s = schematest.Open(b, engine)
	}
	c, err := schema.Create(s, "db", "c", catalog.KindCollection, options)
	if err != nil {
		b.Fatal(err)
	}
	if index != nil {
		if err := schema.CreateIndexes(context.Background(), s, c, []bsonx.Doc{index}); err != nil {
			b.Fatal(err)
		}
		c = s.Current(c)
	}
	const batch = 1000
	pads := storagetest.Texts(5000, 970)
	n := int64(0)
	b.ReportAllocs()
	start := cpuTime(b)
	for b.Loop() {
		w, err := s.BeginWrite(c)
		if err != nil {
			b.Fatal(err)
		}
		for range batch {
			n++
			doc := bsonx.NewDoc("_id", id(n), "k", scattered(n), "pad", pads[n%int64(len(pads))])
			if err := w.Insert(context.Background(), doc); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Commit(storage.Buffered); err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
	b.ReportMetric(float64(cpuTime(b)-start)/float64(n), "cpu-ns/doc")
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
	b.StopTimer()
	st := engine.Stats()
	b.ReportMetric(float64(st.BytesFlushed+st.BytesCompacted)/float64(n), "tables-B/doc")
}
