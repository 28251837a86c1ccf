package load_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// connections is the size of the driver's pool. It is the default of a plan.
const connections = 200

// nothing is the work of a user that does nothing, so only the generator's own cost is measured.
func nothing(context.Context, *scenario.User) error { return nil }

// command returns the work of a user that sends a command to a server. The server only sends a
// canned reply.
func command(tb testing.TB) func(ctx context.Context, u *scenario.User) error {
	tb.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(stub(tb)).SetMaxPoolSize(connections))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	if err := client.Ping(tb.Context(), nil); err != nil {
		tb.Fatal(err)
	}
	docs := client.Database("sim").Collection("docs")
	return func(ctx context.Context, u *scenario.User) error {
		_, err := docs.InsertOne(ctx, bson.D{{"_id", u.Number}})
		return err
	}
}

// drive runs a part, and fails if one of its users fails.
func drive(b *testing.B, inFlight int, l load.Load,
	run func(ctx context.Context, u *scenario.User) error,
) *result.Measured {
	b.Helper()
	m := load.Drive(b.Context(), load.Config{MaxInFlight: inFlight, Report: func(load.Progress) {}},
		[]load.Part{{Label: "bench", Load: l.WithDefaults(1), Run: run}})[0]
	if m.Succeeded != m.Started || m.Started == 0 {
		b.Fatalf("%d of %d: %v", m.Succeeded, m.Started, m.Errors)
	}
	return m
}

// BenchmarkStarts starts users who are all due at the same moment. It measures how many users per
// second the generator can start and finish, with as many active users as connections, and with far
// more.
func BenchmarkStarts(b *testing.B) {
	insert := command(b)
	for _, c := range []struct {
		name     string
		inFlight int
		run      func(ctx context.Context, u *scenario.User) error
	}{
		{"nothing", load.DefaultMaxInFlight, nothing},
		{"insert", connections, insert},
		{"insert-crowd", load.DefaultMaxInFlight, insert},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			l := load.Load{
				Iterations: (b.N + load.MaxUsers - 1) / load.MaxUsers,
				Resolution: time.Millisecond, Spread: load.Burst,
			}
			l.Users = b.N / l.Iterations
			m := drive(b, c.inFlight, l, c.run)
			b.ReportMetric(float64(m.Started)/m.RuntimeSeconds, "starts/s")
		})
	}
}

// BenchmarkRate starts users at a rate for five seconds. It measures how late the generator starts
// them, and their processor time.
func BenchmarkRate(b *testing.B) {
	insert := command(b)
	for _, c := range []struct {
		name  string
		users int
		run   func(ctx context.Context, u *scenario.User) error
	}{
		{"nothing/1000", 1000, nothing},
		{"nothing/30000", 30_000, nothing},
		{"insert/1000", 1000, insert},
		{"insert/10000", 10_000, insert},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				m := drive(b, 0, load.Load{Iterations: 5, Users: c.users}, c.run)
				b.ReportMetric(float64(m.Started)/m.RuntimeSeconds, "starts/s")
				b.ReportMetric(float64(m.Lateness.Percentile(50).Nanoseconds())/1e6, "late-p50-ms")
				b.ReportMetric(float64(m.Lateness.Percentile(99).Nanoseconds())/1e6, "late-p99-ms")
				b.ReportMetric(float64(m.Latency.Percentile(99).Nanoseconds())/1e6, "p99-ms")
			}
		})
	}
}

// BenchmarkMemory measures the memory of a result, and the size of its file. Each slot has 1,000
// users, with a mean latency of 1.1 ms.
func BenchmarkMemory(b *testing.B) {
	for name, slots := range map[string]int{"25": 25, "3600": 3600} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				m, random := result.NewMeasured(), rand.New(rand.NewPCG(1, 2))
				for i := range slots * 1000 {
					d := time.Duration((0.1 + random.ExpFloat64()) * float64(time.Millisecond))
					m.Latency.Add(d)
					m.Lateness.Add(d / 100)
					m.Slot(i / 1000).Latency.Add(d)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1024, "KiB")
				var text bytes.Buffer
				if err := (&result.Result{Scenarios: []*result.Scenario{{Measured: *m}}}).Write(&text); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(text.Len())/1024, "file-KiB")
				runtime.KeepAlive(m)
			}
		})
	}
}
