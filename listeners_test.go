package sheaf_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

// listen reads a topic with a tailable-await cursor until it has received n messages. It returns an
// error at the first message that is missing, duplicated, or out of its publisher's order.
func listen(ctx context.Context, topic *mongo.Collection, n int, ready *sync.WaitGroup, seen *atomic.Int64) error {
	find := options.Find().SetCursorType(options.TailableAwait).SetBatchSize(1000)
	cur, err := topic.Find(ctx, bson.D{}, find)
	ready.Done()
	if err != nil {
		return err
	}
	defer cur.Close(context.WithoutCancel(ctx))
	next := map[int32]int32{}
	for got := -1; got < n; got++ { // the first message is not counted: it is there from the beginning
		if !cur.Next(ctx) {
			return fmt.Errorf("after %d messages: %w", got, cur.Err())
		}
		by, _ := cur.Current.Lookup("by").Int32OK()
		number, _ := cur.Current.Lookup("n").Int32OK()
		if number != next[by] {
			return fmt.Errorf("publisher %d: message %d where %d is next", by, number, next[by])
		}
		next[by]++
		seen.Add(1)
	}
	return nil
}

// publish inserts n messages, one by one. Several publishers do so concurrently.
func publish(ctx context.Context, topic *mongo.Collection, n, publishers int) error {
	errs := make(chan error, publishers)
	for by := range publishers {
		go func() {
			for i := by; i < n; i += publishers {
				message := bson.D{
					{"by", int32(by)},
					{"n", int32(i / publishers)},
					{"text", "what happened, in a few words"},
				}
				if _, err := topic.InsertOne(ctx, message); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range publishers {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// deliver publishes n messages to listeners, and returns when all listeners have received all of
// them.
func deliver(tb testing.TB, db *sheaf.DB, listeners, n, publishers int, started func()) {
	tb.Helper()
	// Each listener holds a connection while it waits.
	client, err := mongo.Connect(db.ClientOptions().SetMaxPoolSize(uint64(listeners + publishers + 10)))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	d := client.Database("d")
	if err := d.CreateCollection(tb.Context(), "topic",
		options.CreateCollection().SetCapped(true).SetSizeInBytes(64<<20)); err != nil {
		tb.Fatal(err)
	}
	topic := d.Collection("topic")
	if _, err := topic.InsertOne(tb.Context(), bson.D{{"by", int32(-1)}, {"n", int32(0)}}); err != nil {
		tb.Fatal(err)
	}
	var seen atomic.Int64
	var ready sync.WaitGroup
	ready.Add(listeners)
	ends := make(chan error, listeners)
	for range listeners {
		go func() { ends <- listen(tb.Context(), topic, n, &ready, &seen) }()
	}
	ready.Wait()
	started()
	if err := publish(tb.Context(), topic, n, publishers); err != nil {
		tb.Fatal(err)
	}
	for range listeners {
		if err := <-ends; err != nil {
			tb.Error(err)
		}
	}
	if want := int64(listeners) * int64(n+1); seen.Load() != want {
		tb.Errorf("%d messages were seen; want %d", seen.Load(), want)
	}
}

// TestThousandListeners: each of 1,000 listeners of a topic receives every message.
func TestThousandListeners(t *testing.T) {
	t.Parallel()
	listeners := max(torture.Part(1000), 100)
	if testing.Short() {
		listeners = 100
	}
	deliver(t, sheaftest.Open(t, nil), listeners, 30, 4, func() {})
}

// BenchmarkListeners measures the cost of a message that is published into a topic and received by
// all of its listeners, for several numbers of listeners.
func BenchmarkListeners(b *testing.B) {
	for _, listeners := range []int{1, 40, 1000} {
		b.Run(fmt.Sprintf("listeners=%d", listeners), func(b *testing.B) {
			db, err := sheaf.Open(b.TempDir(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			deliver(b, db, listeners, b.N, 16, b.ResetTimer)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "publishes/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(listeners), "ns/delivery")
		})
	}
}
