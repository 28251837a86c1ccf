package command_test

import (
	"slices"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestParallelAggregate checks that several goroutines group a large collection with the same
// result as one goroutine. Several clients do so concurrently, in memory and with temporary files.
// The race detector finds unsafe sharing between the goroutines.
func TestParallelAggregate(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	client := openWithTestCommands(t)
	db := client.Database("d")
	const orders = 20_000
	batch := make([]bson.D, 0, 1000)
	for i := range orders {
		batch = append(batch, bson.D{
			{"_id", i},
			{"customer", i * 7919 % 500},
			{"total", float64(i%1000) / 4},
			{"items", bson.A{bson.D{{"sku", i % 31}}, bson.D{{"sku", i % 17}}}},
		})
		if len(batch) == cap(batch) {
			if _, err := db.Collection("orders").InsertMany(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	for i := range 500 {
		if _, err := db.Collection("customers").
			InsertOne(t.Context(), bson.D{{"_id", i}, {"n", i}, {"country", i % 25}}); err != nil {
			t.Fatal(err)
		}
	}
	pipelines := torture.Some([]string{
		`[{"$group": {"_id": "$customer", "n": {"$sum": 1}, "total": {"$sum": "$total"}, "max": {"$max": "$total"}}}]`,
		`[{"$match": {"total": {"$gt": 20}}}, {"$unwind": "$items"}, {"$group": {"_id": "$items.sku", "avg": {"$avg": "$total"}}}]`,
		`[{"$lookup": {"from": "customers", "localField": "customer", "foreignField": "_id", "as": "c"}}, {"$unwind": "$c"}, {"$group": {"_id": "$c.country", "n": {"$sum": 1}}}]`,
		`[{"$lookup": {"from": "customers", "localField": "customer", "foreignField": "n", "as": "c"}}, {"$unwind": "$c"}, {"$match": {"c.country": {"$lt": 5}}}, {"$group": {"_id": "$c.country", "n": {"$sum": 1}}}]`,
		`[{"$match": {"items.sku": {"$gt": 10}}}, {"$group": {"_id": "$customer", "n": {"$sum": 1}}}]`,
		`[{"$match": {"items.sku": {"$gt": 10}}}, {"$group": {"_id": {"$add": ["$customer", "$total"]}, "n": {"$sum": 1}}}]`,
		`[{"$project": {"k": {"$concat": [{"$toString": "$customer"}, "/", {"$toString": {"$mod": ["$_id", 3]}}]}}}, {"$group": {"_id": "$k", "n": {"$sum": 1}}}]`,
	}, 2)
	if _, err := db.Collection("orders").Indexes().
		CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{"items.sku", 1}}}); err != nil {
		t.Fatal(err)
	}
	want := answers(t, client, pipelines, "alwaysOn")
	if slices.Contains(want, "") {
		t.Fatal("a pipeline gives nothing")
	}
	for _, budget := range []int{100 << 20, 20_000} {
		set := bson.D{{"setParameter", 1}, {"internalDocumentSourceGroupMaxMemoryBytes", budget}}
		if err := client.Database("admin").RunCommand(t.Context(), set).Err(); err != nil {
			t.Fatal(err)
		}
		check := func() {
			for i, got := range answers(t, client, pipelines, "off") {
				if got != want[i] {
					t.Errorf("%s with %d bytes:\n%.300s\nby one goroutine:\n%.300s", pipelines[i], budget, got, want[i])
				}
			}
		}
		check() // while no other client runs
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(check)
		}
		wg.Wait()
	}
}

// answers runs pipelines and returns the sorted documents of each. mode is the mode of the fail
// point that turns the optimiser off.
func answers(t *testing.T, client *mongo.Client, pipelines []string, mode string) []string {
	t.Helper()
	fail := bson.D{{"configureFailPoint", "disablePipelineOptimization"}, {"mode", mode}}
	if err := client.Database("admin").RunCommand(t.Context(), fail).Err(); err != nil {
		t.Error(err)
	}
	var all []string
	for _, text := range pipelines {
		cur, err := client.Database("d").Collection("orders").Aggregate(t.Context(), bsonxtest.ParseA(t, text))
		if err != nil {
			t.Error(text, err)
			return nil
		}
		var docs []bson.Raw
		if err := cur.All(t.Context(), &docs); err != nil {
			t.Error(text, err)
		}
		slices.SortFunc(docs, func(a, b bson.Raw) int { return slices.Compare(a, b) })
		out := ""
		for _, d := range docs {
			out += d.String() + "\n"
		}
		all = append(all, out)
	}
	return all
}
