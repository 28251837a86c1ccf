package crashtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/torture"
)

const (
	streamWriters = 3
	streamName    = "stream"
)

// watcher follows the changes of a collection, a database or the whole server with the driver. The
// driver resumes its stream after most failures, and the watcher resumes it after the others.
type watcher struct {
	t     *testing.T
	name  string
	rng   *rand.Rand
	watch func(ctx context.Context, pipeline any,
		opts ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error)
	begin  bson.Timestamp
	token  bson.Raw
	opened int
	// seen is the newest number of each writer.
	seen [streamWriters]atomic.Int64
}

// TestCutStreams cuts the connections of change streams and of writers, and kills the server. Each
// stream must have every event once, and the events of each writer in their order.
func TestCutStreams(t *testing.T) {
	torture.SkipShort(t)
	s := newSite(t)
	proxy := torture.NewProxy(t, s.run.Rand(-1), s.Addr)
	watchers := newWatchers(s, proxy)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watching, writing sync.WaitGroup
	defer watching.Wait()
	for _, w := range watchers {
		watching.Go(func() { w.run(ctx) })
	}
	var stop atomic.Bool
	var written [streamWriters]atomic.Int64
	for i := range streamWriters {
		client, rng := s.cutClient(proxy), s.run.Rand(i+1)
		writing.Go(func() {
			for !stop.Load() && !t.Failed() {
				publish(t, client, rng, i, &written[i])
			}
		})
	}
	for s.run.Next(shortRounds, patience) {
		proxy.Set(torture.Faults{
			Cut: 0.05 * s.rng.Float64(), Slow: 0.1,
			Delay: time.Duration(s.rng.IntN(5)) * time.Millisecond,
		})
		time.Sleep(time.Duration(100+s.rng.IntN(400)) * time.Millisecond)
		if s.rng.IntN(3) == 0 {
			s.killAndStart()
		}
	}
	stop.Store(true)
	writing.Wait()
	for _, w := range watchers {
		w.await(&written)
	}
	cancel()
	watching.Wait()
	events, opened := int64(0), 0
	for i, w := range watchers {
		opened += w.opened
		if i == 0 {
			for n := range w.seen {
				events += w.seen[n].Load()
			}
		}
	}
	t.Logf("%d rounds, %d connections cut, %d events for %d streams, which were opened %d times, beside what the driver resumed",
		s.run.Rounds(), proxy.Cuts(), events, len(watchers), opened)
	if torture.Long() && (events == 0 || proxy.Cuts() == 0) {
		t.Error("the test did not do what it is for")
	}
}

func newWatchers(s *site, proxy *torture.Proxy) (out []*watcher) {
	s.t.Helper()
	var hello struct{ OperationTime bson.Timestamp }
	if err := s.db().RunCommand(s.t.Context(), bson.D{{"ping", 1}}).Decode(&hello); err != nil {
		s.t.Fatal(err)
	}
	client := s.cutClient(proxy)
	for i, w := range []*watcher{
		{name: "collection", watch: client.Database(retryDB).Collection(streamName).Watch},
		{name: "database", watch: client.Database(retryDB).Watch},
		{name: "server", watch: client.Watch},
	} {
		w.t, w.rng, w.begin = s.t, s.run.Rand(100+i), hello.OperationTime
		out = append(out, w)
	}
	return out
}

// publish inserts the next numbers of a writer: one, several, or several in a transaction.
func publish(t *testing.T, client *mongo.Client, rng *rand.Rand, writer int, written *atomic.Int64) {
	ctx, cancel := context.WithTimeout(t.Context(), outlasts)
	defer cancel()
	coll := client.Database(retryDB).Collection(streamName)
	docs := make([]bson.D, 1+rng.IntN(5))
	for i := range docs {
		docs[i] = bson.D{
			{"_id", bson.D{
				{"p", int32(writer)},
				{"n", written.Load() + int64(i) + 1},
			}},
			{"pad", pad(rng.IntN(2000))},
		}
	}
	insert := func(ctx context.Context) error {
		_, err := coll.InsertMany(ctx, docs)
		return err
	}
	var err error
	if rng.IntN(3) == 0 {
		err = inTransaction(ctx, client, insert)
	} else {
		err = insert(ctx)
	}
	for err != nil && ofNetwork(err) && ctx.Err() == nil { // the driver gave up: send all again
		if _, err = coll.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false)); mongo.IsDuplicateKeyError(err) {
			err = nil
		}
	}
	if err != nil {
		t.Errorf("writer %d: %v", writer, err)
	}
	written.Add(int64(len(docs)))
}

// run follows the changes until ctx ends.
func (w *watcher) run(ctx context.Context) {
	pipeline := bson.A{bson.D{{
		"$match",
		bson.D{{"operationType", "insert"}, {"ns.coll", streamName}},
	}}}
	for ctx.Err() == nil && !w.t.Failed() {
		opts := options.ChangeStream().SetMaxAwaitTime(50 * time.Millisecond).SetBatchSize(int32(w.rng.IntN(20)))
		if w.token == nil {
			opts.SetStartAtOperationTime(&w.begin)
		} else if w.rng.IntN(2) == 0 {
			opts.SetResumeAfter(w.token)
		} else {
			opts.SetStartAfter(w.token)
		}
		w.opened++
		stream, err := w.watch(ctx, pipeline, opts)
		if err == nil {
			err = w.follow(ctx, stream)
		}
		if err != nil && ctx.Err() == nil && !ofNetwork(err) {
			w.t.Errorf("watcher of the %s: %v", w.name, err)
		}
	}
}

// follow reads a stream until it ends or, sometimes, until the watcher leaves it.
func (w *watcher) follow(ctx context.Context, stream *mongo.ChangeStream) error {
	defer stream.Close(context.Background())
	for leave := 1 + w.rng.IntN(1000); leave > 0; leave-- {
		if !stream.TryNext(ctx) {
			if stream.Err() != nil || stream.ID() == 0 {
				return stream.Err()
			}
			w.token = stream.ResumeToken()
			continue
		}
		w.take(stream.Current)
		w.token = stream.ResumeToken()
	}
	return nil
}

// take checks that an event is the next one of its writer.
func (w *watcher) take(event bson.Raw) {
	var e struct {
		DocumentKey struct {
			ID message `bson:"_id"`
		} `bson:"documentKey"`
	}
	if err := bson.Unmarshal(event, &e); err != nil {
		w.t.Errorf("%v: %v", event, err)
		return
	}
	id := e.DocumentKey.ID
	if before := w.seen[id.P].Swap(id.N); id.N != before+1 {
		w.t.Errorf("watcher of the %s: number %d of writer %d comes behind %d", w.name, id.N, id.P, before)
	}
}

// await waits until the watcher has seen all numbers that were written.
func (w *watcher) await(written *[streamWriters]atomic.Int64) {
	w.t.Helper()
	for i := range written {
		want := written[i].Load()
		for end := time.Now().Add(outlasts); w.seen[i].Load() < want &&
			!w.t.Failed(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				w.t.Errorf("watcher of the %s: of writer %d it has seen %d of %d events", w.name, i, w.seen[i].Load(), want)
			}
		}
	}
}
