package plan_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
)

// zipfWord returns the n-th most frequent word of an artificial language.
func zipfWord(n uint64) string {
	var b strings.Builder
	for n += 20; n > 0; n /= 20 {
		b.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
		b.WriteByte("aou"[n%3])
	}
	return b.String()
}

// BenchmarkText builds a text index over documents of 100 words, whose frequencies follow a natural
// language, and searches it.
func BenchmarkText(b *testing.B) {
	const n = 100_000
	engine, err := pebble.Open(b.TempDir(), pebble.Options{MemoryBudget: 512 << 20, Keep: keyspace.IsRecord})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = engine.Close() })
	f := newFixtureOn(b, engine)
	rnd := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rnd, 1.1, 8, 50_000)
	for from := 0; from < n; from += 1000 {
		docs := make([]bsonx.Doc, 1000)
		for i := range docs {
			var s strings.Builder
			for range 100 {
				s.WriteString(zipfWord(zipf.Uint64()))
				s.WriteByte(' ')
			}
			docs[i] = bsonx.NewDoc("_id", from+i, "s", s.String())
		}
		f.insert(docs...)
	}
	start := time.Now()
	f.index("t", bsonxtest.MustParse(`{"_fts": "text", "_ftsx": 1}`), "weights", bsonxtest.MustParse(`{"s": 1}`))
	b.Logf("built at %.0f documents a second", n/time.Since(start).Seconds())
	if err := engine.Checkpoint(""); err != nil {
		b.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		words []uint64
	}{{"Frequent", []uint64{20, 35}}, {"Usual", []uint64{100, 300}}, {"Rare", []uint64{1000, 3000}}} {
		search := bsonx.NewDoc("$text", bsonx.NewDoc("$search", zipfWord(tt.words[0])+" "+zipfWord(tt.words[1])))
		b.Run(tt.name, func(b *testing.B) {
			r := exec.NewReader(f.store.Newest())
			defer func() { _ = r.Close() }()
			b.ReportAllocs()
			var keys, docs uint64
			for b.Loop() {
				q := f.query(`{}`, `{"z": {"$meta": "textScore"}}`)
				q.Filter, q.Limit = mustFilter(b, search), 20
				e, err := f.planner.Find(context.Background(), q, r)
				if err != nil {
					b.Fatal(err)
				}
				rows := 0
				for row, err := e.Next(context.Background()); row != nil || err != nil; row,
					err = e.Next(context.Background()) {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
				keys, docs = e.Examined()
				e.Close()
			}
			b.ReportMetric(float64(keys), "keys")
			b.ReportMetric(float64(docs), "docs")
		})
	}
}
