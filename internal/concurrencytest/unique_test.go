package concurrencytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func unique(t *testing.T, c *mongo.Collection, key bson.D) {
	t.Helper()
	_, err := c.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: key, Options: options.Index().SetUnique(true)})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUniqueIndex has clients that insert, update and delete documents. The unique field has few
// different values, as scalars and in arrays.
func TestUniqueIndex(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c := db.Collection("c")
		unique(t, c, doc("u", 1))
		var refused, done atomic.Int64
		together(t, clients, func(ctx context.Context, _ int, rng *rand.Rand) {
			var value any = rng.IntN(12)
			if rng.IntN(3) == 0 {
				value = bson.A{rng.IntN(12), rng.IntN(12)}
			}
			id := doc("_id", rng.IntN(16))
			var err error
			switch rng.IntN(5) {
			case 0:
				_, err = c.InsertOne(ctx, append(id, bson.E{"u", value}))
			case 1:
				_, err = c.UpdateOne(ctx, id, doc("$set", doc("u", value)))
			case 2:
				_, err = c.UpdateOne(ctx, id, doc("$set", doc("u", value)), options.UpdateOne().SetUpsert(true))
			case 3:
				_, err = c.InsertMany(ctx, []bson.D{doc("u", rng.IntN(12)), doc("u", rng.IntN(12)), doc("u", value)},
					options.InsertMany().SetOrdered(false))
			default:
				_, err = c.DeleteOne(ctx, doc("u", rng.IntN(12)))
			}
			switch {
			case err == nil:
				done.Add(1)
			case mongo.IsDuplicateKeyError(err):
				refused.Add(1)
			default:
				t.Error(err)
			}
			checkDistinct(t, all(ctx, t, c, bson.D{}))
		})
		t.Logf("%d done, %d refused", done.Load(), refused.Load())
		if done.Load() == 0 || refused.Load() == 0 {
			t.Error("the test did not do what it is for")
		}
		validate(t, c)
	})
}

// checkDistinct looks for two documents with a common value of u.
func checkDistinct(t *testing.T, docs []bson.Raw) {
	owner := map[int32]bson.Raw{}
	for _, d := range docs {
		values := []bson.RawValue{d.Lookup("u")}
		if array, ok := values[0].ArrayOK(); ok {
			values, _ = array.Values()
		}
		for _, v := range values {
			n := v.Int32()
			if other := owner[n]; other != nil && string(other) != string(d) {
				t.Errorf("two documents have %d: %s and %s", n, other, d)
			}
			owner[n] = d
		}
	}
}

// TestUpsertsOfOneKey has clients that upsert a few keys. Each key must get one document, and no
// addition may be lost.
func TestUpsertsOfOneKey(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"_id", "k"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			onEachEngine(t, func(t *testing.T, db *mongo.Database) {
				c := db.Collection("c")
				if field != "_id" {
					unique(t, c, doc(field, 1))
				}
				var added [8]atomic.Int64
				var inserted atomic.Int64
				together(t, clients, func(ctx context.Context, _ int, rng *rand.Rand) {
					key := rng.IntN(len(added))
					filter, inc := doc(field, key), doc("$inc", doc("n", int64(1)))
					switch rng.IntN(8) {
					case 0:
						// Deleting a document also takes away the sum of its additions.
						var old struct{ N int64 }
						err := c.FindOneAndDelete(ctx, filter).Decode(&old)
						if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
							t.Error(err)
						}
						added[key].Add(-old.N)
						return
					case 1:
						err := c.FindOneAndUpdate(ctx, filter, inc, options.FindOneAndUpdate().SetUpsert(true)).Err()
						if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
							t.Error(err)
						}
					default:
						res, err := c.UpdateOne(ctx, filter, inc, options.UpdateOne().SetUpsert(true))
						if err != nil {
							t.Error(err)
							return
						}
						inserted.Add(res.UpsertedCount)
					}
					added[key].Add(1)
				})
				for key := range added {
					docs := all(t.Context(), t, c, doc(field, key))
					if want := added[key].Load(); len(docs) > 1 || len(docs) == 0 && want != 0 ||
						len(docs) == 1 && docs[0].Lookup("n").Int64() != want {
						t.Errorf("key %d: %d was added, found %v", key, want, docs)
					}
				}
				t.Logf("%d inserted", inserted.Load())
				validate(t, c)
			})
		})
	}
}

// TestUniqueBuildsBesideEachOther has clients that create the same unique index at the same time.
// After the reply each client can rely on the index.
func TestUniqueBuildsBesideEachOther(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		round := 0
		together(t, 1, func(ctx context.Context, _ int, _ *rand.Rand) {
			round++
			c := db.Collection(fmt.Sprint("c", round))
			var docs []bson.D
			for i := range 1000 {
				docs = append(docs, doc("_id", i, "u", i))
			}
			if _, err := c.InsertMany(ctx, docs); err != nil {
				t.Fatal(err)
			}
			errs := make(chan error, 3)
			for i := range cap(errs) {
				go func() {
					_, err := c.Indexes().CreateOne(ctx,
						mongo.IndexModel{Keys: doc("u", 1), Options: options.Index().SetUnique(true)})
					if err == nil {
						_, err = c.InsertOne(ctx, doc("_id", fmt.Sprint("late", i), "u", 999))
						if mongo.IsDuplicateKeyError(err) {
							err = nil
						} else {
							err = fmt.Errorf("a duplicate after the index was acknowledged: %w",
								errors.Join(err, ctx.Err()))
						}
					}
					errs <- err
				}()
			}
			for range cap(errs) {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
	})
}
