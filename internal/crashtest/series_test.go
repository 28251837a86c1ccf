package crashtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const seriesWriters = 4

// series is a time-series collection with several writers, each of which numbers its measurements.
type series struct {
	t *testing.T
	// acked and sent are the newest numbers of each writer; they differ where an insert was not acknowledged.
	acked, sent [seriesWriters]int64
}

// TestKillSeries kills a server while measurements are inserted, one by one and in batches, into the same windows. After each
// restart it has every acknowledged measurement, and none twice.
func TestKillSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	dir := t.TempDir()
	srv := start(t, dir)
	create := options.CreateCollection().SetTimeSeriesOptions(options.TimeSeries().SetTimeField("t").SetMetaField("m"))
	if err := srv.client.Database("d").CreateCollection(t.Context(), "series", create); err != nil {
		t.Fatal(err)
	}
	f := &series{t: t}
	round := 0
	for begin := time.Now(); round < max(*rounds, 3) && (*rounds > 0 || time.Since(begin) < patience/2); round++ {
		f.load(srv, rng.Uint64(), time.Duration(100+rng.IntN(300))*time.Millisecond)
		srv = start(t, dir)
		f.verify(srv.client.Database("d").Collection("series"))
	}
	srv.stop()
	total := int64(0)
	for _, n := range f.acked {
		total += n
	}
	t.Logf("%d rounds, %d acknowledged measurements", round, total)
}

// load inserts for some time and kills the server.
func (f *series) load(srv *child, seed uint64, d time.Duration) {
	coll := srv.client.Database("d").Collection("series")
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for p := range seriesWriters {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(p)))
			for ctx.Err() == nil {
				n := 1
				if rng.IntN(3) == 0 {
					n = 1 + rng.IntN(80)
				}
				docs := make([]any, n)
				for i := range docs {
					f.sent[p]++
					// All writers have the same windows and meta values.
					docs[i] = bson.D{
						{Key: "t", Value: time.UnixMilli(1_700_000_000_000 + f.sent[p]*700)},
						{Key: "m", Value: f.sent[p] % 3},
						{Key: "p", Value: int32(p)},
						{Key: "n", Value: f.sent[p]},
					}
				}
				if _, err := coll.InsertMany(ctx, docs); err != nil {
					if !srv.killed.Load() {
						f.t.Errorf("writer %d: %v", p, err)
					}
					return
				}
				f.acked[p] = f.sent[p]
			}
		})
	}
	time.Sleep(d)
	srv.kill()
	cancel()
	wg.Wait()
	srv.disconnect()
}

func (f *series) verify(coll *mongo.Collection) {
	f.t.Helper()
	ctx := f.t.Context()
	cur, err := coll.Find(ctx, bson.D{})
	if err != nil {
		f.t.Fatal(err)
	}
	var found []message
	if err := cur.All(ctx, &found); err != nil {
		f.t.Fatal(err)
	}
	seen := map[message]bool{}
	for _, m := range found {
		if seen[m] {
			f.t.Errorf("writer %d: measurement %d is there twice", m.P, m.N)
		}
		seen[m] = true
	}
	for p := range seriesWriters {
		for n := int64(1); n <= f.acked[p]; n++ {
			if !seen[message{int32(p), n}] {
				f.t.Errorf("writer %d: measurement %d of %d is lost", p, n, f.acked[p])
				break
			}
		}
	}
	// What was sent and not acknowledged may be there: it is not sent again.
	for p := range seriesWriters {
		for n := f.acked[p] + 1; n <= f.sent[p]; n++ {
			if !seen[message{int32(p), n}] {
				if _, err := coll.InsertOne(ctx, bson.D{{Key: "t", Value: time.UnixMilli(1_700_000_000_000 + n*700)}, {Key: "m", Value: n % 3}, {Key: "p", Value: int32(p)}, {Key: "n", Value: n}}); err != nil {
					f.t.Fatal(err)
				}
			}
		}
		f.acked[p] = f.sent[p]
	}
	var valid struct{ Valid bool }
	if err := coll.Database().RunCommand(ctx, bson.D{{Key: "validate", Value: "series"}, {Key: "full", Value: true}}).Decode(&valid); err != nil || !valid.Valid {
		f.t.Errorf("validate: %+v %v", valid, err)
	}
}
