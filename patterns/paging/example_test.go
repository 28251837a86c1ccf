package paging_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/paging"
)

// Post is a reply in a thread.
type Post struct {
	ID     int    `bson:"_id"`
	Thread int    `bson:"thread"`
	Date   int    `bson:"date"`
	Text   string `bson:"text"`
}

// The program shows the pages of a thread, oldest posts first. Two posts have the same date.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("album")

	posts := []Post{{1, 7, 1, "first"}, {2, 7, 2, "second"}, {3, 7, 2, "third"}, {4, 8, 2, "elsewhere"}}
	if _, err := db.Collection("posts").InsertMany(ctx, posts); err != nil {
		log.Fatal(err)
	}
	pages, err := paging.New[Post](db, paging.Config{
		Collection: "posts", Equal: bson.D{{"thread", 7}}, Sort: bson.D{{"date", 1}}, Size: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	page, err := pages.First(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Items[0].Text, page.Items[1].Text)
	page, err = pages.After(ctx, page.Next) // Next is nil after the last page
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Items[0].Text, page.Next)
	// Output:
	// first second
	// third <nil>
}

// A web server sends cursors as text, in the links to newer and older posts. A client sends the
// text of one of the links back.
func ExamplePager_Parse() {
	ctx := context.Background()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	album := db.Client().Database("album")
	if _, err := album.Collection("posts").
		InsertMany(ctx, []Post{{1, 7, 1, "first"}, {2, 7, 2, "second"}, {3, 7, 3, "third"}}); err != nil {
		log.Fatal(err)
	}
	pages, err := paging.New[Post](album, paging.Config{Collection: "posts", Sort: bson.D{{"date", -1}}, Size: 1})
	if err != nil {
		log.Fatal(err)
	}
	oldest, err := pages.Last(ctx)
	if err != nil {
		log.Fatal(err)
	}
	// The text goes to the client and comes back.
	link := oldest.Prev.String()

	place, err := pages.Parse(link)
	if err != nil {
		log.Fatal(err)
	}
	newer, err := pages.Before(ctx, place)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(oldest.Items[0].Text, newer.Items[0].Text)
	_, err = pages.Parse("page=17")
	fmt.Println(errors.Is(err, paging.ErrCursor))
	// Output:
	// first second
	// true
}
