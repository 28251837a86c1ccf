package crashtest

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/torture"
)

const seriesWriters = 4

// series is a time-series collection with several writers, each of which numbers its measurements.
type series struct{ writers [seriesWriters]numbers }

// TestKillSeries kills a server while measurements are inserted, one by one and in batches, into
// the same windows. After each restart it must have every acknowledged measurement, and none twice.
func TestKillSeries(t *testing.T) {
	torture.SkipShort(t)
	f := &series{}
	rounds := killRounds(t, seriesWriters, f, newFollower(true))
	t.Logf("%d rounds, %d acknowledged measurements", rounds, acknowledged(f.writers[:]))
}

func (f *series) prepare(t *testing.T, srv *child) {
	t.Helper()
	create := options.CreateCollection().SetTimeSeriesOptions(options.TimeSeries().SetTimeField("t").SetMetaField("m"))
	if err := srv.client.Database("d").CreateCollection(t.Context(), "series", create); err != nil {
		t.Fatal(err)
	}
}

// measurement returns the n-th measurement of a writer. All writers use the same windows and meta
// values.
func measurement(writer int, n int64) bson.D {
	return bson.D{
		{"t", time.UnixMilli(1_700_000_000_000 + n*700)},
		{"m", n % 3},
		{"p", int32(writer)},
		{"n", n},
	}
}

func (f *series) work(ctx context.Context, t *testing.T, srv *child, client int, rng *rand.Rand) {
	coll := srv.client.Database("d").Collection("series")
	w := &f.writers[client]
	for ctx.Err() == nil {
		n := 1
		if rng.IntN(3) == 0 {
			n = 1 + rng.IntN(80)
		}
		docs := make([]any, n)
		for i := range docs {
			w.sent++
			docs[i] = measurement(client, w.sent)
		}
		if _, err := coll.InsertMany(ctx, docs); err != nil {
			if !srv.killed.Load() {
				t.Errorf("writer %d: %v", client, err)
			}
			return
		}
		w.acked = w.sent
	}
}

func (f *series) verify(t *testing.T, srv *child) {
	t.Helper()
	ctx, coll := t.Context(), srv.client.Database("d").Collection("series")
	cur, err := coll.Find(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var found []message
	if err := cur.All(ctx, &found); err != nil {
		t.Fatal(err)
	}
	seen := map[message]bool{}
	for _, m := range found {
		if seen[m] {
			t.Errorf("writer %d: measurement %d is there twice", m.P, m.N)
		}
		seen[m] = true
	}
	for i := range f.writers {
		w := &f.writers[i]
		for n := int64(1); n <= w.acked; n++ {
			if !seen[message{int32(i), n}] {
				t.Errorf("writer %d: measurement %d of %d is lost", i, n, w.acked)
				break
			}
		}
		// Measurements that were sent but not acknowledged may exist. The writer sends the missing
		// ones again.
		for n := w.acked + 1; n <= w.sent; n++ {
			if seen[message{int32(i), n}] {
				continue
			}
			if _, err := coll.InsertOne(ctx, measurement(i, n)); err != nil {
				t.Fatal(err)
			}
		}
		w.acked = w.sent
	}
	validate(ctx, t, coll.Database(), "series")
}
