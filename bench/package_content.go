package main

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/ads"
	"github.com/sheafdb/sheaf/patterns/category"
	"github.com/sheafdb/sheaf/patterns/comments"
	"github.com/sheafdb/sheaf/patterns/i18n"
	"github.com/sheafdb/sheaf/patterns/metadata"
	"github.com/sheafdb/sheaf/patterns/slicecache"
	"github.com/sheafdb/sheaf/patterns/social"
)

// useMetadata searches pictures by two properties with package metadata.
func useMetadata(ctx context.Context, db *mongo.Database) (*routine, error) {
	c := db.Collection("pictures")
	if err := fill(ctx, c, pictures, picture); err != nil {
		return nil, err
	}
	meta, err := metadata.New(db, metadata.Config{Collection: "pictures"})
	if err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		cur, err := meta.Find(ctx, metadata.Equal("Camera", camera(w.rng.IntN(cameras))),
			metadata.Equal("Flash", flash(w.rng.IntN(2))))
		if err != nil {
			return err
		}
		var found []bson.Raw
		if err := cur.All(ctx, &found); err != nil {
			return err
		}
		return expectCount(len(found), picturesFound)
	}), meta.EnsureIndexes(ctx)
}

func expectCount(got, want int) error {
	if got != want {
		return fmt.Errorf("%d found, not %d", got, want)
	}
	return nil
}

// useCategory reads a tree with package category. With "subtree", it reads a category of the first
// level with all categories below it. Otherwise it reads the children of a category of the second
// level.
func useCategory(what string) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		tree, err := category.New(db, category.Config{Design: category.Paths})
		if err != nil {
			return nil, err
		}
		if err := tree.EnsureIndexes(ctx); err != nil {
			return nil, err
		}
		upper, lower, err := grow(ctx, tree)
		if what == "subtree" {
			return repeat(func(ctx context.Context, w *worker) error {
				found, err := tree.Subtree(ctx, upper[w.rng.IntN(len(upper))])
				if err != nil {
					return err
				}
				return expectCount(len(found), 1+middles*(children+1)) // 1 is for the category itself
			}), err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			found, err := tree.Children(ctx, lower[w.rng.IntN(len(lower))])
			if err != nil {
				return err
			}
			return expectCount(len(found), children)
		}), err
	}
}

// grow adds all categories to a tree. It returns the categories of the first level and the
// categories of the second level.
func grow(ctx context.Context, tree *category.Tree) (upper, lower []bson.ObjectID, err error) {
	add := func(parent bson.ObjectID, slug string) bson.ObjectID {
		if err != nil {
			return parent
		}
		var c category.Category
		c, err = tree.Add(ctx, parent, slug, slug)
		return c.ID
	}
	for t := range tops {
		top := add(category.Top, topName(t))
		upper = append(upper, top)
		for m := range middles {
			middle := add(top, topName(t)+"-"+middleName(m))
			lower = append(lower, middle)
			for l := range children {
				add(middle, fmt.Sprintf("%s-%s-leaf%02d", topName(t), middleName(m), l))
			}
		}
	}
	return upper, lower, err
}

// useI18n adds languages to the names of categories, or removes languages, with package i18n.
func useI18n(add bool) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		texts, err := i18n.New(db,
			i18n.Config{Collection: "categories", Copies: []i18n.Copy{{Collection: "products", Array: "categories"}}})
		if err != nil {
			return nil, err
		}
		n := initialLocales(add)
		text := func(category int) bson.D {
			return bson.D{{"_id", int64(category)}, {"names", names(category, n)}, {"rev", int64(1)}}
		}
		if err := fill(ctx, db.Collection("categories"), named, text); err != nil {
			return nil, err
		}
		err = fill(ctx, db.Collection("products"), named*productsPerNamed, func(i int) bson.D {
			return bson.D{
				{"_id", int64(i)},
				{"cost", int64(i % 97)},
				{"categories", bson.A{text(i / productsPerNamed)}},
			}
		})
		if err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			id, name := nextLocale(w)
			if add {
				return texts.Set(ctx, id, name, fmt.Sprintf("a name %d", id))
			}
			return texts.Unset(ctx, id, name)
		}), texts.EnsureIndexes(ctx)
	}
}

// useLatest adds comments to the latest comments of an article with package slicecache.
func useLatest(full bool) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		newest, err := slicecache.NewLatest(db, slicecache.LatestConfig[string]{
			Parents: "articles", Max: latest, Preallocate: full, Template: somethingSaid,
		})
		if err != nil {
			return nil, err
		}
		if err := newest.EnsureIndexes(ctx); err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			return newest.Add(ctx, w.rng.Int64N(articles),
				&slicecache.Item[string]{ID: w.ids.Add(1), Body: somethingSaid})
		}), fill(ctx, db.Collection("articles"), articles, plainArticle)
	}
}

func plainArticle(i int) bson.D {
	return bson.D{{"_id", int64(i)}, {"title", fmt.Sprintf("article %d", i)}, {"content", jobPayload}}
}

// useComments posts comments, which package comments stores in pages.
func useComments(ctx context.Context, db *mongo.Database) (*routine, error) {
	c, err := comments.New(db, comments.Config{Design: comments.Pages, PageSize: bucketSize})
	if err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		_, err := c.Post(ctx, comments.Target{Kind: "articles", ID: w.rng.Int64N(articles)}, "ada", somethingSaid)
		return err
	}), c.EnsureIndexes(ctx)
}

// useInbox sends messages with package social.
func useInbox(ctx context.Context, db *mongo.Database) (*routine, error) {
	network, err := social.New(db, social.Config{})
	if err != nil {
		return nil, err
	}
	return repeat(func(ctx context.Context, w *worker) error {
		first := w.rng.IntN(inboxUsers)
		to := make([]string, inboxReceivers)
		for i := range to {
			to[i] = fmt.Sprintf("user%d", (first+i)%inboxUsers)
		}
		_, err := network.Send(ctx, social.Message{From: "ann", To: to, Text: somethingSaid})
		return err
	}), network.EnsureIndexes(ctx)
}

// useAds serves advertisements with package ads.
func useAds(ctx context.Context, db *mongo.Database) (*routine, error) {
	network, err := ads.New(db, ads.Config{})
	if err != nil {
		return nil, err
	}
	if err := network.EnsureIndexes(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	for a := range adsPerZone {
		campaign, err := network.Book(ctx,
			ads.Campaign{Name: fmt.Sprint("campaign", a), From: now.Add(-time.Hour), To: now.Add(24 * time.Hour)})
		if err != nil {
			return nil, err
		}
		for z := range zones {
			err := network.Put(ctx, adPlace(z), ads.Ad{
				ID: bson.NewObjectID(), Campaign: campaign, Cost: int64(1000 - 50*a), Cap: ads.MaxCap,
				Window: time.Minute, Content: jobPayload,
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return repeat(func(ctx context.Context, w *worker) error {
		_, err := network.Serve(ctx,
			ads.Request{Place: adPlace(w.rng.IntN(zones)), User: fmt.Sprint("user", w.rng.Int64N(adUsers))})
		return err
	}), nil
}

func adPlace(i int) ads.Place {
	return ads.Place{Site: fmt.Sprint("site", i/10), Zone: fmt.Sprint("zone", i%10)}
}
