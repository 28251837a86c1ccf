package social_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/social"
)

// A post reaches all followers. A post to a circle reaches only the followers in it.
func Example() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("network")

	n, err := social.New(db, social.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := n.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	for _, follower := range []string{"joe", "sam"} {
		if err := n.Follow(ctx, follower, "ann"); err != nil {
			log.Fatal(err)
		}
	}
	if err := n.SetCircles(ctx, "ann", "joe", "family"); err != nil {
		log.Fatal(err)
	}
	for _, p := range []social.Post{
		{Author: "ann", Text: "Hello, everybody"},
		{Author: "ann", Text: "Dinner at eight", Circles: []string{"family"}},
	} {
		if _, err := n.Post(ctx, p); err != nil {
			log.Fatal(err)
		}
	}
	for _, reader := range []string{"joe", "sam"} {
		items, err := n.Feed(ctx, reader)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(reader, "reads", len(items))
	}
	messages, posts, err := n.Unread(ctx, "joe")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("unread:", messages, posts)
	// Output:
	// joe reads 2
	// sam reads 1
	// unread: 0 2
}

// A message is in the inboxes of all its recipients until its author deletes it.
func ExampleNetwork_Send() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	n, err := social.New(store.Client().Database("network"), social.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := n.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	id, err := n.Send(ctx, social.Message{From: "ann", To: []string{"joe", "sam"}, Text: "See you at eight"})
	if err != nil {
		log.Fatal(err)
	}
	if err := n.MarkRead(ctx, "joe"); err != nil {
		log.Fatal(err)
	}
	for _, reader := range []string{"joe", "sam"} {
		items, err := n.Inbox(ctx, reader)
		if err != nil {
			log.Fatal(err)
		}
		unread, _, err := n.Unread(ctx, reader)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(reader, "has", items[0].Text, "- unread:", unread)
	}
	if err := n.DeleteMessage(ctx, "ann", id); err != nil {
		log.Fatal(err)
	}
	items, err := n.Inbox(ctx, "sam")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("deleted:", len(items))
	// Output:
	// joe has See you at eight - unread: 0
	// sam has See you at eight - unread: 1
	// deleted: 0
}
