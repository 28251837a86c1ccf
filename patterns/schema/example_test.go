package schema_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/schema"
)

func open() (db *mongo.Database, done func()) {
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	return store.Client().Database("shop"), func() { _ = store.Close() }
}

// Old documents can be read in the new structure at once, and are migrated in the background.
func Example() {
	ctx := context.Background()
	db, done := open()
	defer done()
	if _, err := db.Collection("products").InsertOne(ctx, bson.D{{"_id", 7}, {"name", "Blue Train"}}); err != nil {
		log.Fatal(err)
	}
	products, err := schema.New(db, schema.Config{Collection: "products", Steps: []schema.Step{
		schema.Rename("name", "title"),
		schema.Default("stock", 0),
	}})
	if err != nil {
		log.Fatal(err)
	}
	if err := products.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	var p struct {
		Title string
		Stock int
	}
	if err := products.Get(ctx, 7, &p); err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Title, p.Stock)
	res, err := products.Migrate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("migrated:", res.Migrated)
	doc, err := db.Collection("products").FindOne(ctx, bson.D{}).Raw()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(doc)
	// Output:
	// Blue Train 0
	// migrated: 1
	// {"_id": {"$numberInt":"7"},"title": "Blue Train","stock": {"$numberInt":"0"},"schema": {"$numberInt":"2"}}
}

// A job corrects copies of authors' names. A program that a timer starts calls RunDue; a server
// calls Run.
func ExampleJobs() {
	ctx := context.Background()
	db, done := open()
	defer done()
	for coll, doc := range map[string]bson.D{
		"users": {{"_id", "ann"}, {"name", "Ann Lee"}},
		"posts": {{"_id", 1}, {"author", "ann"}, {"authorName", "Ann Smith"}},
	} {
		if _, err := db.Collection(coll).InsertOne(ctx, doc); err != nil {
			log.Fatal(err)
		}
	}
	jobs, err := schema.NewJobs(db, schema.JobsConfig{
		Jobs: []schema.Job{{
			Name:  "names of authors",
			Every: time.Hour,
			Task: schema.Copies{
				From: "users", Into: "posts", Ref: "author",
				Fields: map[string]string{"name": "authorName"},
			},
		}},
		Notify: func(_ context.Context, job string, r schema.Report) { fmt.Println(job+":", r.Changed, "changed") },
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second time, an hour has not passed yet
		n, err := jobs.RunDue(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("jobs run:", n)
	}
	// Output:
	// names of authors: 1 changed
	// jobs run: 1
	// jobs run: 0
}

// Field names are long in the program and short in the database.
func ExampleNames() {
	names, err := schema.NewNames(map[string]string{"title": "t", "pricing": "p", "pricing.list": "l"})
	if err != nil {
		log.Fatal(err)
	}
	filter, err := names.Shorten(bson.D{{"pricing.list", bson.D{{"$lt", 1200}}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filter)
	doc, err := names.Lengthen(bson.D{{"t", "Blue Train"}, {"p", bson.D{{"l", 1100}}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(doc)
	// Output:
	// {"p.l":{"$lt":{"$numberInt":"1200"}}}
	// {"title":"Blue Train","pricing":{"list":{"$numberInt":"1100"}}}
}
