//go:build unix

package command_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// benchDocuments is the number of documents of 1 KB in the benchmarks of queries.
const benchDocuments = 100_000

// cpuTime returns the processor time that the process has used. On a busy machine it is steadier
// than elapsed time.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// newBenchQueries returns a service with a collection "c" of benchDocuments documents. The memory
// budget is large enough for all data, as on a server. n is unique and in the order of _id, p is
// unique and in random order, and k has 1,000 different values. r is a pseudo-random number without
// an index.
func newBenchQueries(b *testing.B) *hotPath {
	h := newHotPath(b, 512<<20)
	pad := strings.Repeat("x", 140)
	docs := make([]bsonx.Doc, 1000)
	for i := 0; i < benchDocuments; i += len(docs) {
		for j := range docs {
			id := i + j
			docs[j] = bsonx.NewDoc("_id", id, "n", id, "k", id%1000, "r", id*7919%benchDocuments, "s",
				fmt.Sprintf("user%08d", id), "p", id*7919%benchDocuments,
				"f1", pad, "f2", pad, "f3", pad, "f4", pad, "f5", pad)
		}
		h.run(bsonx.NewDoc("insert", "c", "documents", docs, "$db", "db"))
	}
	h.run(bsonx.NewDoc("createIndexes", "c", "$db", "db", "indexes", []bsonx.Doc{
		bsonx.NewDoc("name", "n", "key", bsonx.NewDoc("n", 1)),
		bsonx.NewDoc("name", "p", "key", bsonx.NewDoc("p", 1)),
		bsonx.NewDoc("name", "k", "key", bsonx.NewDoc("k", 1)),
		bsonx.NewDoc("name", "kr", "key", bsonx.NewDoc("k", 1, "n", 1)),
	}))
	if err := h.engine.Checkpoint(""); err != nil {
		b.Fatal(err)
	}
	return h
}

// BenchmarkQueries measures commands over 100,000 documents without connections. All data is in the
// cache.
func BenchmarkQueries(b *testing.B) {
	h := newBenchQueries(b)
	find := func(limit int, filter bsonx.Doc, rest ...any) bsonx.Doc {
		return bsonx.NewDoc(append([]any{
			"find", "c", "filter", filter, "limit", limit, "batchSize",
			benchDocuments, "$db", "db",
		}, rest...)...)
	}
	aggregate := func(stages ...bsonx.Doc) bsonx.Doc {
		return bsonx.NewDoc("aggregate", "c", "pipeline", stages, "cursor", bsonx.NewDoc(), "$db", "db")
	}
	all := bsonx.NewDoc()
	between := func(lo, hi int) bsonx.Doc { return bsonx.NewDoc("$gte", lo, "$lt", hi) }
	countStages := func(filter bsonx.Doc) bsonx.Doc {
		return aggregate(bsonx.NewDoc("$match", filter),
			bsonx.NewDoc("$group", bsonx.NewDoc("_id", 1, "n", bsonx.NewDoc("$sum", 1))))
	}
	for _, c := range []struct {
		name    string
		command func(i int) bsonx.Doc
	}{
		{"id", func(i int) bsonx.Doc { return find(0, bsonx.NewDoc("_id", i)) }},
		{"equal", func(i int) bsonx.Doc { return find(0, bsonx.NewDoc("n", i)) }},
		{"range100", func(i int) bsonx.Doc { return find(0, bsonx.NewDoc("n", between(i, i+100))) }},
		{"scattered100", func(i int) bsonx.Doc { return find(0, bsonx.NewDoc("p", between(i, i+100))) }},
		{"in50", func(i int) bsonx.Doc {
			ids := make([]bsonx.Value, 50)
			for j := range ids {
				ids[j] = bsonx.Int32(int32((i + j*977) % benchDocuments))
			}
			return find(0, bsonx.NewDoc("n", bsonx.NewDoc("$in", ids)))
		}},
		{
			"compoundSortLimit20",
			func(i int) bsonx.Doc { return find(20, bsonx.NewDoc("k", i%1000), "sort", bsonx.NewDoc("n", -1)) },
		},
		{"covered100", func(i int) bsonx.Doc {
			return find(0, bsonx.NewDoc("n", between(i, i+100)), "projection", bsonx.NewDoc("n", 1, "_id", 0))
		}},
		{"countIndexed1000", func(i int) bsonx.Doc {
			return bsonx.NewDoc("count", "c", "query", bsonx.NewDoc("n", between(i, i+1000)), "$db", "db")
		}},
		{
			"countDocumentsIndexed1000",
			func(i int) bsonx.Doc { return countStages(bsonx.NewDoc("n", between(i, i+1000))) },
		},
		{"countDocumentsAll", func(int) bsonx.Doc { return countStages(all) }},
		{"countUnindexed", func(int) bsonx.Doc {
			return bsonx.NewDoc("count", "c", "query", bsonx.NewDoc("f5", "none"), "$db", "db")
		}},
		{"distinctIndexed", func(int) bsonx.Doc { return bsonx.NewDoc("distinct", "c", "key", "k", "$db", "db") }},
		{"sortUnindexed", func(int) bsonx.Doc {
			return find(0, all, "sort", bsonx.NewDoc("r", 1), "projection", bsonx.NewDoc("_id", 1))
		}},
		{"sortUnindexedLimit10", func(int) bsonx.Doc { return find(10, all, "sort", bsonx.NewDoc("r", 1)) }},
		{"skipLimit", func(i int) bsonx.Doc { return find(20, all, "sort", bsonx.NewDoc("n", 1), "skip", 1000) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			commands := make([]bsonx.Doc, 256)
			for i := range commands {
				commands[i] = c.command(i * 7919 % (benchDocuments - 1000))
			}
			b.ReportAllocs()
			i := 0
			start := cpuTime(b)
			for b.Loop() {
				h.send(commands[i%len(commands)])
				i++
			}
			b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkInsertMany measures commands that each insert 1,000 documents.
func BenchmarkInsertMany(b *testing.B) {
	h := newHotPath(b, 512<<20)
	id := 0
	docs := make([]bsonx.Doc, 1000)
	spent := time.Duration(0)
	for b.Loop() {
		b.StopTimer()
		for i := range docs {
			docs[i] = kilobyte(id)
			id++
		}
		command := bsonx.NewDoc("insert", "c", "documents", docs, "$db", "db")
		start := cpuTime(b)
		b.StartTimer()
		h.send(command)
		spent += cpuTime(b) - start
	}
	b.ReportMetric(float64(id)/spent.Seconds(), "docs/cpu-s")
	b.ReportMetric(float64(id)/b.Elapsed().Seconds(), "docs/s")
}
