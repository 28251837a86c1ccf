package slicecache_test

import (
	"context"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/slicecache"
)

// A post shows its two latest comments.
func ExampleLatest() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("blog")

	if _, err := db.Collection("posts").InsertOne(ctx, bson.D{{"_id", 7}, {"title", "Slices"}}); err != nil {
		log.Fatal(err)
	}
	comments, err := slicecache.NewLatest(db, slicecache.LatestConfig[string]{Max: 2})
	if err != nil {
		log.Fatal(err)
	}
	if err := comments.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	for i, text := range []string{"first", "second", "third"} {
		if err := comments.Add(ctx, 7, &slicecache.Item[string]{ID: i, Body: text}); err != nil {
			log.Fatal(err)
		}
	}
	if err := comments.Delete(ctx, 2); err != nil {
		log.Fatal(err)
	}
	latest, err := comments.Show(ctx, 7)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range latest {
		fmt.Println(c.Body)
	}
	// Output:
	// second
	// first
}

// A page is rendered once, and again after its content has changed.
func ExampleCache() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	pages, err := slicecache.NewCache[string](db.Client().Database("site"), slicecache.CacheConfig{})
	if err != nil {
		log.Fatal(err)
	}
	if err := pages.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	render := func(context.Context) (string, []string, error) {
		fmt.Println("rendering")
		return "<h1>News</h1>", []string{"news"}, nil
	}
	for i := range 4 {
		page, err := pages.Get(ctx, "front", render)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(page)
		if i == 1 {
			if err := pages.DeleteTag(ctx, "news"); err != nil {
				log.Fatal(err)
			}
		}
	}
	// Output:
	// rendering
	// <h1>News</h1>
	// <h1>News</h1>
	// rendering
	// <h1>News</h1>
	// <h1>News</h1>
}
