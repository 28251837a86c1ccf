package table_test

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/storage/storagetest"
)

// BenchmarkInsertMany adds 1,000 documents of 1 KB in one transaction: to a collection without an index, to one with a
// unique index on a scattered field, and to a capped one, whose _id index is unique.
func BenchmarkInsertMany(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkInsertMany(b, nil, nil) })
	b.Run("unique", func(b *testing.B) {
		benchmarkInsertMany(b, nil, spec("k_1", bsonx.NewDoc("k", 1), "unique", true))
	})
	b.Run("index", func(b *testing.B) { benchmarkInsertMany(b, nil, spec("k_1", bsonx.NewDoc("k", 1))) })
	b.Run("capped", func(b *testing.B) {
		benchmarkInsertMany(b, bsonx.NewDoc("capped", true, "size", int64(1<<40)), nil)
	})
}

func benchmarkInsertMany(b *testing.B, options, index bsonx.Doc) {
	engine, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = engine.Close() })
	s := open(b, engine)
	c, err := s.Create("db", "c", catalog.KindCollection, options)
	if err != nil {
		b.Fatal(err)
	}
	if index != nil {
		if err := s.CreateIndexes(context.Background(), c, []bsonx.Doc{index}); err != nil {
			b.Fatal(err)
		}
		c = s.Current(c)
	}
	const batch = 1000
	pads := storagetest.Texts(5000, 970)
	id := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		w, err := s.BeginWrite(c)
		if err != nil {
			b.Fatal(err)
		}
		for range batch {
			id++
			k := int64(uint64(id)*0x9E3779B97F4A7C15) >> 1
			if err := w.Insert(context.Background(), bsonx.NewDoc("_id", id, "k", k, "pad", pads[id%int64(len(pads))])); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Commit(storage.Buffered); err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
	b.ReportMetric(float64(id)/b.Elapsed().Seconds(), "docs/s")
	b.StopTimer()
	st := engine.Stats()
	b.ReportMetric(float64(st.BytesFlushed+st.BytesCompacted)/float64(id), "tables-B/doc")
}
