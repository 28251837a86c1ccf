package changestream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestStreamsAreWoken checks that a change wakes the streams that wait for it. There are writes to
// the streams' collections and to others, transactions over all of them, and collections that are
// created and dropped. Each stream must return all changes of its collection, in their order.
func TestStreamsAreWoken(t *testing.T) {
	const collections, rounds = 4, 100
	client := sheaftest.New(t)
	db := client.Database("d")
	var followers, authors sync.WaitGroup
	for i := range collections {
		name := fmt.Sprint("c", i)
		wait := options.ChangeStream().SetMaxAwaitTime(5 * time.Minute)
		for _, w := range []watcher{db.Collection(name), db.Collection(name), db} {
			stages := bson.A{bson.D{{"$match", bson.D{{"ns.coll", name}}}}}
			stream, err := w.Watch(t.Context(), stages, wait)
			if err != nil {
				t.Fatal(err)
			}
			followers.Go(func() {
				defer func() { _ = stream.Close(context.Background()) }()
				follow(t, stream, rounds*2)
			})
		}
		authors.Go(func() { write(t, client, name, rounds) })
	}
	authors.Wait()
	followers.Wait()
}

// follow checks that the stream returns the numbers from 0 to n-1 in their order.
func follow(t *testing.T, stream *mongo.ChangeStream, n int) {
	ctx, cancel := context.WithCancel(t.Context()) // without a deadline, which might pass during a wait
	defer time.AfterFunc(time.Minute, cancel).Stop()
	defer cancel()
	for i := range n {
		if !stream.Next(ctx) {
			t.Errorf("no event %d: %v", i, stream.Err())
			return
		}
		if got := plain(t, stream.Current); !strings.Contains(got, fmt.Sprintf(`"documentKey":{"_id":%d}`, i)) {
			t.Errorf("event %d is %s", i, got)
			return
		}
	}
}

// write inserts the numbers below 2*rounds, some in transactions, and creates and drops other
// collections.
func write(t *testing.T, client *mongo.Client, name string, rounds int) {
	c, ctx := client.Database("d").Collection(name), t.Context()
	rng := rand.New(rand.NewPCG(1, uint64(len(name))))
	for i := range rounds {
		other := client.Database(fmt.Sprint("other", name)).Collection(fmt.Sprint(i))
		docs := bson.A{bson.D{{"_id", 2 * i}}, bson.D{{"_id", 2*i + 1}}}
		err := client.UseSession(ctx, func(ctx context.Context) error {
			if rng.IntN(2) == 0 {
				_, err := c.InsertMany(ctx, docs)
				return err
			}
			_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
				if _, err := other.InsertOne(ctx, bson.D{}); err != nil {
					return nil, err
				}
				return c.InsertMany(ctx, docs)
			})
			return err
		})
		if err == nil && rng.IntN(10) == 0 {
			err = other.Drop(ctx)
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// TestTokenMovesOn checks that changes of other collections advance the token of an idle resumed
// stream. Otherwise the token would some day be older than the oplog.
func TestTokenMovesOn(t *testing.T) {
	client := sheaftest.New(t)
	ctx := t.Context()
	c, other := client.Database("d").Collection("c"), client.Database("d").Collection("other")
	stream := watch(t, c, bson.A{})
	for _, c := range []*mongo.Collection{c, other} {
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{}))
	}
	next(t, stream)
	resumed := watch(t, c, bson.A{}, options.ChangeStream().SetResumeAfter(stream.ResumeToken()))
	before := resumed.ResumeToken()
	for range 2 {
		must[*mongo.InsertOneResult](t)(other.InsertOne(ctx, bson.D{}))
		for range 2 { // the first batch may already exist
			if resumed.TryNext(ctx) {
				t.Fatalf("event %v", resumed.Current)
			}
		}
		now := resumed.ResumeToken()
		if now.Lookup("_data").StringValue() <= before.Lookup("_data").StringValue() {
			t.Errorf("the token was %v and is %v", before, now)
		}
		before = now
	}
}

// TestResumeAfterRestart resumes a stream that has seen nothing new in a new process of the server.
func TestResumeAfterRestart(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	db := open(t, dir)
	c := db.Client().Database("d").Collection("c")
	stream := watch(t, c, bson.A{})
	for i := range 2 {
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{"_id", i}}))
	}
	next(t, stream)
	token := stream.ResumeToken()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	defer func() { _ = db.Close() }()
	stream = watch(t, db.Client().Database("d").Collection("c"), bson.A{}, options.ChangeStream().SetResumeAfter(token))
	wantEvents(t, stream, `"operationType":"insert" "fullDocument":{"_id":1} "ns":{"db":"d","coll":"c"} "documentKey":{"_id":1}`)
}

// TestTransactionInBatches reads the events of a large transaction one by one, and resumes after
// each of them. It also does so when the server has no memory to keep the transaction between two
// batches.
func TestTransactionInBatches(t *testing.T) {
	t.Parallel()
	const documents = 6
	dir := t.TempDir()
	db := open(t, dir)
	coll := db.Client().Database("d").Collection("c")
	start, err := db.Client().Database("d").RunCommand(t.Context(), bson.D{{"create", "c"}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	session, err := db.Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.WithTransaction(t.Context(), func(ctx context.Context) (any, error) {
		for i := range documents {
			if _, err := coll.InsertOne(ctx,
				bson.D{{"_id", i}, {"p", strings.Repeat("x", 20_000)}}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	session.EndSession(t.Context())
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, budget := range []int64{-1, 64 << 10} {
		db, err := sheaf.Open(dir, &sheaf.Options{RequestMemory: budget})
		if err != nil {
			t.Fatal(err)
		}
		coll := db.Client().Database("d").Collection("c")
		sec, inc := start.Lookup("operationTime").Timestamp()
		await := options.ChangeStream().SetMaxAwaitTime(10 * time.Millisecond)
		from := options.ChangeStream().SetStartAtOperationTime(&bson.Timestamp{T: sec, I: inc}).SetBatchSize(1)
		var tokens []bson.Raw
		for i := range documents + 1 {
			stream, err := coll.Watch(t.Context(), mongo.Pipeline{}, from, await)
			if err != nil {
				t.Fatal(err)
			}
			for n := i; n < documents; n++ {
				if !stream.Next(t.Context()) {
					t.Fatalf("budget %d, after %d: no event %d: %v", budget, i, n, stream.Err())
				}
				if id := stream.Current.Lookup("documentKey", "_id").AsInt64(); id != int64(n) {
					t.Fatalf("budget %d, after %d: event %d is of document %d", budget, i, n, id)
				}
				if i == 0 {
					tokens = append(tokens, stream.ResumeToken())
				}
			}
			if stream.TryNext(t.Context()) {
				t.Errorf("budget %d, after %d: one event more: %v", budget, i, stream.Current.Lookup("documentKey"))
			}
			_ = stream.Close(t.Context())
			if i < documents {
				from = options.ChangeStream().SetResumeAfter(tokens[i]).SetBatchSize(1)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
