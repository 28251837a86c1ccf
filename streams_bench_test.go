package sheaf_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

func openStreams(b *testing.B, streams int) *mongo.Database {
	b.Helper()
	db, err := sheaf.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	client, err := mongo.Connect(db.ClientOptions().SetMaxPoolSize(uint64(streams + 64)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client.Database("d")
}

// inUse returns the bytes of memory in use.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkIdleStreams measures inserts while change streams wait for changes of another
// collection. The measured memory of a stream includes both ends of its connection.
func BenchmarkIdleStreams(b *testing.B) {
	for _, streams := range []int{0, 1000} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			db := openStreams(b, streams)
			if err := db.CreateCollection(b.Context(), "busy"); err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			before := inUse()
			var waiting sync.WaitGroup
			for range streams {
				stream, err := db.Collection("quiet").Watch(ctx, bson.A{})
				if err != nil {
					b.Fatal(err)
				}
				waiting.Go(func() {
					for stream.Next(ctx) {
						b.Error("a change of a collection that nobody changes")
					}
					_ = stream.Close(context.Background())
				})
			}
			time.Sleep(200 * time.Millisecond)
			after := inUse()
			b.ResetTimer()
			insertMany(b, db.Collection("busy"), b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "inserts/s")
			if streams > 0 {
				b.ReportMetric(float64(after-before)/float64(streams), "B/stream")
			}
			cancel()
			waiting.Wait()
		})
	}
}

// insertMany inserts n documents, one by one, by 16 writers.
func insertMany(b *testing.B, c *mongo.Collection, n int) {
	const writers = 16
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := w; i < n; i += writers {
				if _, err := c.InsertOne(b.Context(),
					bson.D{{"_id", i}, {"text", "what happened, in a few words"}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
}

// BenchmarkStreamDelivery measures the time from the start of a write until a change stream returns
// its event. There are 10,000 writes per second.
func BenchmarkStreamDelivery(b *testing.B) {
	const writers, every = 16, 100 * time.Microsecond
	db := openStreams(b, 1)
	c := db.Collection("c")
	stream, err := c.Watch(b.Context(), bson.A{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stream.Close(context.Background()) }()
	sent, took := make([]time.Time, b.N), make([]time.Duration, 0, b.N)
	b.ResetTimer()
	start := time.Now()
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := w; i < b.N; i += writers {
				time.Sleep(time.Until(start.Add(time.Duration(i) * every)))
				sent[i] = time.Now()
				if _, err := c.InsertOne(b.Context(),
					bson.D{{"_id", int32(i)}, {"text", "what happened, in a few words"}}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for range b.N {
		if !stream.Next(b.Context()) {
			b.Fatal(stream.Err())
		}
		took = append(took, time.Since(sent[stream.Current.Lookup("documentKey", "_id").Int32()]))
	}
	b.StopTimer()
	writing.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
