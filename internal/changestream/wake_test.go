package changestream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/sheaftest"
)

// TestStreamsAreWoken has streams that would wait for minutes, beside writes to their collection and to others, transactions over
// all of them, and collections that come and go: each sees its own changes, all of them, and in their order.
func TestStreamsAreWoken(t *testing.T) {
	const collections, rounds = 4, 100
	client := sheaftest.New(t)
	db := client.Database("d")
	var followers, authors sync.WaitGroup
	for i := range collections {
		name := fmt.Sprint("c", i)
		wait := options.ChangeStream().SetMaxAwaitTime(5 * time.Minute)
		for _, w := range []watcher{db.Collection(name), db.Collection(name), db} {
			stages := bson.A{bson.D{{Key: "$match", Value: bson.D{{Key: "ns.coll", Value: name}}}}}
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

// follow requires the numbers below n in their order.
func follow(t *testing.T, stream *mongo.ChangeStream, n int) {
	ctx, cancel := context.WithCancel(t.Context()) // a deadline may not be before the end of a wait
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

// write inserts the numbers below 2*rounds, in part in transactions, and makes and drops other collections.
func write(t *testing.T, client *mongo.Client, name string, rounds int) {
	c, ctx := client.Database("d").Collection(name), t.Context()
	rng := rand.New(rand.NewPCG(1, uint64(len(name))))
	for i := range rounds {
		other := client.Database(fmt.Sprint("other", name)).Collection(fmt.Sprint(i))
		docs := bson.A{bson.D{{Key: "_id", Value: 2 * i}}, bson.D{{Key: "_id", Value: 2*i + 1}}}
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

// TestTokenMovesOn requires that the token of a resumed stream to which nothing happens follows what happens elsewhere: one that
// stays is some day before the log's beginning.
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
		for range 2 { // the first may look at the batch that is there
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

// TestResumeAfterRestart goes on, in a new process of the server, with a stream that saw nothing new before.
func TestResumeAfterRestart(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	db := open(t, dir)
	c := db.Client().Database("d").Collection("c")
	stream := watch(t, c, bson.A{})
	for i := range 2 {
		must[*mongo.InsertOneResult](t)(c.InsertOne(ctx, bson.D{{Key: "_id", Value: i}}))
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
