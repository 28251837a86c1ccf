package metadata_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/metadata"
)

// Pictures are found by the attributes that their cameras stored.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("pictures")

	for i := range 3 {
		if _, err := db.Collection("objects").InsertOne(ctx, bson.D{{"_id", i}}); err != nil {
			log.Fatal(err)
		}
	}

	meta, err := metadata.New(db, metadata.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := meta.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	for i, camera := range []string{"Canon", "Canon", "Leica"} {
		err := errors.Join(meta.Set(ctx, i, "camera", camera), meta.Set(ctx, i, "aperture", 2.8+float64(i)))
		if err != nil {
			log.Fatal(err)
		}
	}
	cur, err := meta.Find(ctx, metadata.Equal("camera", "Canon"), metadata.Between("aperture", 3, nil))
	if err != nil {
		log.Fatal(err)
	}
	var found []struct {
		ID int `bson:"_id"`
	}
	if err := cur.All(ctx, &found); err != nil {
		log.Fatal(err)
	}
	facets, err := meta.Facets(ctx, []string{"camera"}, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found, facets["camera"])
	// Output: [{1}] [{Canon 2} {Leica 1}]
}
