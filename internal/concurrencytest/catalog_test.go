package concurrencytest

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mayKill reports whether an error ends a cursor because an index or a collection that it uses was
// dropped.
func mayKill(err error) bool {
	var c mongo.CommandError
	return errors.As(err, &c) && c.HasErrorCode(175)
}

// TestIndexesComeAndGo builds and drops indexes while other clients read, update, delete and insert
// by the indexed field. No result may depend on the existence of the index.
func TestIndexesComeAndGo(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c := db.Collection("c")
		const n = 300
		var docs []bson.D
		for i := range n {
			docs = append(docs, doc("_id", i, "a", 1, "b", i, "n", 0))
		}
		if _, err := c.InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
		rounds := 0
		together(t, clients, func(ctx context.Context, client int, rng *rand.Rand) {
			if client == 0 {
				name, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: doc("a", 1, "b", 1)})
				if err == nil {
					err = c.Indexes().DropOne(ctx, name)
				}
				if err != nil {
					t.Error(err)
				}
				rounds++
				return
			}
			useField(ctx, t, c, rng, n)
		})
		t.Logf("%d indexes", rounds)
		validate(t, c)
	})
}

// useField runs a random operation on all documents that it selects by the field a.
func useField(ctx context.Context, t *testing.T, c *mongo.Collection, rng *rand.Rand, n int) {
	one := doc("a", 1)
	expect := func(what string, got int, err error) {
		if err != nil && !mayKill(err) || err == nil && got != n {
			t.Errorf("%s: %d of %d: %v", what, got, n, err)
		}
	}
	switch rng.IntN(6) {
	case 0, 1:
		var got []bson.Raw
		cursor, err := c.Find(ctx, one, options.Find().SetBatchSize(int32(50+rng.IntN(500))))
		if err == nil {
			err = cursor.All(ctx, &got)
		}
		expect("find", len(got), err)
	case 2:
		got, err := c.CountDocuments(ctx, one)
		expect("count", int(got), err)
		var counted struct{ N int }
		err = c.Database().RunCommand(ctx, doc("count", c.Name(), "query", one)).Decode(&counted)
		expect("count command", counted.N, err)
	case 3:
		var got []int32
		err := c.Distinct(ctx, "b", one).Decode(&got)
		expect("distinct", len(got), err)
	case 4:
		res, err := c.UpdateMany(ctx, one, doc("$inc", doc("n", 1)))
		if err == nil {
			expect("update", int(res.MatchedCount), err)
		} else {
			expect("update", 0, err)
		}
	default:
		err := c.FindOne(ctx, doc("a", 1, "b", rng.IntN(n))).Err()
		if err != nil {
			t.Errorf("find of one: %v", err)
		}
	}
}

// TestRenameIsSeenWhole replaces a collection by another one with renameCollection and dropTarget
// while other clients read it. They must always see either the old or the new one.
func TestRenameIsSeenWhole(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		const n = 40
		generation := 0
		fill := func(ctx context.Context, name string) {
			generation++
			var docs []bson.D
			for i := range n {
				docs = append(docs, doc("_id", i, "a", i, "generation", generation))
			}
			if _, err := db.Collection(name).InsertMany(ctx, docs); err != nil {
				t.Error(err)
			}
			if _, err := db.Collection(name).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: doc("a", 1)}); err != nil {
				t.Error(err)
			}
		}
		fill(t.Context(), "c")
		c := db.Collection("c")
		together(t, clients, func(ctx context.Context, client int, rng *rand.Rand) {
			if client == 0 {
				fill(ctx, "next")
				err := db.Client().Database("admin").
					RunCommand(ctx, doc("renameCollection", "test.next", "to", "test.c", "dropTarget", true)).Err()
				if err != nil {
					t.Error(err)
				}
				return
			}
			readReplaced(ctx, t, c, rng, n)
		})
		t.Logf("%d generations", generation)
		validate(t, c)
	})
}

func readReplaced(ctx context.Context, t *testing.T, c *mongo.Collection, rng *rand.Rand, n int) {
	switch rng.IntN(4) {
	case 0:
		if err := c.FindOne(ctx, doc("_id", rng.IntN(n))).Err(); err != nil {
			t.Errorf("find by _id: %v", err)
		}
	case 1:
		got, err := c.EstimatedDocumentCount(ctx)
		if err != nil || got != int64(n) {
			t.Errorf("count: %d of %d: %v", got, n, err)
		}
	case 2:
		res, err := c.UpdateOne(ctx, doc("_id", rng.IntN(n)), doc("$set", doc("touched", true)))
		if err != nil || res.MatchedCount != 1 {
			t.Errorf("update: %v %v", res, err)
		}
	default:
		filter := bson.D{}
		if rng.IntN(2) == 0 {
			filter = doc("a", doc("$gte", 0))
		}
		got := all(ctx, t, c, filter)
		for _, d := range got {
			if g := got[0].Lookup("generation"); !g.Equal(d.Lookup("generation")) {
				t.Errorf("generations %v and %v in one batch", g, d.Lookup("generation"))
			}
		}
		if len(got) != n {
			t.Errorf("%v: %d of %d documents", filter, len(got), n)
		}
	}
}

// TestInsertsBesideDrops inserts batches while the collection is dropped. The replies must account
// for each document once.
func TestInsertsBesideDrops(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c := db.Collection("c")
		var docs []bson.D
		for range 1100 {
			docs = append(docs, doc("a", 1))
		}
		together(t, 4, func(ctx context.Context, client int, _ *rand.Rand) {
			if client == 0 {
				if err := c.Drop(ctx); err != nil {
					t.Error(err)
				}
				return
			}
			var res struct{ N int }
			err := db.RunCommand(ctx, doc("insert", "c", "documents", docs)).Decode(&res)
			if err != nil || res.N != len(docs) {
				t.Errorf("%d of %d inserted: %v", res.N, len(docs), err)
			}
		})
		if names, err := db.ListCollectionNames(t.Context(), doc("name", "c")); err == nil && len(names) == 1 {
			validate(t, c)
		}
	})
}
