package paging_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns/paging"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

const collection = "posts"

func insert(t testing.TB, db *mongo.Database, docs ...any) {
	t.Helper()
	if _, err := db.Collection(collection).InsertMany(context.Background(), docs); err != nil {
		t.Fatal(err)
	}
}

func newPager(t testing.TB, db *mongo.Database, cfg paging.Config) *paging.Pager[bson.D] {
	t.Helper()
	cfg.Collection = collection
	p, err := paging.New[bson.D](db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.EnsureIndexes(context.Background()); err != nil {
		t.Fatal(err)
	}
	return p
}

// ids returns the _ids of documents.
func ids(docs []bson.D) (out []any) {
	for _, doc := range docs {
		for _, e := range doc {
			if e.Key == "_id" {
				out = append(out, e.Value)
			}
		}
	}
	return out
}

// values returns values of all types that a sort field can have, several of each type.
func values() []any {
	oid := bson.ObjectID{1}
	return []any{
		bson.MinKey{},
		nil, math.NaN(), math.Inf(-1), int32(-3), int64(5), 5.0, 7.5, math.Inf(1), "", "a", "b", bson.Symbol("a"),
		bson.D{},
		bson.D{{"x", 1}},
		bson.Binary{Data: []byte{1}},
		oid,
		bson.ObjectID{2},
		false, true,
		bson.DateTime(-5), bson.DateTime(99),
		bson.Timestamp{T: 1, I: 2},
		bson.MaxKey{},
	}
}

// TestWalk compares walks in both directions with one sorted find. The sort fields have values of
// all types, and several documents have the same value.
func TestWalk(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	coll := server.Database().Collection(collection)
	all := values()
	rapid.Check(t, func(rt *rapid.T) {
		if _, err := coll.DeleteMany(t.Context(), bson.D{}); err != nil {
			rt.Fatal(err)
		}
		var docs []any
		for i := range rapid.IntRange(0, 40).Draw(rt, "documents") {
			doc := bson.D{{"_id", i}, {"thread", i % 2}}
			for _, path := range []string{"a", "b"} {
				if v := rapid.IntRange(0, len(all)).Draw(rt, path); v < len(all) {
					doc = append(doc, bson.E{path, all[v]})
				}
			}
			docs = append(docs, doc)
		}
		if len(docs) > 0 {
			if _, err := coll.InsertMany(t.Context(), docs); err != nil {
				rt.Fatal(err)
			}
		}
		direction := rapid.SampledFrom([]int{1, -1})
		cfg := paging.Config{
			Sort:  bson.D{{"a", direction.Draw(rt, "a's")}, {"b", direction.Draw(rt, "b's")}},
			Equal: bson.D{{"thread", 1}},
			Size:  rapid.IntRange(1, 7).Draw(rt, "size"),
		}
		p := newPager(t, server.Database(), cfg)
		sort := append(cfg.Sort, bson.E{"_id", cfg.Sort[1].Value})
		want := ids(find(t, coll, cfg.Equal, sort))
		if got := forwards(t, p); !slices.Equal(got, want) {
			rt.Fatalf("forwards %v\nwant %v", got, want)
		}
		if got := backwards(t, p); !slices.Equal(got, want) {
			rt.Fatalf("backwards %v\nwant %v", got, want)
		}
	})
}

func find(t testing.TB, coll *mongo.Collection, filter, sort bson.D) (docs []bson.D) {
	t.Helper()
	cursor, err := coll.Find(context.Background(), filter, options.Find().SetSort(sort))
	if err == nil {
		err = cursor.All(context.Background(), &docs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// forwards walks from the first page to the last. It converts each cursor to text and back.
func forwards(t testing.TB, p *paging.Pager[bson.D]) (out []any) {
	t.Helper()
	page, err := p.First(context.Background())
	for {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ids(page.Items)...)
		if page.Next == nil {
			return out
		}
		next, perr := p.Parse(page.Next.String())
		if perr != nil {
			t.Fatal(perr)
		}
		page, err = p.After(context.Background(), next)
	}
}

// backwards walks from the last page to the first.
func backwards(t testing.TB, p *paging.Pager[bson.D]) (out []any) {
	t.Helper()
	page, err := p.Last(context.Background())
	for {
		if err != nil {
			t.Fatal(err)
		}
		out = append(ids(page.Items), out...)
		if page.Prev == nil {
			return out
		}
		page, err = p.Before(context.Background(), page.Prev)
	}
}

// TestMoving inserts and removes documents between two pages: no other document is skipped or shown
// twice.
func TestMoving(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for i := range 10 {
		insert(t, db, bson.D{{"_id", i}, {"date", i / 3}})
	}
	p := newPager(t, db, paging.Config{Sort: bson.D{{"date", 1}}, Size: 4})
	first, err := p.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	insert(t, db, bson.D{{"_id", -1}, {"date", 0}}, bson.D{{"_id", 20}, {"date", 1}})
	// Remove the last document of the first page.
	if _, err := db.Collection(collection).DeleteOne(t.Context(), bson.D{{"_id", 3}}); err != nil {
		t.Fatal(err)
	}
	second, err := p.After(t.Context(), first.Next)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(ids(second.Items)), "[4 5 20 6]"; got != want {
		t.Errorf("the second page has %s, want %s", got, want)
	}
	back, err := p.Before(t.Context(), second.Prev)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(ids(back.Items)), "[-1 0 1 2]"; got != want {
		t.Errorf("the page before has %s, want %s", got, want)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	p := newPager(t, db, paging.Config{Sort: bson.D{{"a", -1}}, Size: 1})
	other := newPager(t, db, paging.Config{Size: 1})
	insert(t, db, bson.D{{"_id", 1}}, bson.D{{"_id", 2}}, bson.D{{"_id", 3}})
	for _, v := range []any{bson.A{1}, bson.Regex{Pattern: "x"}, bson.JavaScript("x")} {
		if _, err := db.Collection(collection).
			UpdateByID(t.Context(), 3, bson.D{{"$set", bson.D{{"a", v}}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.First(t.Context()); !errors.Is(err, paging.ErrType) {
			t.Errorf("%T: %v", v, err)
		}
	}
	page, err := other.First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "x", "!", page.Next.String()} {
		if _, err := p.Parse(text); !errors.Is(err, paging.ErrCursor) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := p.After(t.Context(), page.Next); !errors.Is(err, paging.ErrCursor) {
		t.Errorf("the cursor of another pager: %v", err)
	}
	for _, cfg := range []paging.Config{{}, {Collection: "c", Size: -1}, {Collection: "c", Sort: bson.D{{"a", "up"}}}} {
		if _, err := paging.New[bson.D](db, cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	for i := range 20 {
		insert(t, server.Database(), bson.D{{"_id", i}, {"thread", i % 2}, {"date", time.UnixMilli(int64(i / 3))}})
	}
	cfg := paging.Config{Equal: bson.D{{"thread", 1}}, Sort: bson.D{{"date", 1}}, Size: 3}
	newPager(t, server.Database(), cfg)
	n := server.NoScans(t, func(_ context.Context, db *mongo.Database) {
		p := newPager(t, db, cfg)
		forwards(t, p)
		backwards(t, p)
	})
	if n != 8 {
		t.Errorf("%d commands were explained", n)
	}
}

// TestW078 walks through the 45 posts of a thread. Some posts have the same date. The pages have
// 20, 20 and 5 posts, and each page is one query.
func TestW078(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	for i := range 45 {
		insert(t, server.Database(), bson.D{{"_id", 100 - i}, {"threadId", 1}, {"date", time.UnixMilli(int64(i / 2))}})
	}
	insert(t, server.Database(), bson.D{{"_id", 0}, {"threadId", 2}, {"date", time.UnixMilli(3)}})
	cfg := paging.Config{Equal: bson.D{{"threadId", 1}}, Sort: bson.D{{"date", 1}}, Size: 20}
	newPager(t, server.Database(), cfg)
	var sizes []int
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		p := newPager(t, db, cfg)
		page, err := p.First(ctx)
		for ; err == nil; page, err = p.After(ctx, page.Next) {
			if sizes = append(sizes, len(page.Items)); page.Next == nil {
				return
			}
		}
		t.Error(err)
	})
	if fmt.Sprint(sizes) != "[20 20 5]" || n != len(sizes) {
		t.Errorf("pages of %d, with %d queries", sizes, n)
	}
}

func FuzzParse(f *testing.F) {
	db := patterntest.Open(f)
	p := newPager(f, db, paging.Config{Sort: bson.D{{"a", 1}}, Size: 1})
	insert(f, db, bson.D{{"_id", 1}}, bson.D{{"_id", 2}})
	page, err := p.First(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(page.Next.String())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := p.Parse(text)
		if err != nil {
			return
		}
		if _, err := p.After(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	})
}
