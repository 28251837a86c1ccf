package patterns_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/ads"
	"github.com/sheafdb/sheaf/patterns/category"
	"github.com/sheafdb/sheaf/patterns/cms"
	"github.com/sheafdb/sheaf/patterns/comments"
	"github.com/sheafdb/sheaf/patterns/hits"
	"github.com/sheafdb/sheaf/patterns/queue"
	"github.com/sheafdb/sheaf/patterns/queue/moat"
	"github.com/sheafdb/sheaf/patterns/relation"
	"github.com/sheafdb/sheaf/patterns/rollup"
	"github.com/sheafdb/sheaf/patterns/slicecache"
	"github.com/sheafdb/sheaf/patterns/social"
	"github.com/sheafdb/sheaf/patterns/timeseries"
	"github.com/sheafdb/sheaf/patterns/topic"
	"github.com/sheafdb/sheaf/sheaftest"
)

// unprepared has the first operation of a pattern, and its EnsureIndexes.
type unprepared struct {
	ensure func(context.Context) error
	use    func(context.Context) error
}

// uses lists the types that rely on unique indexes, on TTL indexes or on a special kind of
// collection, by package, type and operation.
func uses(t *testing.T, db *mongo.Database) map[string]unprepared {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	q, err := queue.New(db, queue.Config{})
	must(err)
	byTail, err := topic.New(db, topic.Config{})
	must(err)
	network, err := social.New(db, social.Config{})
	must(err)
	pages, err := comments.New(db, comments.Config{Design: comments.Pages})
	must(err)
	content, err := cms.New(db, cms.Config{})
	must(err)
	tree, err := category.New(db, category.Config{})
	must(err)
	native, err := timeseries.NewNative(db, timeseries.Config{Collection: "native"})
	must(err)
	buckets, err := timeseries.New(db, timeseries.Config{Collection: "buckets"})
	must(err)
	one, err := relation.NewOneToOne(db, relation.OneToOneConfig{Ref: "user_id"})
	must(err)
	cache, err := slicecache.NewCache[string](db, slicecache.CacheConfig{})
	must(err)
	kept, err := moat.New(db, db.Client().Database("far"), moat.Config{})
	must(err)
	counters, err := hits.New(db, hits.Config{Keep: time.Hour})
	must(err)
	sums, err := rollup.New(db, rollup.Config{Keep: time.Hour})
	must(err)
	market, err := ads.New(db, ads.Config{})
	must(err)
	sample := timeseries.Sample{Tag: "a", At: time.Unix(1, 0), N: 1}
	return map[string]unprepared{
		"queue.Queue put": {
			q.EnsureIndexes,
			func(ctx context.Context) error { _, err := q.Put(ctx, queue.Spec{Kind: "k", Unique: "u"}); return err },
		},
		"queue.Queue take": {
			q.EnsureIndexes,
			func(ctx context.Context) error { _, err := q.Take(ctx); return ignore(err, queue.ErrEmpty) },
		},
		"topic.Topics": {byTail.EnsureIndexes, func(ctx context.Context) error { return byTail.Publish(ctx, "t", 1) }},
		"social.Network": {
			network.EnsureIndexes,
			func(ctx context.Context) error { return network.Follow(ctx, "a", "b") },
		},
		"comments.Comments": {pages.EnsureIndexes, func(ctx context.Context) error {
			_, err := pages.Post(ctx, comments.Target{}, "a", "text")
			return err
		}},
		"cms.CMS": {content.EnsureIndexes, func(ctx context.Context) error {
			_, err := content.Create(ctx, cms.Metadata{Kind: cms.Page, Section: "s", Title: "A title"})
			return err
		}},
		"category.Tree": {tree.EnsureIndexes, func(ctx context.Context) error {
			_, err := tree.Add(ctx, bson.NilObjectID, "s", "n")
			return err
		}},
		"relation.OneToOne": {
			one.EnsureIndexes,
			func(ctx context.Context) error { _, err := one.Check(ctx); return err },
		},
		"slicecache.Cache get": {cache.EnsureIndexes, func(ctx context.Context) error {
			_, err := cache.Get(ctx, "k", func(context.Context) (string, []string, error) { return "v", nil, nil })
			return err
		}},
		"slicecache.Cache set": {
			cache.EnsureIndexes,
			func(ctx context.Context) error { return cache.Set(ctx, "k", "v") },
		},
		"moat.Moat": {kept.EnsureIndexes, func(ctx context.Context) error {
			return kept.Write(ctx, moat.Delete("c", 1))
		}},
		"hits.Counters": {counters.EnsureIndexes, func(ctx context.Context) error {
			return counters.Add(ctx, hits.Hit{Site: "s", Page: "/"})
		}},
		"hits.Counters writer": {counters.EnsureIndexes, func(ctx context.Context) error {
			w, err := counters.NewWriter(hits.WriterConfig{})
			if err != nil {
				return err
			}
			if err := w.Hit(hits.Hit{Site: "s", Page: "/"}); err != nil {
				return err
			}
			return w.Flush(ctx)
		}},
		"rollup.Rollup record": {
			sums.EnsureIndexes,
			func(ctx context.Context) error { return sums.Record(ctx, rollup.Event{Key: "k"}) },
		},
		"rollup.Rollup update": {
			sums.EnsureIndexes,
			func(ctx context.Context) error { _, err := sums.Update(ctx); return err },
		},
		"ads.Ads serve": {market.EnsureIndexes, func(ctx context.Context) error {
			_, err := market.Serve(ctx, ads.Request{})
			return ignore(err, ads.ErrNoAd)
		}},
		"ads.Ads click": {
			market.EnsureIndexes,
			func(ctx context.Context) error { return market.Click(ctx, ads.Impression{}, "u") },
		},
		"timeseries.Native": {native.EnsureIndexes, func(ctx context.Context) error { return native.Add(ctx, sample) }},
		"timeseries.store": {
			buckets.EnsureIndexes,
			func(ctx context.Context) error { return buckets.Add(ctx, sample) },
		},
	}
}

// TestIndexWithoutItsPromise replaces unique indexes and TTL indexes by ordinary indexes with the
// same keys: the first operation returns ErrNotPrepared.
func TestIndexWithoutItsPromise(t *testing.T) {
	t.Parallel()
	client := sheaftest.New(t)
	for name := range uses(t, client.Database("names")) {
		t.Run(name, func(t *testing.T) {
			db := sheaftest.New(t).Database("app")
			if err := uses(t, db)[name].ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if weaken(t, db) == 0 {
				// The type needs a special collection. It has no unique index and no TTL index to
				// weaken.
				return
			}
			if err := uses(t, db)[name].use(t.Context()); !errors.Is(err, patterns.ErrNotPrepared) {
				t.Errorf("the first use with ordinary indexes: %v", err)
			}
		})
	}
}

// weaken replaces all unique indexes and TTL indexes of a database by ordinary indexes, and returns
// their number.
func weaken(t *testing.T, db *mongo.Database) (n int) {
	t.Helper()
	names, err := db.ListCollectionNames(t.Context(), bson.D{{"type", "collection"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		indexes := db.Collection(name).Indexes()
		specs, err := indexes.ListSpecifications(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range specs {
			if specs[i].Unique == nil && specs[i].ExpireAfterSeconds == nil {
				continue
			}
			if err := indexes.DropOne(t.Context(), specs[i].Name); err != nil {
				t.Fatal(err)
			}
			if _, err := indexes.CreateOne(t.Context(), mongo.IndexModel{Keys: specs[i].KeysDocument}); err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	return n
}

func ignore(err, fine error) error {
	if errors.Is(err, fine) {
		return nil
	}
	return err
}

// TestUseWithoutEnsureIndexes calls the first operation before EnsureIndexes: it returns an error
// that says what to do, and writes nothing. After EnsureIndexes it works.
func TestUseWithoutEnsureIndexes(t *testing.T) {
	t.Parallel()
	client := sheaftest.New(t)
	for name := range uses(t, client.Database("names")) {
		t.Run(name, func(t *testing.T) {
			db := sheaftest.New(t).Database("app")
			u := uses(t, db)[name]
			if err := u.use(t.Context()); !errors.Is(err, patterns.ErrNotPrepared) {
				t.Fatalf("the first use without indexes: %v", err)
			}
			names, err := db.ListCollectionNames(t.Context(),
				bson.D{{"name", bson.D{{"$not", bson.Regex{Pattern: "^system|state$"}}}}})
			if err != nil || len(names) > 0 {
				t.Errorf("the refused use has made %v, %v", names, err)
			}
			if err := u.ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := u.use(t.Context()); err != nil {
				t.Errorf("after EnsureIndexes: %v", err)
			}
			if err := uses(t, db)[name].use(t.Context()); errors.Is(err, patterns.ErrNotPrepared) {
				t.Errorf("another process, on the same database: %v", err)
			}
		})
	}
}
