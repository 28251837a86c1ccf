package table_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

func TestDuplicates(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, err := schema.Ensure(s, "db", "c")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := schema.CreateIndexes(ctx, s, c,
		[]bsonx.Doc{schematest.Spec("a_1", bsonx.NewDoc("a", 1), "unique", true)}); err != nil {
		t.Fatal(err)
	}
	c = s.Current(c)
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1, "a", 5)); err != nil {
		t.Fatal(err)
	}
	for _, doc := range []bsonx.Doc{
		bsonx.NewDoc("_id", 1.0, "a", 6),
		bsonx.NewDoc("_id", 2, "a", 5.0),
		bsonx.NewDoc("_id", 2, "a", bsonx.NewArray(4, 5)),
	} {
		if code := mongoerr.CodeOf(schematest.Insert(s, c, doc)); code != mongoerr.DuplicateKey {
			t.Errorf("%s: code %d", bsonx.FormatShell(bsonx.Document(doc)), code)
		}
	}
	err = schematest.Insert(s, c, bsonx.NewDoc("_id", 2, "a", 5.0))
	want := "E11000 duplicate key error collection: db.c index: a_1 dup key: { a: 5.0 } (DuplicateKey)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	// A record does not conflict with itself.
	err = schematest.Change(s, c, bsonx.Int32(1),
		func(bsonx.Doc) bsonx.Doc { return bsonx.NewDoc("_id", 1, "a", bsonx.NewArray(5, 5, 7)) })
	if err != nil {
		t.Fatal(err)
	}
	if n := schematest.MustValid(t, s, c).KeysPerIndex["a_1"]; n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func TestUniqueBuildFails(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, _ := schema.Ensure(s, "db", "c")
	for i := range 3 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i, "a", i/2)); err != nil {
			t.Fatal(err)
		}
	}
	err := schema.CreateIndexes(context.Background(), s, c,
		[]bsonx.Doc{schematest.Spec("a_1", bsonx.NewDoc("a", 1), "unique", true)})
	if mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
		t.Fatalf("got %v", err)
	}
	if n := len(s.Current(c).Indexes); n != 0 {
		t.Errorf("%d indexes left", n)
	}
	schematest.MustValid(t, s, c)
}

// TestOpenDropsUnfinished checks that opening a store drops a collection that a crash left before
// it could replace another.
func TestOpenDropsUnfinished(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := schematest.Open(t, engine)
	for _, name := range []string{"c", schema.UnfinishedPrefix + "1"} {
		c, err := schema.Ensure(s, "db", name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
			t.Fatal(err)
		}
	}
	reopened := schematest.Open(t, engine)
	if reopened.Lookup("db", "c") == nil || reopened.Lookup("db", schema.UnfinishedPrefix+"1") != nil {
		t.Error("the unfinished collection is there, or the other one is not")
	}
}

func TestRenameAndDrop(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := schematest.Open(t, engine)
	c, _ := schema.Ensure(s, "db", "c")
	d, _ := schema.Ensure(s, "db", "d")
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
		t.Fatal(err)
	}
	if code := mongoerr.CodeOf(rename(s, c, "db", "d", false)); code != mongoerr.NamespaceExists {
		t.Errorf("rename onto another: code %d", code)
	}
	if err := rename(s, c, "other", "x", false); err != nil {
		t.Fatal(err)
	}
	if s.Lookup("db", "c") != nil || s.Lookup("other", "x") == nil || s.Current(c).Namespace() != "other.x" {
		t.Error("rename did not move the collection")
	}
	if err := rename(s, s.Current(c), "db", "d", true); err != nil {
		t.Fatal(err)
	}
	if s.Current(d) != nil {
		t.Error("the target of a rename lives on")
	}
	if err := schematest.Insert(s, d, bsonx.NewDoc("_id", 1)); !errors.Is(err, table.ErrDropped) {
		t.Errorf("write to a dropped collection: %v", err)
	}
	reopened := schematest.Open(t, engine)
	if n, _ := reopened.Count(reopened.Lookup("db", "d")); n.Count != 1 {
		t.Errorf("%d records after reopening", n.Count)
	}
	if _, err := schema.DropDatabase(t.Context(), s, "db"); err != nil {
		t.Fatal(err)
	}
	if all := s.Catalog().All(); len(all) != 0 {
		t.Errorf("%d collections left", len(all))
	}
	if garbage, err := s.Catalog().Garbage(); err != nil || len(garbage) != 0 {
		t.Errorf("garbage left: %v %v", garbage, err)
	}
}

func TestCreateTwice(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	if _, err := schema.Create(s, "db", "c", catalog.KindCollection, bsonx.Empty); err != nil {
		t.Fatal(err)
	}
	_, err := schema.Create(s, "db", "c", catalog.KindCollection, bsonx.Empty)
	if mongoerr.CodeOf(err) != mongoerr.NamespaceExists {
		t.Errorf("got %v", err)
	}
	_, err = schema.Create(s, "DB", "c", catalog.KindCollection, bsonx.Empty)
	if mongoerr.CodeOf(err) != mongoerr.DatabaseDifferCase {
		t.Errorf("got %v", err)
	}
}

// TestBuildBesideWriters builds indexes while writers insert, update and delete. The indexes must
// be complete afterwards.
func TestBuildBesideWriters(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, _ := schema.Ensure(s, "db", "c")
	for i := range 2000 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i, "n", i)); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := (i*7 + g*13) % 3000
				var err error
				switch i % 3 {
				case 0:
					err = schematest.Insert(s, c, bsonx.NewDoc("_id", id, "n", i))
				case 1:
					err = schematest.Change(s, c, bsonx.Int32(int32(id)), func(old bsonx.Doc) bsonx.Doc {
						return bsonx.NewDoc("_id", id, "n", bsonx.NewArray(i, i+1))
					})
				default:
					err = schematest.Change(s, c, bsonx.Int32(int32(id)), func(bsonx.Doc) bsonx.Doc { return nil })
				}
				if err != nil && mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
					t.Error(err)
					return
				}
			}
		}()
	}
	for i := range 5 {
		specs := []bsonx.Doc{
			schematest.Spec(fmt.Sprint("n_", i), bsonx.NewDoc("n", 1)),
			schematest.Spec(fmt.Sprint("even_", i), bsonx.NewDoc("n", -1, "_id", 1),
				"partialFilterExpression", bsonx.NewDoc("even", true)),
		}
		if err := schema.CreateIndexes(context.Background(), s, s.Current(c), specs); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	schematest.MustValid(t, s, c)
}

// TestRandomChanges applies random changes to a collection with many kinds of indexes, and calls
// Validate after each.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 4), func(i int) any { return i }),
		rapid.Map(rapid.IntRange(0, 4), func(i int) any { return float64(i) }),
		rapid.Map(rapid.IntRange(0, 2), func(i int) any { return bsonx.NewArray(i, i+1, "x") }),
		rapid.Just[any](bsonx.NewArray()),
		rapid.Just[any](bsonx.NewDoc("b", bsonx.NewArray(1, 2))),
		rapid.Just[any](nil),
	)
	rapid.Check(t, func(rt *rapid.T) {
		s := schematest.Open(t, mem.New())
		c, _ := schema.Ensure(s, "db", "c")
		specs := []bsonx.Doc{
			schematest.Spec("a", bsonx.NewDoc("a", 1)), schematest.Spec("a.b", bsonx.NewDoc("a.b", -1), "sparse", true),
			schematest.Spec("even", bsonx.NewDoc("a", 1, "n", 1),
				"partialFilterExpression", bsonx.NewDoc("even", true)),
			schematest.Spec("u", bsonx.NewDoc("u", 1), "unique", true, "sparse", true),
		}
		if err := schema.CreateIndexes(context.Background(), s, s.Current(c), specs); err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(rt, "changes") {
			id := rapid.IntRange(0, 5).Draw(rt, "id")
			doc := bsonx.NewDoc("_id", id, "a", value.Draw(rt, "a"), "n", rapid.IntRange(0, 3).Draw(rt, "n"))
			if rapid.Bool().Draw(rt, "hasU") {
				doc = bsonx.NewDoc("_id", id, "u", value.Draw(rt, "u"))
			}
			var err error
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				err = schematest.Insert(s, c, doc)
			case 1:
				err = schematest.Change(s, c, bsonx.Int32(int32(id)), func(bsonx.Doc) bsonx.Doc { return doc })
			default:
				err = schematest.Change(s, c, bsonx.Int32(int32(id)), func(bsonx.Doc) bsonx.Doc { return nil })
			}
			if err != nil && mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
				rt.Fatal(err)
			}
		}
		schematest.MustValid(t, s, c)
	})
}

// rename gives c another name. If drop is true, it may replace an existing collection.
func rename(s *table.Store, c *table.Collection, db, name string, drop bool) error {
	return schema.RenameOver(s, c, db, name, false, schema.Droppable(drop))
}
