package sheaf_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// BenchmarkQueue measures how a queue ages: jobs are published, taken in order and ended. The takes
// of the last tenth must cost as much as the takes of the first tenth. Let the benchmark run for
// longer than the ten seconds for which the store keeps history.
func BenchmarkQueue(b *testing.B) {
	b.Run("fifo", func(b *testing.B) {
		benchQueue(b, bson.D{{"createdOn", 1}})
	})
	b.Run("priority", func(b *testing.B) {
		benchQueue(b, bson.D{{"priority", -1}, {"createdOn", 1}})
	})
}

func benchQueue(b *testing.B, order bson.D) {
	const workers, waiting = 8, 1000
	c := openStreams(b, workers).Collection("queue")
	keys := append(bson.D{{"startTime", 1}}, order...)
	if _, err := c.Indexes().CreateOne(b.Context(), mongo.IndexModel{Keys: keys}); err != nil {
		b.Fatal(err)
	}
	var last atomic.Int64
	publish := func(ctx context.Context) error {
		n := last.Add(1)
		_, err := c.InsertOne(ctx, bson.D{
			{"_id", n},
			{"startTime", nil},
			{"createdOn", n},
			{"priority", n * 7 % 5},
			{"text", "what is to be done, in a few words"},
		})
		return err
	}
	for range waiting {
		if err := publish(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	opts := options.FindOneAndUpdate().SetSort(order)
	// at is when each tenth of the takes began. used is the processor time until then.
	var at, used [11]time.Duration
	start := time.Now()
	mark := func(tenth int) { at[tenth], used[tenth] = time.Since(start), cpuTime(b) }
	b.ResetTimer()
	mark(0)
	var taken atomic.Int64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for n := taken.Add(1); n <= int64(b.N); n = taken.Add(1) {
				job, err := c.FindOneAndUpdate(b.Context(), bson.D{{"startTime", nil}},
					setField("startTime", n), opts).Raw()
				if err == nil {
					_, err = c.UpdateByID(b.Context(), job.Lookup("_id"), setField("endTime", n))
				}
				if err := errors.Join(err, publish(b.Context())); err != nil {
					b.Error(err)
					return
				}
				if tenth := int64(max(b.N/10, 1)); n%tenth == 0 && n/tenth <= 10 {
					mark(int(n / tenth))
				}
			}
		})
	}
	working.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "takes/s")
	for i, name := range map[int]string{0: "1st", 4: "5th", 9: "last"} {
		b.ReportMetric(float64(b.N/10)/(at[i+1]-at[i]).Seconds(), "takes/s-"+name)
		b.ReportMetric(float64((used[i+1]-used[i]).Microseconds())/float64(max(b.N/10, 1)), "cpu-µs/take-"+name)
	}
}

// cpuTime returns the processor time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Error(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func setField(name string, value any) bson.D {
	return bson.D{{"$set", bson.D{{name, value}}}}
}
