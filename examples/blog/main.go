// Command blog publishes posts that two people edit, and takes comments on them. It reads the
// latest posts of a section from one document, caches its front page until a post is added, and has
// its labels in two languages. It demonstrates patterns/cms, comments, slicecache and i18n.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/cms"
	"github.com/sheafdb/sheaf/patterns/comments"
	"github.com/sheafdb/sheaf/patterns/i18n"
	"github.com/sheafdb/sheaf/patterns/slicecache"
)

func main() { demo.Main("blog", run) }

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	if _, err := db.Collection("sections").InsertOne(ctx, bson.D{{"_id", "news"}}); err != nil {
		return err
	}
	for _, step := range []func(context.Context, io.Writer, *mongo.Database) error{edit, discuss, show, translate} {
		if err := step(ctx, out, db); err != nil {
			return err
		}
	}
	return nil
}

// edit lets Ann and Bob edit the same post. Bob's edit conflicts, and he merges it with Ann's.
func edit(ctx context.Context, out io.Writer, db *mongo.Database) error {
	site, err := cms.New(db, cms.Config{})
	if err != nil {
		return err
	}
	if err := site.EnsureIndexes(ctx); err != nil {
		return err
	}
	post, err := site.Create(ctx, cms.Metadata{
		Kind: cms.Post, Section: "news", Title: "Hello, world", Tags: []string{"go"},
		Detail: cms.Detail{Text: "It works.", PublishOn: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)},
	})
	if err != nil {
		return err
	}
	ann, bob := post.Metadata, post.Metadata
	ann.Detail.Text = "It works well."
	bob.Title = "Hello, all"
	if _, err := site.Edit(ctx, post, ann); err != nil {
		return err
	}
	_, err = site.Edit(ctx, post, bob)
	var conflict *cms.ConflictError
	if !errors.As(err, &conflict) {
		return fmt.Errorf("the text of ann is lost: %w", err)
	}
	fmt.Fprintln(out, "bob hears that ann has written:", conflict.Theirs.Metadata.Detail.Text)
	merged := conflict.Theirs.Metadata
	merged.Title = bob.Title
	if _, err := site.Edit(ctx, conflict.Theirs, merged); err != nil {
		return err
	}
	if post, err = site.BySlug(ctx, "news", "hello-world"); err != nil {
		return err
	}
	fmt.Fprintf(out, "published: %s (%s)\n", post.Metadata.Title, post.Metadata.Detail.Text)
	return demo.Check(ctx, out, "cms", site)
}

// discuss posts comments, answers one of them and deletes that comment. The answer stays.
func discuss(ctx context.Context, out io.Writer, db *mongo.Database) error {
	c, err := comments.New(db, comments.Config{})
	if err != nil {
		return err
	}
	if err := c.EnsureIndexes(ctx); err != nil {
		return err
	}
	on := comments.Target{Kind: "nodes", ID: "hello-world"}
	first, err := c.Post(ctx, on, "cyd", "First!")
	if err != nil {
		return err
	}
	_, err = c.Post(ctx, on, "dan", "Well written.")
	_, err2 := c.Reply(ctx, on, first.ID, "eve", "Indeed.")
	if err := errors.Join(err, err2, c.Delete(ctx, on, first.ID)); err != nil {
		return err
	}
	thread, err := c.Thread(ctx, on, "", comments.Range{Limit: 100})
	if err != nil {
		return err
	}
	for _, one := range thread {
		text := one.Author + ": " + one.Text
		if one.Deleted {
			text = "(deleted)"
		}
		fmt.Fprintln(out, strings.Repeat("  ", one.Depth()+1)+text)
	}
	return demo.Check(ctx, out, "comments", c)
}

// show stores the latest posts of a section in the section's document. It builds the front page
// from them, and builds it again only after a new post.
func show(ctx context.Context, out io.Writer, db *mongo.Database) error {
	latest, err := slicecache.NewLatest(db,
		slicecache.LatestConfig[string]{Parents: "sections", Items: "titles", Max: 2})
	if err != nil {
		return err
	}
	pages, err := slicecache.NewCache[string](db, slicecache.CacheConfig{})
	if err != nil {
		return err
	}
	if err := errors.Join(latest.EnsureIndexes(ctx), pages.EnsureIndexes(ctx)); err != nil {
		return err
	}
	made := 0
	render := func(ctx context.Context) (string, []string, error) {
		made++
		items, err := latest.Show(ctx, "news")
		var titles []string
		for _, item := range items {
			titles = append(titles, item.Body)
		}
		return strings.Join(titles, ", "), []string{"news"}, err
	}
	for day, title := range []string{"Hello, all", "Second post", "Third post"} {
		at := time.Date(2026, 5, 1+day, 0, 0, 0, 0, time.UTC)
		if err := errors.Join(latest.Add(ctx, "news", &slicecache.Item[string]{ID: day, At: at, Body: title}),
			pages.DeleteTag(ctx, "news")); err != nil {
			return err
		}
		var page string
		for range 3 { // three readers, but the page is built once
			if page, err = pages.Get(ctx, "front", render); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "front page: %s (made so far: %d)\n", page, made)
	}
	return errors.Join(demo.Check(ctx, out, "slicecache.Latest", latest),
		demo.Check(ctx, out, "slicecache.Cache", pages))
}

// translate adds a second language to a label. The label's copy in the section is updated too.
func translate(ctx context.Context, out io.Writer, db *mongo.Database) error {
	texts, err := i18n.New(db,
		i18n.Config{Collection: "labels", Copies: []i18n.Copy{{Collection: "sections", Array: "labels"}}})
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return texts.EnsureIndexes(ctx) },
		func() error { return texts.Set(ctx, "news", "en", "News") },
		func() error { return texts.Attach(ctx, 0, "news", "news") },
		func() error { return texts.Set(ctx, "news", "de", "Neues") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	var section struct{ Labels []i18n.Text }
	if err := db.Collection("sections").FindOne(ctx, bson.D{{"_id", "news"}}).Decode(&section); err != nil {
		return err
	}
	for _, locale := range []string{"de-at", "fr"} {
		name, _ := section.Labels[0].Names.In(locale, "en")
		fmt.Fprintf(out, "the section for readers of %s: %s\n", locale, name)
	}
	return demo.Check(ctx, out, "i18n", texts)
}
