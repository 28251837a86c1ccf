package table_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
)

func capped(t testing.TB, s *table.Store, name string, size, limit int) *table.Collection {
	t.Helper()
	c, err := schema.Create(s, "db", name, catalog.KindCollection,
		bsonx.NewDoc("capped", true, "size", size, "max", limit))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// record is a record that a scan has returned.
type record struct {
	key []byte
	doc bsonx.Doc
}

func records(t testing.TB, s *table.Store, c *table.Collection) []record {
	t.Helper()
	snap := s.Engine().NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(c.RecordPrefix(), keyspace.PrefixEnd(c.RecordPrefix()))
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	var out []record
	for ok := it.First(); ok; ok = it.Next() {
		doc, err := it.Value()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, record{slices.Clone(it.Key()), bsonx.Doc(doc).Clone()})
	}
	return out
}

// ids returns the _ids in natural order.
func ids(t testing.TB, s *table.Store, c *table.Collection) string {
	t.Helper()
	var out []string
	for _, r := range records(t, s, c) {
		out = append(out, bsonx.FormatShell(r.doc.Lookup("_id")))
	}
	return strings.Join(out, " ")
}

// remove deletes the n-th record.
func remove(t testing.TB, s *table.Store, c *table.Collection, n int) {
	t.Helper()
	key := records(t, s, c)[n].key
	w, err := s.BeginWrite(c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	doc, err := w.Lock(context.Background(), key, nil)
	if err != nil || doc == nil {
		t.Fatalf("lock: %v, %v", doc, err)
	}
	if err := w.Delete(key, doc); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
}

func TestCappedEvictsByCountAndSize(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c := capped(t, s, "n", 1<<20, 3)
	for i := range 5 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 9-i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(t, s, c); got != "7 6 5" {
		t.Errorf("by count: %s", got)
	}
	schematest.MustValid(t, s, c)

	one := bsonx.NewDoc("_id", 1, "x", strings.Repeat("x", 100))
	c = capped(t, s, "s", 2*len(one), 0)
	for i := range 5 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i, "x", strings.Repeat("x", 100))); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(t, s, c); got != "3 4" {
		t.Errorf("by size: %s", got)
	}
	// A document that is larger than the collection replaces all others.
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 10, "x", strings.Repeat("x", 1000))); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, s, c); got != "10" {
		t.Errorf("too large a document: %s", got)
	}
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 10)); mongoerr.CodeOf(err) != mongoerr.DuplicateKey {
		t.Errorf("duplicate of the record that would be evicted: %v", err)
	}
	schematest.MustValid(t, s, c)
}

// TestCappedBatch inserts so many documents in one transaction that the transaction evicts some of
// its own documents.
func TestCappedBatch(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c := capped(t, s, "c", 1<<20, 3)
	if err := schema.CreateIndexes(context.Background(), s, c,
		[]bsonx.Doc{schematest.Spec("u_1", bsonx.NewDoc("u", 1), "unique", true)}); err != nil {
		t.Fatal(err)
	}
	w, err := s.BeginWrite(c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := w.Insert(context.Background(), bsonx.NewDoc("_id", i, "u", i%4)); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := w.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := ids(t, s, c); got != "97 98 99" {
		t.Errorf("got %s", got)
	}
	schematest.MustValid(t, s, s.Current(c))
}

func TestCappedDuplicateID(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c := capped(t, s, "c", 1<<20, 3)
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
		t.Fatal(err)
	}
	err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1.0))
	want := "E11000 duplicate key error collection: db.c index: _id_ dup key: { _id: 1.0 } (DuplicateKey)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestCappedReopen checks that sequences continue after the last record when the store is reopened,
// also after the newest records were deleted and after a transaction was rolled back.
func TestCappedReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 3 {
		engine, err := pebble.Open(dir, pebble.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Lookup("db", "c")
		if c == nil {
			c = capped(t, s, "c", 1<<20, 4)
		}
		for i := range 3 {
			if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 10*round+i)); err != nil {
				t.Fatal(err)
			}
		}
		w, err := s.BeginWrite(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Insert(context.Background(), bsonx.NewDoc("_id", "given up")); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if round == 1 {
			remove(t, s, c, len(records(t, s, c))-1)
		}
		want := [...]string{"0 1 2", "2 10 11", "11 20 21 22"}[round]
		if got := ids(t, s, c); got != want {
			t.Errorf("round %d: got %s, want %s", round, got, want)
		}
		schematest.MustValid(t, s, c)
		s.Close()
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCappedConcurrency runs inserters, updaters and deleters on one collection while a reader
// follows. The reader must never see a record before the last one that it has seen, and must see
// each inserter's documents in their order.
func TestCappedConcurrency(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c := capped(t, s, "c", 1<<20, 20)
	const inserters, each = 4, 100
	stop := make(chan struct{})
	var writers, others sync.WaitGroup
	for n := range inserters {
		writers.Go(func() {
			for i := range each {
				for {
					err := schematest.Insert(s, c, bsonx.NewDoc("_id", fmt.Sprintf("%d/%d", n, i), "n", n, "i", i))
					if err == nil {
						break
					}
					if !errors.Is(err, storage.ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	others.Go(func() { disturb(t, s, c, stop) })
	others.Go(func() { follow(t, s, c, stop) })
	writers.Wait()
	close(stop)
	others.Wait()
	if n := schematest.MustValid(t, s, c).Records; n > 20 {
		t.Errorf("%d records", n)
	}
}

// disturb updates and deletes the oldest record, which is also the next record to be evicted.
func disturb(t *testing.T, s *table.Store, c *table.Collection, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		all := records(t, s, c)
		if len(all) == 0 {
			continue
		}
		err := func() error {
			w, err := s.BeginWrite(c)
			if err != nil {
				return err
			}
			defer w.Close()
			doc, err := w.Lock(context.Background(), all[0].key, nil)
			if err != nil || doc == nil {
				return err
			}
			if n%4 == 0 {
				err = w.Delete(all[0].key, doc)
			} else {
				err = w.Update(context.Background(), all[0].key, doc,
					bsonx.NewDoc("_id", doc.Lookup("_id"), "n", -1, "i", n), table.Modification)
			}
			if err != nil {
				return err
			}
			return w.Commit(storage.Buffered)
		}()
		if err != nil && !errors.Is(err, storage.ErrConflict) {
			t.Error(err)
			return
		}
	}
}

func follow(t *testing.T, s *table.Store, c *table.Collection, stop <-chan struct{}) {
	seen := map[string]bool{}
	last := int64(0)
	for {
		select {
		case <-stop:
			return
		default:
		}
		newest := last
		for _, r := range records(t, s, c) {
			sequence, err := table.Sequence(r.key)
			if err != nil {
				t.Error(err)
				return
			}
			if sequence <= last && !seen[string(r.key)] {
				t.Errorf("record %d appeared behind record %d", sequence, last)
				return
			}
			seen[string(r.key)] = true
			newest = max(newest, sequence)
		}
		last = newest
	}
}

func TestCappedArrivals(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c := capped(t, s, "c", 1<<20, 2)
	heardWithin := func(arrivals <-chan struct{}, patience time.Duration) bool {
		select {
		case <-arrivals:
			return true
		case <-time.After(patience):
			return false
		}
	}
	heard := func(arrivals <-chan struct{}) bool { return heardWithin(arrivals, 10*time.Second) }
	arrivals, _ := c.Arrivals()
	w, err := s.BeginWrite(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Insert(context.Background(), bsonx.NewDoc("_id", 1)); err != nil {
		t.Fatal(err)
	}
	if heardWithin(arrivals, 10*time.Millisecond) {
		t.Error("an insert was announced before its commit")
	}
	if err := w.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if !heard(arrivals) {
		t.Error("an insert was not announced")
	}
	// An insert that evicts does not change the number of records.
	for i := range 3 {
		arrivals, _ = c.Arrivals()
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 10+i)); err != nil {
			t.Fatal(err)
		}
		if !heard(arrivals) {
			t.Error("an insert with an eviction was not announced")
		}
	}
	arrivals, _ = c.Arrivals()
	if err := rename(s, c, "db", "other", false); err != nil {
		t.Fatal(err)
	}
	if !heard(arrivals) {
		t.Error("a rename was not announced")
	}
	c = s.Lookup("db", "other")
	arrivals, _ = c.Arrivals()
	if err := schema.Drop(s, c); err != nil {
		t.Fatal(err)
	}
	if !heard(arrivals) {
		t.Error("a drop was not announced")
	}
}

// TestCappedTrim makes a collection much smaller and checks that an insert does not evict
// everything in one transaction.
func TestCappedTrim(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c := capped(t, s, "c", 1<<20, 0)
	for i := range 3000 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := schema.Modify(s, c,
		&schema.CollMod{Options: bsonx.NewDoc("capped", true, "size", 1<<20, "max", 2)}); err != nil {
		t.Fatal(err)
	}
	c = s.Current(c)
	if n := len(records(t, s, c)); n != 3000 {
		t.Errorf("%d records before the next insert", n)
	}
	if err := s.Trim(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", "new")); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, s, c); got != `2999 "new"` {
		t.Errorf("got %s", got)
	}
	schematest.MustValid(t, s, c)
}

func TestConvert(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	ctx := context.Background()
	c, err := schema.Ensure(s, "db", "c")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i, "a", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := schema.CreateIndexes(ctx, s, c, []bsonx.Doc{schematest.Spec("a_1", bsonx.NewDoc("a", 1))}); err != nil {
		t.Fatal(err)
	}
	options := bsonx.NewDoc("capped", true, "size", 1<<20, "max", 2)
	if err := schema.Clone(ctx, s, s.Current(c), "db", "copy", options); err != nil {
		t.Fatal(err)
	}
	if err := schema.Clone(ctx, s, s.Current(c), "db", "copy",
		options); mongoerr.CodeOf(err) != mongoerr.NamespaceExists {
		t.Errorf("clone over a collection: %v", err)
	}
	c = s.Current(c)
	if err := schema.Convert(ctx, s, c, options); err != nil {
		t.Fatal(err)
	}
	if s.Current(c) != nil {
		t.Error("the old collection is still there")
	}
	for _, name := range []string{"c", "copy"} {
		n := s.Lookup("db", name)
		if got := ids(t, s, n); got != "998 999" || len(n.Indexes) != 0 || n.UUID == c.UUID {
			t.Errorf("%s: %s, %d indexes", name, got, len(n.Indexes))
		}
		if err := schematest.Insert(s, n, bsonx.NewDoc("_id", "new")); err != nil {
			t.Fatal(err)
		}
		if got := ids(t, s, n); got != `999 "new"` {
			t.Errorf("%s: %s", name, got)
		}
		schematest.MustValid(t, s, n)
	}
	if garbage, err := s.Catalog().Garbage(); err != nil || len(garbage) > 0 {
		t.Errorf("%d ranges of garbage, %v", len(garbage), err)
	}
	if err := schema.Convert(ctx, s, c, options); mongoerr.CodeOf(err) != mongoerr.NamespaceNotFound {
		t.Errorf("convert after a drop: %v", err)
	}
}

// TestConvertFails checks that a conversion whose copy fails leaves everything unchanged.
func TestConvertFails(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := schematest.Open(t, engine)
	c, err := schema.Ensure(s, "db", "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := schema.Convert(ctx, s, c, bsonx.NewDoc("capped", true, "size", 100)); err == nil {
		t.Fatal("no error")
	}
	if s.Lookup("db", "c") != c {
		t.Error("the collection is another one")
	}
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 2)); err != nil {
		t.Fatal(err)
	}
	schematest.MustValid(t, s, c)
	if garbage, err := s.Catalog().Garbage(); err != nil || len(garbage) > 0 {
		t.Errorf("%d ranges of garbage, %v", len(garbage), err)
	}
}

// TestCappedRandom applies random operations to a capped collection and to a slice, and compares
// them.
func TestCappedRandom(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := schematest.Open(t, mem.New())
		limit := rapid.IntRange(0, 5).Draw(rt, "max")
		size := rapid.IntRange(30, 300).Draw(rt, "size")
		c, err := schema.Create(s, "db", "c", catalog.KindCollection,
			bsonx.NewDoc("capped", true, "size", size, "max", limit))
		if err != nil {
			rt.Fatal(err)
		}
		var model []bsonx.Doc
		tooLarge := func() bool {
			n := 0
			for _, d := range model {
				n += len(d)
			}
			return len(model) > 1 && (n > size || limit > 0 && len(model) > limit)
		}
		for step := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			if len(model) > 0 && rapid.IntRange(0, 4).Draw(rt, "kind") == 0 {
				n := rapid.IntRange(0, len(model)-1).Draw(rt, "deleted")
				remove(t, s, c, n)
				model = slices.Delete(model, n, n+1)
				continue
			}
			doc := bsonx.NewDoc("_id", step, "x", strings.Repeat("x", rapid.IntRange(0, 100).Draw(rt, "length")))
			if err := schematest.Insert(s, c, doc); err != nil {
				rt.Fatal(err)
			}
			for model = append(model, doc); tooLarge(); {
				model = model[1:]
			}
			got := records(t, s, c)
			if len(got) != len(model) {
				rt.Fatalf("%d records, want %d", len(got), len(model))
			}
			for i := range got {
				if !got[i].doc.Equal(model[i]) {
					rt.Fatalf("record %d is another one", i)
				}
			}
		}
		schematest.MustValid(t, s, c)
	})
}
