package concurrencytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestQueue has producers that add jobs and consumers that take them with findAndModify, by
// priority, with and without an index. No job may be taken twice or lost.
func TestQueue(t *testing.T) {
	t.Parallel()
	for _, indexed := range []bool{true, false} {
		t.Run(fmt.Sprint("indexed=", indexed), func(t *testing.T) {
			t.Parallel()
			onEachEngine(t, func(t *testing.T, db *mongo.Database) { testQueue(t, db.Collection("jobs"), indexed) })
		})
	}
}

func testQueue(t *testing.T, c *mongo.Collection, indexed bool) {
	if indexed {
		if _, err := c.Indexes().
			CreateOne(t.Context(), mongo.IndexModel{Keys: doc("state", 1, "priority", -1)}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	taken, removed, added := map[int32]int{}, map[int32]int{}, 0
	together(t, clients, func(ctx context.Context, client int, rng *rand.Rand) {
		if client < 2 {
			mu.Lock()
			id, open := added, added-len(taken)
			added++
			mu.Unlock()
			if _, err := c.InsertOne(ctx, doc("_id", id, "state", "new", "priority", rng.IntN(5))); err != nil {
				t.Error(err)
			}
			if open > 50 {
				take(ctx, t, c, client, &mu, taken) // the queue stays short
			}
			return
		}
		if job, ok := take(ctx, t, c, client, &mu, taken); ok {
			finish(ctx, t, c, job, client, &mu, removed)
		}
	})
	for len(taken) < added {
		if _, ok := take(t.Context(), t, c, 0, &mu, taken); !ok {
			break
		}
	}
	for id := range int32(added) {
		if taken[id] != 1 {
			t.Errorf("job %d was taken %d times", id, taken[id])
		}
		if removed[id] > 1 {
			t.Errorf("job %d was removed %d times", id, removed[id])
		}
	}
	t.Logf("%d jobs", added)
	validate(t, c)
}

func take(ctx context.Context, t *testing.T, c *mongo.Collection, client int, mu *sync.Mutex,
	taken map[int32]int,
) (int32, bool) {
	job, err := c.FindOneAndUpdate(ctx, doc("state", "new"), doc("$set", doc("state", "taken", "by", client)),
		options.FindOneAndUpdate().SetSort(doc("priority", -1)).SetReturnDocument(options.After)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, false
	}
	if err != nil {
		t.Error(err)
		return 0, false
	}
	mu.Lock()
	defer mu.Unlock()
	id := job.Lookup("_id").Int32()
	taken[id]++
	if by := job.Lookup("by").Int32(); by != int32(client) {
		t.Errorf("client %d was given a job of %d", client, by)
	}
	return id, true
}

// finish removes one of the jobs that the client has taken. For an even id it may remove another
// job than the one with the id.
func finish(ctx context.Context, t *testing.T, c *mongo.Collection, id int32, client int,
	mu *sync.Mutex, removed map[int32]int,
) {
	filter := doc("_id", id)
	if id%2 == 0 {
		filter = doc("state", "taken", "by", client)
	}
	job, err := c.FindOneAndDelete(ctx, filter).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) && id%2 == 1 {
		return // a call with an even id has removed this job
	}
	if err != nil {
		t.Error(err)
		return
	}
	mu.Lock()
	defer mu.Unlock()
	removed[job.Lookup("_id").Int32()]++
}

// TestFindIsASnapshot moves documents between two values of an indexed field while other clients
// read by the field.
func TestFindIsASnapshot(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c := db.Collection("c")
		const n = 60
		var docs []bson.D
		for i := range n {
			docs = append(docs, doc("_id", i, "v", 1, "w", 10, "tags", bson.A{1, 11}))
		}
		if _, err := c.InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		for _, key := range []bson.D{doc("v", 1), doc("w", 1, "v", -1), doc("tags", 1)} {
			if _, err := c.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: key}); err != nil {
				t.Fatal(err)
			}
		}
		together(t, clients, func(ctx context.Context, client int, rng *rand.Rand) {
			v := rng.IntN(3)
			if client < 4 {
				set := doc("$set", doc("v", v, "w", v*10, "tags", bson.A{v, v + 10}))
				var err error
				if rng.IntN(10) == 0 {
					_, err = c.UpdateMany(ctx, doc("v", rng.IntN(3)), set)
				} else {
					_, err = c.UpdateOne(ctx, doc("_id", rng.IntN(n)), set)
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
			readSnapshot(ctx, t, c, rng, v, n)
		})
		validate(t, c)
	})
}

// readSnapshot reads the documents with one value of the indexed field, or all documents by all
// values.
func readSnapshot(ctx context.Context, t *testing.T, c *mongo.Collection, rng *rand.Rand, v, n int) {
	some := []bson.D{
		doc("v", v), doc("w", v*10, "v", v), doc("tags", v), doc("tags", v+10),
		doc("$or", bson.A{doc("v", v), doc("tags", v)}),
	}
	every := []bson.D{
		doc("v", doc("$in", bson.A{0, 1, 2})), doc("w", doc("$gte", 0)), doc("tags", doc("$lt", 100)),
		doc("$or", bson.A{doc("v", 0), doc("tags", 1), doc("w", 20)}), doc("v", doc("$gte", 0), "w", doc("$lte", 20)),
	}
	filter, whole := some[rng.IntN(len(some))], rng.IntN(2) == 0
	if whole {
		filter = every[rng.IntN(len(every))]
	}
	got := all(ctx, t, c, filter)
	seen := map[int32]bool{}
	for _, d := range got {
		id := d.Lookup("_id").Int32()
		if seen[id] {
			t.Errorf("%v gave document %d twice", filter, id)
		}
		seen[id] = true
		if value := d.Lookup("v").AsInt64(); !whole && value != int64(v) {
			t.Errorf("%v gave %s", filter, d)
		}
		if value := d.Lookup("v").AsInt64(); d.Lookup("w").AsInt64() != 10*value ||
			d.Lookup("tags", "0").AsInt64() != value {
			t.Errorf("half an update is seen: %s", d)
		}
	}
	if whole && len(got) != n {
		t.Errorf("%v gave %d of %d documents", filter, len(got), n)
	}
	count, err := c.CountDocuments(ctx, every[rng.IntN(len(every))])
	if err != nil || count != int64(n) {
		t.Errorf("count %d of %d documents: %v", count, n, err)
	}
}
