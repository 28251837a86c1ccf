package table_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// compiler understands one partial filter: {even: true}, for documents whose n is even.
type compiler struct{}

type evenOnly struct{}

func (evenOnly) Match(doc bsonx.Doc) (bool, error) {
	n, ok := doc.Lookup("n").AsInt64()
	return ok && n%2 == 0, nil
}

func (compiler) Partial(bsonx.Doc, *collation.Collator) (table.Predicate, error) {
	return evenOnly{}, nil
}

func (compiler) Validator(bsonx.Doc, *collation.Collator) (table.Validator, error) { return nil, nil }

func open(t testing.TB, engine storage.Engine) *table.Store {
	t.Helper()
	s, err := table.Open(engine, compiler{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func insert(s *table.Store, c *table.Collection, doc bsonx.Doc) error {
	w, err := s.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Insert(context.Background(), doc); err != nil {
		return err
	}
	return w.Commit(storage.Buffered)
}

// change applies fn to the record with that _id; a nil result deletes it.
func change(s *table.Store, c *table.Collection, id bsonx.Value, fn func(old bsonx.Doc) bsonx.Doc) error {
	w, err := s.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	key := c.RecordKey(nil, id)
	old, err := w.Lock(context.Background(), key, nil)
	if err != nil || old == nil {
		return err
	}
	if doc := fn(old); doc == nil {
		err = w.Delete(key, old)
	} else {
		err = w.Update(context.Background(), key, old, doc, table.Modification)
	}
	if err != nil {
		return err
	}
	return w.Commit(storage.Buffered)
}

func spec(name string, key bsonx.Doc, options ...any) bsonx.Doc {
	return bsonx.NewDoc(append([]any{"v", 2, "key", key, "name", name}, options...)...)
}

func mustValid(t testing.TB, s *table.Store, c *table.Collection) *table.Validation {
	v, err := s.Validate(context.Background(), c, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range v.Errors {
		t.Fatalf("validate: %s", msg)
	}
	return v
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	s := open(t, mem.New())
	c, err := s.Ensure("db", "c")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := s.CreateIndexes(ctx, c, []bsonx.Doc{spec("a_1", bsonx.NewDoc("a", 1), "unique", true)}); err != nil {
		t.Fatal(err)
	}
	c = s.Current(c)
	if err := insert(s, c, bsonx.NewDoc("_id", 1, "a", 5)); err != nil {
		t.Fatal(err)
	}
	for _, doc := range []bsonx.Doc{
		bsonx.NewDoc("_id", 1.0, "a", 6),
		bsonx.NewDoc("_id", 2, "a", 5.0),
		bsonx.NewDoc("_id", 2, "a", bsonx.NewArray(4, 5)),
	} {
		if code := mongoerr.CodeOf(insert(s, c, doc)); code != mongoerr.DuplicateKey {
			t.Errorf("%s: code %d", bsonx.FormatShell(bsonx.Document(doc)), code)
		}
	}
	err = insert(s, c, bsonx.NewDoc("_id", 2, "a", 5.0))
	want := "E11000 duplicate key error collection: db.c index: a_1 dup key: { a: 5.0 } (DuplicateKey)"
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
	// A record does not collide with itself.
	err = change(s, c, bsonx.Int32(1), func(bsonx.Doc) bsonx.Doc { return bsonx.NewDoc("_id", 1, "a", bsonx.NewArray(5, 5, 7)) })
	if err != nil {
		t.Fatal(err)
	}
	if n := mustValid(t, s, c).KeysPerIndex["a_1"]; n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func TestUniqueBuildFails(t *testing.T) {
	t.Parallel()
	s := open(t, mem.New())
	c, _ := s.Ensure("db", "c")
	for i := range 3 {
		if err := insert(s, c, bsonx.NewDoc("_id", i, "a", i/2)); err != nil {
			t.Fatal(err)
		}
	}
	err := s.CreateIndexes(context.Background(), c, []bsonx.Doc{spec("a_1", bsonx.NewDoc("a", 1), "unique", true)})
	if mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
		t.Fatalf("got %v", err)
	}
	if n := len(s.Current(c).Indexes); n != 0 {
		t.Errorf("%d indexes left", n)
	}
	mustValid(t, s, c)
}

// TestOpenDropsUnfinished requires that a collection that was to take another's place is gone after a crash.
func TestOpenDropsUnfinished(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := open(t, engine)
	for _, name := range []string{"c", table.UnfinishedPrefix + "1"} {
		c, err := s.Ensure("db", name)
		if err != nil {
			t.Fatal(err)
		}
		if err := insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
			t.Fatal(err)
		}
	}
	reopened := open(t, engine)
	if reopened.Lookup("db", "c") == nil || reopened.Lookup("db", table.UnfinishedPrefix+"1") != nil {
		t.Error("the unfinished collection is there, or the other one is not")
	}
}

func TestRenameAndDrop(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := open(t, engine)
	c, _ := s.Ensure("db", "c")
	d, _ := s.Ensure("db", "d")
	if err := insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
		t.Fatal(err)
	}
	if code := mongoerr.CodeOf(s.Rename(c, "db", "d", false)); code != mongoerr.NamespaceExists {
		t.Errorf("rename onto another: code %d", code)
	}
	if err := s.Rename(c, "other", "x", false); err != nil {
		t.Fatal(err)
	}
	if s.Lookup("db", "c") != nil || s.Lookup("other", "x") == nil || s.Current(c).Namespace() != "other.x" {
		t.Error("rename did not move the collection")
	}
	if err := s.Rename(s.Current(c), "db", "d", true); err != nil {
		t.Fatal(err)
	}
	if s.Current(d) != nil {
		t.Error("the target of a rename lives on")
	}
	if err := insert(s, d, bsonx.NewDoc("_id", 1)); !errors.Is(err, table.ErrDropped) {
		t.Errorf("write to a dropped collection: %v", err)
	}
	reopened := open(t, engine)
	if n, _ := reopened.Count(reopened.Lookup("db", "d")); n.Count != 1 {
		t.Errorf("%d records after reopening", n.Count)
	}
	if _, err := s.DropDatabase(t.Context(), "db"); err != nil {
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
	s := open(t, mem.New())
	if _, err := s.Create("db", "c", catalog.KindCollection, bsonx.Empty); err != nil {
		t.Fatal(err)
	}
	_, err := s.Create("db", "c", catalog.KindCollection, bsonx.Empty)
	if mongoerr.CodeOf(err) != mongoerr.NamespaceExists {
		t.Errorf("got %v", err)
	}
	_, err = s.Create("DB", "c", catalog.KindCollection, bsonx.Empty)
	if mongoerr.CodeOf(err) != mongoerr.DatabaseDifferCase {
		t.Errorf("got %v", err)
	}
}

// TestBuildBesideWriters builds indexes while writers insert, update and delete, and checks that nothing was lost.
func TestBuildBesideWriters(t *testing.T) {
	t.Parallel()
	s := open(t, mem.New())
	c, _ := s.Ensure("db", "c")
	for i := range 2000 {
		if err := insert(s, c, bsonx.NewDoc("_id", i, "n", i)); err != nil {
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
					err = insert(s, c, bsonx.NewDoc("_id", id, "n", i))
				case 1:
					err = change(s, c, bsonx.Int32(int32(id)), func(old bsonx.Doc) bsonx.Doc {
						return bsonx.NewDoc("_id", id, "n", bsonx.NewArray(i, i+1))
					})
				default:
					err = change(s, c, bsonx.Int32(int32(id)), func(bsonx.Doc) bsonx.Doc { return nil })
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
			spec(fmt.Sprint("n_", i), bsonx.NewDoc("n", 1)),
			spec(fmt.Sprint("even_", i), bsonx.NewDoc("n", -1, "_id", 1), "partialFilterExpression", bsonx.NewDoc("even", true)),
		}
		if err := s.CreateIndexes(context.Background(), s.Current(c), specs); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	mustValid(t, s, c)
}

// TestRandomChanges applies random changes to a collection with many kinds of indexes; Validate holds after each.
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
		s := open(t, mem.New())
		c, _ := s.Ensure("db", "c")
		specs := []bsonx.Doc{
			spec("a", bsonx.NewDoc("a", 1)), spec("a.b", bsonx.NewDoc("a.b", -1), "sparse", true),
			spec("even", bsonx.NewDoc("a", 1, "n", 1), "partialFilterExpression", bsonx.NewDoc("even", true)),
			spec("u", bsonx.NewDoc("u", 1), "unique", true, "sparse", true),
		}
		if err := s.CreateIndexes(context.Background(), s.Current(c), specs); err != nil {
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
				err = insert(s, c, doc)
			case 1:
				err = change(s, c, bsonx.Int32(int32(id)), func(bsonx.Doc) bsonx.Doc { return doc })
			default:
				err = change(s, c, bsonx.Int32(int32(id)), func(bsonx.Doc) bsonx.Doc { return nil })
			}
			if err != nil && mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
				rt.Fatal(err)
			}
		}
		mustValid(t, s, c)
	})
}
