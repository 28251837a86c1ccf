package sheaf_test

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

// openShop returns a database in memory with a few orders and customers, and a function that closes
// it.
func openShop() (shop *mongo.Database, closeShop func()) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	check(err)
	shop = db.Client().Database("shop")
	day := func(month time.Month, day int) time.Time { return time.Date(2024, month, day, 0, 0, 0, 0, time.UTC) }
	_, err = shop.Collection("orders").InsertMany(context.Background(), []any{
		bson.M{"_id": 1, "customer": "ada", "at": day(1, 5), "total": 34},
		bson.M{"_id": 2, "customer": "grace", "at": day(1, 9), "total": 59},
		bson.M{"_id": 3, "customer": "ada", "at": day(2, 2), "total": 20},
		bson.M{"_id": 4, "customer": "ada", "at": day(2, 29), "total": 12},
	})
	check(err)
	_, err = shop.Collection("customers").InsertMany(context.Background(), []any{
		bson.M{"_id": "ada", "city": "London"}, bson.M{"_id": "grace", "city": "New York"},
	})
	check(err)
	return shop, func() { check(db.Close()) }
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// show prints the documents of a cursor as JSON.
func show(cursor *mongo.Cursor, err error) {
	check(err)
	var docs []bson.D
	check(cursor.All(context.Background(), &docs))
	for _, doc := range docs {
		fmt.Println(doc)
	}
}

// A pipeline is an array of stages, as in any MongoDB.
func Example_aggregate() {
	shop, closeShop := openShop()
	defer closeShop()

	cursor, err := shop.Collection("orders").Aggregate(context.Background(), []bson.M{
		{"$match": bson.M{"total": bson.M{"$gte": 20}}},
		{"$group": bson.M{"_id": "$customer", "spent": bson.M{"$sum": "$total"}}},
		{"$sort": bson.M{"spent": -1}},
	})
	check(err)
	var spent []struct {
		Customer string `bson:"_id"`
		Spent    int
	}
	check(cursor.All(context.Background(), &spent))
	fmt.Println(spent)
	// Output: [{grace 59} {ada 54}]
}

// $lookup joins collections.
func Example_aggregateLookup() {
	shop, closeShop := openShop()
	defer closeShop()

	show(shop.Collection("orders").Aggregate(context.Background(), []bson.M{
		{"$match": bson.M{"_id": bson.M{"$lte": 2}}},
		{"$lookup": bson.M{"from": "customers", "localField": "customer", "foreignField": "_id", "as": "customer"}},
		{"$unwind": "$customer"},
		{"$project": bson.M{"city": "$customer.city"}},
		{"$sort": bson.M{"_id": 1}},
	}))
	// Output:
	// {"_id":{"$numberInt":"1"},"city":"London"}
	// {"_id":{"$numberInt":"2"},"city":"New York"}
}

// $setWindowFields computes over neighbouring documents: here a running total for each customer.
func Example_aggregateWindow() {
	shop, closeShop := openShop()
	defer closeShop()

	show(shop.Collection("orders").Aggregate(context.Background(), []bson.M{
		{"$setWindowFields": bson.M{
			"partitionBy": "$customer", "sortBy": bson.M{"at": 1},
			"output": bson.M{"running": bson.M{
				"$sum":   "$total",
				"window": bson.M{"documents": bson.A{"unbounded", "current"}},
			}},
		}},
		{"$match": bson.M{"customer": "ada"}},
		{"$project": bson.M{"_id": 0, "running": 1}},
	}))
	// Output:
	// {"running":{"$numberInt":"34"}}
	// {"running":{"$numberInt":"54"}}
	// {"running":{"$numberInt":"66"}}
}

// A view is a pipeline with a name. It is read like a collection.
func Example_view() {
	shop, closeShop := openShop()
	defer closeShop()

	check(shop.CreateView(context.Background(), "months", "orders", []bson.M{
		{"$group": bson.M{
			"_id":   bson.M{"$dateToString": bson.M{"date": "$at", "format": "%Y-%m"}},
			"total": bson.M{"$sum": "$total"},
		}},
	}))
	var month struct{ Total int }
	check(shop.Collection("months").FindOne(context.Background(), bson.M{"_id": "2024-02"}).Decode(&month))
	fmt.Println(month.Total)
	// Output: 32
}

// An update can be a pipeline, whose expressions can read the document's fields.
func Example_updateWithPipeline() {
	shop, closeShop := openShop()
	defer closeShop()

	result, err := shop.Collection("orders").
		UpdateMany(context.Background(), bson.M{"total": bson.M{"$gt": 30}}, []bson.M{
			{"$set": bson.M{"rebate": bson.M{"$divide": bson.A{"$total", 10}}}},
			{"$set": bson.M{"due": bson.M{"$subtract": bson.A{"$total", "$rebate"}}}},
		})
	check(err)
	var order struct{ Rebate, Due float64 }
	newest := options.FindOne().SetSort(bson.M{"total": -1})
	check(shop.Collection("orders").FindOne(context.Background(), bson.M{}, newest).Decode(&order))
	fmt.Println(result.ModifiedCount, order.Rebate, order.Due)
	// Output: 2 5.9 53.1
}
