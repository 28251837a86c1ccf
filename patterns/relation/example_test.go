package relation_test

import (
	"context"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/relation"
)

// Authors and books refer to each other.
func ExampleRelations_Link() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("library")

	if _, err := db.Collection("authors").InsertOne(ctx, bson.D{{"_id", "ada"}}); err != nil {
		log.Fatal(err)
	}
	notes := bson.D{{"_id", "notes"}, {"title", "Notes by the Translator"}}
	if _, err := db.Collection("books").InsertOne(ctx, notes); err != nil {
		log.Fatal(err)
	}
	r, err := relation.New(db, relation.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Link(ctx, "ada", "notes"); err != nil {
		log.Fatal(err)
	}
	var books []struct{ Title string }
	if err := r.Rights(ctx, "ada", &books); err != nil {
		log.Fatal(err)
	}
	fmt.Println(books)
	violations, err := r.Check(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(violations)
	// Output:
	// [{Notes by the Translator}]
	// []
}

// The authors of many comments are read with one query.
func ExampleLoader() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	type user struct {
		ID   string `bson:"_id"`
		City string
	}
	ctx, users := context.Background(), db.Client().Database("blog").Collection("users")
	if _, err := users.InsertMany(ctx, []user{{"ada", "London"}, {"carl", "Göttingen"}}); err != nil {
		log.Fatal(err)
	}
	loader := relation.NewLoader(users, func(u user) string { return u.ID })
	found, err := loader.Many(ctx, "carl", "ada", "carl", "nobody")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found[0].City, found[1].City, found[2].City, found[3])
	// Output: Göttingen London Göttingen <nil>
}

// The comments of a post are stored in pages.
func ExampleBucketed() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	comments, err := relation.NewBuckets(db.Client().Database("blog"), relation.BucketConfig{Size: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"first", "second", "third"} {
		page, err := comments.Add(ctx, "post-1", text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text, "is on page", page)
	}
	var page []string
	if err := comments.Page(ctx, "post-1", 1, &page); err != nil {
		log.Fatal(err)
	}
	fmt.Println(page)
	// Output:
	// first is on page 1
	// second is on page 1
	// third is on page 2
	// [first second]
}

// How should comments be stored? They grow with the post and are read by pages.
func ExampleAdvise() {
	fmt.Println(relation.Advise(relation.Shape{Parents: 1, Children: 10_000, Grows: true}))
	fmt.Println(relation.Advise(relation.Shape{Parents: 3, Children: 500_000}))
	// Output:
	// buckets the parent stays small, and a page is one read
	// one-way only the side with few can have a list
}

// Check finds a user without an address: the process died between the two inserts.
func ExampleOneToOne() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("people")
	pairs, err := relation.NewOneToOne(db, relation.OneToOneConfig{Owners: "users", Parts: "addresses", Ref: "user_id"})
	if err != nil {
		log.Fatal(err)
	}
	if err := pairs.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	users, addresses := db.Collection("users"), db.Collection("addresses")
	for _, id := range []string{"ann", "joe"} {
		if _, err := users.InsertOne(ctx, bson.D{{"_id", id}}); err != nil {
			log.Fatal(err)
		}
	}
	for range 2 {
		_, err := addresses.InsertOne(ctx, bson.D{{"user_id", "ann"}, {"city", "Nevermore"}})
		fmt.Println("a second address:", mongo.IsDuplicateKeyError(err))
	}
	violations, err := pairs.Check(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(violations)
	// Output:
	// a second address: false
	// a second address: true
	// [a document has exactly one partner: users "joe": in addresses it has []]
}
