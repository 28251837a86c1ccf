package comments_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/comments"
)

// A discussion on a post.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("blog")

	c, err := comments.New(db, comments.Config{Design: comments.Pages})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	on := comments.Target{Kind: "posts", ID: "hello-world"}
	first, err := c.Post(ctx, on, "ada", "First!")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := c.Post(ctx, on, "bob", "Well written."); err != nil {
		log.Fatal(err)
	}
	if _, err := c.Reply(ctx, on, first.ID, "cyd", "Indeed."); err != nil {
		log.Fatal(err)
	}
	if err := c.Delete(ctx, on, first.ID); err != nil {
		log.Fatal(err)
	}
	thread, err := c.Thread(ctx, on, "", comments.Range{Limit: 100})
	if err != nil {
		log.Fatal(err)
	}
	for _, one := range thread {
		text := one.Author + ": " + one.Text
		if one.Deleted {
			text = "(deleted)"
		}
		fmt.Println(strings.Repeat("  ", one.Depth()) + text)
	}
	n, err := c.Count(ctx, on)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	// Output:
	// (deleted)
	//   cyd: Indeed.
	// bob: Well written.
	// 2
}

// A list is read in parts: each part begins after the last comment of the preceding part.
func ExampleComments_Page() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	c, err := comments.New(store.Client().Database("blog"), comments.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	on := comments.Target{Kind: "photos", ID: 7}
	for _, text := range []string{"one", "two", "three", "four", "five"} {
		if _, err := c.Post(ctx, on, "ada", text); err != nil {
			log.Fatal(err)
		}
	}
	part := comments.Range{Limit: 2}
	for {
		page, err := c.Page(ctx, on, part)
		if err != nil {
			log.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		var texts []string
		for _, one := range page {
			texts = append(texts, one.Text)
		}
		fmt.Println(strings.Join(texts, ", "))
		part.After = page[len(page)-1].ID
	}
	// Output:
	// one, two
	// three, four
	// five
}
