package command_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/sheaftest"
)

// newTopic returns a capped collection with the documents 0, 1 and 2.
func newTopic(t *testing.T, limit int) *mongo.Collection {
	t.Helper()
	db := sheaftest.New(t).Database("d")
	opts := options.CreateCollection().SetCapped(true).SetSizeInBytes(1 << 20).SetMaxDocuments(int64(limit))
	if err := db.CreateCollection(t.Context(), "topic", opts); err != nil {
		t.Fatal(err)
	}
	c := db.Collection("topic")
	publish(t, c, 0, 1, 2)
	return c
}

func publish(t *testing.T, c *mongo.Collection, ids ...int) {
	t.Helper()
	var docs []any
	for _, id := range ids {
		docs = append(docs, bson.D{{"_id", id}, {"even", id%2 == 0}})
	}
	if _, err := c.InsertMany(context.Background(), docs); err != nil {
		t.Error(err)
	}
}

// run runs a command and returns its reply.
func run(t *testing.T, c *mongo.Collection, cmd bson.D) (bson.Raw, error) {
	t.Helper()
	return c.Database().RunCommand(t.Context(), cmd).Raw()
}

// inSession returns a context for commands in one session. A cursor and its getMores must have the
// same session.
func inSession(t *testing.T, c *mongo.Collection) context.Context {
	t.Helper()
	session, err := c.Database().Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.EndSession(context.Background()) })
	return mongo.NewSessionContext(t.Context(), session)
}

func mustRun(t *testing.T, c *mongo.Collection, cmd bson.D) bson.Raw {
	t.Helper()
	raw, err := run(t, c, cmd)
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return raw
}

// tail is a tailable cursor that the test reads with its own getMores.
type tail struct {
	t   *testing.T
	ctx context.Context
	c   *mongo.Collection
	id  int64
}

func newTail(t *testing.T, c *mongo.Collection, opts ...bson.E) *tail {
	t.Helper()
	return newCursor(t, c, append(bson.D{{"find", c.Name()}, {"tailable", true}}, opts...))
}

func newCursor(t *testing.T, c *mongo.Collection, find bson.D) *tail {
	t.Helper()
	ctx := inSession(t, c)
	raw, err := c.Database().RunCommand(ctx, find).Raw()
	if err != nil {
		t.Fatalf("%v: %v", find, err)
	}
	id := raw.Lookup("cursor", "id").Int64()
	if id == 0 {
		t.Fatal("the cursor is closed")
	}
	return &tail{t, ctx, c, id}
}

func (x *tail) getMore(opts ...bson.E) (ids []int32, err error) {
	x.t.Helper()
	cmd := bson.D{{"getMore", x.id}, {"collection", x.c.Name()}}
	raw, err := x.c.Database().RunCommand(x.ctx, append(cmd, opts...)).Raw()
	if err != nil {
		return nil, err
	}
	values, err := raw.Lookup("cursor", "nextBatch").Array().Values()
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		ids = append(ids, v.Document().Lookup("_id").Int32())
	}
	return ids, nil
}

func (x *tail) want(want string, opts ...bson.E) {
	x.t.Helper()
	ids, err := x.getMore(opts...)
	if got := fmt.Sprint(ids); err != nil || got != want {
		x.t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func hasCode(err error, code int) bool {
	var e mongo.ServerError
	return err != nil && asServerError(err, &e) && e.HasErrorCode(code)
}

func asServerError(err error, to *mongo.ServerError) bool {
	e, ok := err.(mongo.ServerError) //nolint:errorlint // the driver does not wrap it
	*to = e
	return ok
}

func TestTailable(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 5)
	all := newTail(t, c)
	even := newTail(t, c, bson.E{"filter", bson.D{{"even", true}}})
	slow := newTail(t, c, bson.E{"batchSize", 1})
	all.want("[]")
	all.want("[]")
	publish(t, c, 3, 4)
	all.want("[3 4]")
	even.want("[4]")
	slow.want("[1]", bson.E{"batchSize", 1})
	publish(t, c, 5)
	all.want("[5]")
	even.want("[]")
	publish(t, c, 6) // removes document 1
	if _, err := slow.getMore(); !hasCode(err, 136) {
		t.Errorf("a lost position: %v", err)
	}
	if _, err := slow.getMore(); !hasCode(err, 43) {
		t.Errorf("a cursor that has lost its position: %v", err)
	}
	all.want("[6]")
	even.want("[6]")
}

// TestCappedPositionLost checks that a cursor which is not tailable fails if its position was
// removed.
func TestCappedPositionLost(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 3)
	x := newCursor(t, c, bson.D{{"find", "topic"}, {"batchSize", 1}})
	publish(t, c, 3)
	if _, err := x.getMore(); !hasCode(err, 136) {
		t.Errorf("a lost position: %v", err)
	}
}

func TestTailableErrors(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 4)
	find := func(opts ...bson.E) error {
		_, err := run(t, c, append(bson.D{{"find", "topic"}}, opts...))
		return err
	}
	tailable, await := bson.E{"tailable", true}, bson.E{"awaitData", true}
	for name, test := range map[string]struct {
		err  error
		code int
	}{
		"sort":         {find(tailable, bson.E{"sort", bson.D{{"_id", 1}}}), 2},
		"backward":     {find(tailable, bson.E{"sort", bson.D{{"$natural", -1}}}), 2},
		"single batch": {find(tailable, bson.E{"singleBatch", true}), 2},
		"await only":   {find(await), 9},
	} {
		if !hasCode(test.err, test.code) {
			t.Errorf("%s: %v, want code %d", name, test.err, test.code)
		}
	}
	if _, err := newTail(t, c).getMore(bson.E{"maxTimeMS", 10}); !hasCode(err, 2) {
		t.Errorf("maxTimeMS without awaitData: %v", err)
	}
	gone := newTail(t, c, await)
	done := make(chan error)
	go func() {
		_, err := gone.getMore(bson.E{"maxTimeMS", 60_000})
		done <- err
	}()
	waitPinned(t, c, done)
	if err := c.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !hasCode(err, 175) {
		t.Errorf("a cursor on a dropped collection: %v", err)
	}
	// A tailable cursor on an empty collection has no position, so it is closed at once.
	for _, name := range []string{"topic", "empty"} {
		if name == "empty" {
			mustRun(t, c, bson.D{{"create", name}, {"capped", true}, {"size", 1000}})
		}
		raw := mustRun(t, c, bson.D{{"find", name}, tailable})
		if id := raw.Lookup("cursor", "id").Int64(); id != 0 {
			t.Errorf("%s: a cursor that stays open", name)
		}
	}
}

func TestAwaitData(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 100)
	x := newTail(t, c, bson.E{"awaitData", true}, bson.E{"filter", bson.D{{"even", true}}})
	start := time.Now()
	x.want("[]", bson.E{"maxTimeMS", 50})
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("waited for %v", d)
	}
	// An insert that does not match the filter does not end the wait.
	go func() {
		time.Sleep(20 * time.Millisecond)
		publish(t, c, 3)
		time.Sleep(20 * time.Millisecond)
		publish(t, c, 4, 5, 6)
	}()
	ids, err := x.getMore(bson.E{"maxTimeMS", 60_000})
	if err != nil || len(ids) == 0 || ids[0] != 4 {
		t.Errorf("got %v, %v", ids, err)
	}
}

// waitPinned waits until a getMore runs. done receives the result of the getMore.
func waitPinned(t *testing.T, c *mongo.Collection, done <-chan error) {
	t.Helper()
	for t.Context().Err() == nil {
		select {
		case err := <-done:
			t.Fatalf("the getMore did not wait: %v", err)
		default:
		}
		status := mustRun(t, c, bson.D{{"serverStatus", 1}})
		if status.Lookup("metrics", "cursor", "open", "pinned").Int64() > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestAwaitDataIsKilled(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 100)
	x := newTail(t, c, bson.E{"awaitData", true})
	done := make(chan error)
	go func() {
		_, err := x.getMore(bson.E{"maxTimeMS", 60_000})
		done <- err
	}()
	waitPinned(t, c, done)
	mustRun(t, c, bson.D{{"killCursors", "topic"}, {"cursors", bson.A{x.id}}})
	if err := <-done; !hasCode(err, 237) {
		t.Errorf("got %v", err)
	}
}

// TestManySubscribers checks that every waiting cursor gets every message, in order.
func TestManySubscribers(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 10_000)
	const subscribers, messages = 50, 40
	var ready, done sync.WaitGroup
	for range subscribers {
		ready.Add(1)
		done.Go(func() {
			x, err := c.Find(t.Context(), bson.D{{"_id", bson.D{{"$gte", 100}}}},
				options.Find().SetCursorType(options.TailableAwait).SetMaxAwaitTime(time.Minute))
			ready.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = x.Close(context.Background()) }()
			for i := range messages {
				if !x.Next(t.Context()) {
					t.Errorf("the cursor ended: %v", x.Err())
					return
				}
				if id := x.Current.Lookup("_id").Int32(); id != int32(100+i) {
					t.Errorf("got message %d, want %d", id, 100+i)
					return
				}
			}
		})
	}
	ready.Wait()
	for i := range messages {
		publish(t, c, 100+i)
	}
	done.Wait()
}

func TestCappedCommands(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 3)
	if _, err := c.UpdateByID(t.Context(), 1, bson.D{{"$set", bson.D{{"longer", "text"}}}}); err != nil {
		t.Error(err)
	}
	if r, err := c.DeleteOne(t.Context(), bson.D{{"_id", 0}}); err != nil || r.DeletedCount != 1 {
		t.Errorf("delete: %v, %v", r, err)
	}
	stats := mustRun(t, c, bson.D{{"collStats", "topic"}})
	if !stats.Lookup("capped").Boolean() || stats.Lookup("max").Int32() != 3 ||
		stats.Lookup("maxSize").Int32() != 1<<20 {
		t.Errorf("collStats: %s", stats)
	}
	mustRun(t, c, bson.D{{"collMod", "topic"}, {"cappedMax", 1}, {"cappedSize", 5000}})
	publish(t, c, 7)
	if n, err := c.CountDocuments(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Errorf("%d documents after cappedMax: 1, %v", n, err)
	}
	if _, err := run(t, c, bson.D{{"dropIndexes", "topic"}, {"index", "_id_"}}); !hasCode(err, 72) {
		t.Errorf("drop of the _id index: %v", err)
	}
	mustRun(t, c, bson.D{{"dropIndexes", "topic"}, {"index", "*"}})
	if _, err := c.InsertOne(t.Context(), bson.D{{"_id", 7}}); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a duplicate _id: %v", err)
	}
	valid := mustRun(t, c, bson.D{{"validate", "topic"}})
	if !valid.Lookup("valid").Boolean() {
		t.Errorf("validate: %s", valid)
	}
}

func TestConvertToCapped(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	c := db.Collection("plain")
	publish(t, c, 2, 1, 0)
	if _, err := run(t, c, bson.D{{"collMod", "plain"}, {"cappedMax", 1}}); !hasCode(err, 72) {
		t.Errorf("cappedMax of an ordinary collection: %v", err)
	}
	mustRun(t, c, bson.D{{"cloneCollectionAsCapped", "plain"}, {"toCollection", "copy"}, {"size", 4096}})
	mustRun(t, c, bson.D{{"convertToCapped", "plain"}, {"size", 4096}})
	for _, name := range []string{"plain", "copy"} {
		specs, err := db.ListCollectionSpecifications(t.Context(), bson.D{{"name", name}})
		if err != nil || len(specs) != 1 || !specs[0].Options.Lookup("capped").Boolean() {
			t.Fatalf("%s: %v, %v", name, specs, err)
		}
		publish(t, db.Collection(name), 3)
		x := newTail(t, db.Collection(name))
		publish(t, db.Collection(name), -1)
		x.want("[-1]")
	}
	for _, cmd := range []bson.D{
		{{"convertToCapped", "none"}, {"size", 4096}},
		{{"cloneCollectionAsCapped", "none"}, {"toCollection", "other"}, {"size", 4096}},
	} {
		if _, err := run(t, c, cmd); !hasCode(err, 26) {
			t.Errorf("%v: %v", cmd, err)
		}
	}
}
