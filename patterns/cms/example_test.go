package cms_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/cms"
)

func site() (*cms.CMS, func()) {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	c, err := cms.New(db.Client().Database("site"), cms.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.EnsureIndexes(context.Background()); err != nil {
		log.Fatal(err)
	}
	return c, func() { _ = db.Close() }
}

// Alice and Bob edit the same page.
func ExampleCMS_Edit() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("site")

	c, err := cms.New(db, cms.Config{})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.EnsureIndexes(ctx); err != nil {
		log.Fatal(err)
	}
	page, err := c.Create(ctx, cms.Metadata{
		Kind: cms.Page, Title: "About us", Detail: cms.Detail{Text: "We are two."},
	})
	if err != nil {
		log.Fatal(err)
	}
	alice, bob := page.Metadata, page.Metadata
	alice.Detail.Text = "We are three."
	bob.Title = "About"
	if _, err := c.Edit(ctx, page, alice); err != nil {
		log.Fatal(err)
	}
	_, err = c.Edit(ctx, page, bob)
	var conflict *cms.ConflictError
	if !errors.As(err, &conflict) {
		log.Fatal("Bob has overwritten what Alice wrote: ", err)
	}
	fmt.Println("Bob hears:", conflict.Yours.Metadata.Title, "/", conflict.Theirs.Metadata.Detail.Text)
	merged := conflict.Theirs.Metadata
	merged.Title = conflict.Yours.Metadata.Title
	page, err = c.Edit(ctx, conflict.Theirs, merged)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Metadata.Title, "/", page.Metadata.Detail.Text)
	// Output:
	// Bob hears: About / We are three.
	// About / We are three.
}

// A photo gets a second version, and then the first one back.
func ExampleCMS_Upload() {
	c, end := site()
	defer end()
	ctx := context.Background()
	photo, err := c.Create(ctx, cms.Metadata{Kind: cms.Photo, Title: "Kyoto in autumn"})
	if err != nil {
		log.Fatal(err)
	}
	for _, content := range []string{"a small one", "a better one"} {
		if photo, err = c.Upload(ctx, photo, "kyoto.jpg", "image/jpeg", strings.NewReader(content)); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(photo.Metadata.Slug, len(photo.Versions), "versions, the last one of",
		photo.Versions[1].Length, "bytes")
	photo, err = c.Revert(ctx, photo, photo.Versions[0].File)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(photo.File == photo.Versions[0].File)
	// Output:
	// kyoto-in-autumn 2 versions, the last one of 12 bytes
	// true
}

// The newest posts for feed readers.
func ExampleCMS_Feed() {
	c, end := site()
	defer end()
	ctx := context.Background()
	_, err := c.Create(ctx, cms.Metadata{
		Kind: cms.Post, Section: "blog", Title: "Hello, world",
		Detail: cms.Detail{Text: "It works.", PublishOn: time.Now().Add(-time.Hour)},
	})
	if err != nil {
		log.Fatal(err)
	}
	feed, err := c.Feed(ctx, cms.Site{
		Title: "The blog", Link: "https://example.com/blog",
		URL: func(n cms.Node) string { return "https://example.com/blog/" + n.Metadata.Slug },
	}, cms.Query{Section: "blog", Kind: cms.Post})
	if err != nil {
		log.Fatal(err)
	}
	atom, err := feed.ToAtom()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(atom, `<link href="https://example.com/blog/hello-world" rel="alternate"></link>`))
	// Output: true
}
