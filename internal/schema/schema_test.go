package schema_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// TestNamesAreTakenUnderTheLock uses collections that were looked up before a rename. They must not
// be dropped or renamed under their new name.
func TestNamesAreTakenUnderTheLock(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, _ := schema.Ensure(s, "db", "x")
	if err := rename(s, c, "other", "y", false); err != nil {
		t.Fatal(err)
	}
	if code := mongoerr.CodeOf(schema.Drop(s, c)); code != mongoerr.NamespaceNotFound {
		t.Errorf("drop of the old name: code %d", code)
	}
	if code := mongoerr.CodeOf(rename(s, c, "db", "z", false)); code != mongoerr.NamespaceNotFound {
		t.Errorf("rename of the old name: code %d", code)
	}
	c = s.Lookup("other", "y")
	if c == nil {
		t.Fatal("the renamed collection is gone")
	}
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
		t.Fatal(err)
	}
	if code := mongoerr.CodeOf(rename(s, c, "other", "y", true)); code != mongoerr.IllegalOperation {
		t.Errorf("rename onto itself: code %d", code)
	}
	if n := schematest.MustValid(t, s, c).Records; n != 1 {
		t.Errorf("%d records after a rename onto itself", n)
	}
}

// TestDropDatabaseIsInterrupted interrupts a drop after half of its collections were checked. All
// collections must stay.
func TestDropDatabaseIsInterrupted(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	const collections = 10
	for i := range collections {
		if _, err := schema.Ensure(s, "db", fmt.Sprint("c", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := schema.DropDatabase(interrupttest.EndAfter(t.Context(), collections/2), s,
		"db"); !errors.Is(err, interrupttest.ErrEnded) {
		t.Errorf("the drop: %v", err)
	}
	if left := len(s.Catalog().Collections("db")); left != collections {
		t.Errorf("%d collections of %d are left", left, collections)
	}
	if _, err := schema.DropDatabase(t.Context(), s, "db"); err != nil || len(s.Catalog().Collections("db")) > 0 {
		t.Errorf("the next drop: %v", err)
	}
}

// TestDropDatabaseBesideOthers drops databases while others drop, create and rename their
// collections.
func TestDropDatabaseBesideOthers(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := schematest.Open(t, engine)
	var wg sync.WaitGroup
	const rounds = 200
	for i := range rounds {
		db, kept := fmt.Sprint("db", i), fmt.Sprint("kept", i)
		a, _ := schema.Ensure(s, db, "a")
		b, _ := schema.Ensure(s, db, "b")
		var moved bool
		wg.Go(func() {
			if _, err := schema.DropDatabase(t.Context(), s, db); err != nil {
				t.Errorf("drop of the database: %v", err)
			}
		})
		wg.Go(func() {
			if err := schema.Drop(s, a); err != nil && mongoerr.CodeOf(err) != mongoerr.NamespaceNotFound {
				t.Error(err)
			}
		})
		wg.Go(func() { moved = rename(s, b, kept, "b", false) == nil })
		wg.Wait()
		if (s.Lookup(kept, "b") != nil) != moved {
			t.Fatalf("rename moved: %v, collection: %v", moved, s.Lookup(kept, "b") != nil)
		}
		if left := s.Catalog().Collections(db); len(left) > 0 {
			t.Fatalf("%d collections left", len(left))
		}
	}
}

// TestDropDatabaseThatIsDropped drops a database while another drop of it is about to commit. Only
// one of them may remove the collections, report that, and be in the oplog.
func TestDropDatabaseThatIsDropped(t *testing.T) {
	t.Parallel()
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	if _, err := schema.Ensure(s, "db", "c"); err != nil {
		t.Fatal(err)
	}
	armed := false
	s.Interleave(func() {
		if !armed {
			return
		}
		armed = false
		if dropped, err := schema.DropDatabase(t.Context(), s, "db"); err != nil || !dropped {
			t.Errorf("the drop in between: %v, %v", dropped, err)
		}
	})
	armed = true
	if dropped, err := schema.DropDatabase(t.Context(), s, "db"); err != nil || dropped || armed {
		t.Errorf("the drop: %v, %v", dropped, err)
	}
	logged := 0
	for _, entry := range schematest.Entries(t, s) {
		if strings.Contains(entry, "dropDatabase") {
			logged++
		}
	}
	if logged != 1 {
		t.Errorf("%d entries in the log", logged)
	}
}

// nested returns a document that is nested depth levels deep.
func nested(depth int) bsonx.Doc {
	d := bsonx.NewDoc()
	for range depth - 1 {
		d = bsonx.NewDoc("a", d)
	}
	return d
}

// TestDeepOptions creates collections with options nested as deep as a command allows, and deeper
// than the catalog can store. Options that were accepted must survive reopening the store.
func TestDeepOptions(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := schematest.Open(t, engine)
	for depth := 190; depth <= 201; depth++ {
		c, err := schema.Create(s, "db", fmt.Sprint("c", depth), catalog.KindCollection, nested(depth))
		if err != nil {
			if code := mongoerr.CodeOf(err); code != mongoerr.Overflow {
				t.Errorf("depth %d: %v", depth, err)
			}
			continue
		}
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
			t.Error(err)
		}
	}
	again, err := schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatalf("the store cannot be opened again: %v", err)
	}
	defer again.Close()
	if got, want := len(again.Catalog().All()), len(s.Catalog().All()); got != want || got == 0 {
		t.Errorf("%d collections after opening again, %d before", got, want)
	}
}

// TestRenameBesideNewTargets creates a view or a time-series collection with the target's name
// after a rename has looked up its target and before it commits. The rename must not drop it,
// because it may drop only collections.
func TestRenameBesideNewTargets(t *testing.T) {
	t.Parallel()
	for kind, create := range map[string]func(s *table.Store) error{
		"view": func(s *table.Store) error {
			_, err := schema.Create(s, "db", "y", catalog.KindView, bsonx.NewDoc("viewOn", "x"))
			return err
		},
		"time series": func(s *table.Store) error {
			_, err := schema.CreateTimeseries(s, "db", "y",
				bsonx.NewDoc("timeseries", bsonx.NewDoc("timeField", "t", "bucketMaxSpanSeconds", 3600)))
			return err
		},
	} {
		s := schematest.Open(t, mem.New())
		x, _ := schema.Ensure(s, "db", "x")
		if err := schematest.Insert(s, x, bsonx.NewDoc("_id", 1)); err != nil {
			t.Fatal(err)
		}
		armed := false
		s.Interleave(func() {
			if !armed {
				return
			}
			armed = false
			if err := create(s); err != nil {
				t.Errorf("create of the %s: %v", kind, err)
			}
		})
		armed = true
		if code := mongoerr.CodeOf(rename(s, x, "db", "y", true)); code != mongoerr.NamespaceExists || armed {
			t.Errorf("rename over a new %s: code %d", kind, code)
		}
		var names []string
		for _, e := range s.Catalog().Collections("db") {
			names = append(names, e.Name)
		}
		want := []string{catalog.Views, "x", "y"}
		if kind == "time series" {
			want = []string{"system.buckets.y", catalog.Views, "x", "y"}
		}
		if !slices.Equal(names, want) {
			t.Errorf("after a rename over a new %s the database has %q", kind, names)
		}
		if n, err := s.Count(s.Lookup("db", catalog.Views)); err != nil || n.Count != 1 {
			t.Errorf("after a rename over a new %s system.views has %d documents, %v", kind, n.Count, err)
		}
	}
}

// rename gives c another name. If drop is true, it may replace an existing collection.
func rename(s *table.Store, c *table.Collection, db, name string, drop bool) error {
	return schema.RenameOver(s, c, db, name, false, schema.Droppable(drop))
}
