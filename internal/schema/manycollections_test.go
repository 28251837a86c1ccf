package schema_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// countingEngine counts operations that a disk would have to do.
type countingEngine struct {
	storage.Engine
	durable, commits, ranges atomic.Int64
	// deleting is the number of running deletions, and together its maximum.
	deleting, together atomic.Int64
}

func (e *countingEngine) Begin() storage.Txn { return &countingTxn{e.Engine.Begin(), e} }

func (e *countingEngine) DeleteRange(start, end []byte) error {
	e.ranges.Add(1)
	n := e.deleting.Add(1)
	defer e.deleting.Add(-1)
	for most := e.together.Load(); n > most && !e.together.CompareAndSwap(most, n); most = e.together.Load() {
	}
	time.Sleep(10 * time.Microsecond) // a deletion on disk takes at least this time
	return e.Engine.DeleteRange(start, end)
}

type countingTxn struct {
	storage.Txn
	engine *countingEngine
}

func (t *countingTxn) Commit(d storage.Durability) error {
	t.engine.commits.Add(1)
	if d == storage.Durable {
		t.engine.durable.Add(1)
	}
	return t.Txn.Commit(d)
}

// TestDropManyCollections drops databases of many collections. A drop must take one durable commit,
// and one deletion for each kind of key, for any number of collections.
func TestDropManyCollections(t *testing.T) {
	t.Parallel()
	const count = 300
	for name, create := range map[string]func(s *table.Store, name string) (*table.Collection, error){
		"plain": func(s *table.Store, name string) (*table.Collection, error) { return schema.Ensure(s, "db", name) },
		"indexed": func(s *table.Store, name string) (*table.Collection, error) {
			return schema.CreateNew(s, &schema.NewCollection{
				DB: "db", Name: name, Kind: catalog.KindCollection,
				Indexes: []bsonx.Doc{bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("a", 1), "name", "a_1")},
			})
		},
		"capped": func(s *table.Store, name string) (*table.Collection, error) {
			return schema.Create(s, "db", name, catalog.KindCollection, bsonx.NewDoc("capped", true, "size", 4096))
		},
		"views": func(s *table.Store, name string) (*table.Collection, error) {
			return schema.Create(s, "db", name, catalog.KindView,
				bsonx.NewDoc("viewOn", "x", "pipeline", bsonx.NewArray()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := &countingEngine{Engine: mem.New()}
			s := schematest.OpenLogged(t, engine, table.Options{})
			defer s.Close()
			for i := range count {
				c, err := create(s, fmt.Sprintf("c%d", i))
				if err == nil && i%7 == 0 && c.Kind == catalog.KindCollection {
					err = schematest.Insert(s, c, bsonx.NewDoc("_id", i, "a", i))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := schema.Ensure(s, "other", "c"); err != nil {
				t.Fatal(err)
			}
			durable, commits, ranges := engine.durable.Load(), engine.commits.Load(), engine.ranges.Load()
			if _, err := schema.DropDatabase(t.Context(), s, "db"); err != nil {
				t.Fatal(err)
			}
			durable, commits, ranges = engine.durable.Load()-durable,
				engine.commits.Load()-commits, engine.ranges.Load()-ranges
			if durable != 1 || commits > 10 || ranges > 10 {
				t.Errorf("%d durable commits, %d commits, %d deleted ranges", durable, commits, ranges)
			}
			if left := s.Catalog().Collections("db"); len(left) != 0 {
				t.Errorf("%d collections left", len(left))
			}
			if garbage, err := s.Catalog().Garbage(); err != nil || len(garbage) != 0 {
				t.Errorf("garbage left: %d, %v", len(garbage), err)
			}
		})
	}
}

// TestDropBetweenIndexes drops a collection whose identifiers surround the identifiers of a
// collection that stays, once by a rename and once by a drop.
func TestDropBetweenIndexes(t *testing.T) {
	t.Parallel()
	spec := func(path string) []bsonx.Doc {
		return []bsonx.Doc{bsonx.NewDoc("v", 2, "key", bsonx.NewDoc(path, 1), "name", path+"_1")}
	}
	for name, drop := range map[string]func(s *table.Store, kept, gone *table.Collection) error{
		"rename": func(s *table.Store, kept, gone *table.Collection) error {
			return rename(s, kept, "db", gone.Name, true)
		},
		"drop": func(s *table.Store, _, gone *table.Collection) error { return schema.Drop(s, gone) },
		"database": func(s *table.Store, _, gone *table.Collection) error {
			_, err := schema.DropDatabase(t.Context(), s, gone.DB)
			return err
		},
		"indexes": func(s *table.Store, _, gone *table.Collection) error {
			return schema.DropIndexes(s, gone, "a_1", "b_1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := mem.New()
			s := schematest.Open(t, engine)
			ensure := func(db, name string) *table.Collection {
				c, err := schema.Ensure(s, db, name)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			gone, kept := ensure("db", "gone"), ensure("kept", "kept")
			for _, build := range []struct {
				c    *table.Collection
				path string
			}{{gone, "a"}, {kept, "a"}, {gone, "b"}, {kept, "b"}} {
				if err := schema.CreateIndexes(t.Context(), s, s.Current(build.c), spec(build.path)); err != nil {
					t.Fatal(err)
				}
			}
			gone, kept = s.Current(gone), s.Current(kept)
			for i := range 5 {
				for _, c := range []*table.Collection{gone, kept} {
					if err := schematest.Insert(s, c,
						bsonx.NewDoc("_id", i, "a", bsonx.NewArray(i, -1), "b", i)); err != nil {
						t.Fatal(err)
					}
				}
			}
			sizes := func() []int {
				out := []int{countKeys(t, engine, kept.RecordPrefix())}
				for _, ix := range kept.Indexes {
					out = append(out, countKeys(t, engine, ix.Prefix()))
				}
				return out
			}
			before := sizes()
			if err := drop(s, kept, gone); err != nil {
				t.Fatal(err)
			}
			if after := sizes(); !slices.Equal(before, after) {
				t.Errorf("%v keys of what stays, were %v", after, before)
			}
			for _, ix := range gone.Indexes {
				if n := countKeys(t, engine, ix.Prefix()); n != 0 {
					t.Errorf("%d keys of a dropped index", n)
				}
			}
		})
	}
}

func countKeys(t *testing.T, engine storage.Engine, prefix []byte) (n int) {
	t.Helper()
	snap := engine.NewSnapshot()
	defer snap.Close()
	err := storage.Scan(snap, prefix, keyspace.PrefixEnd(prefix), func(_, _ []byte) error {
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDropByTurns drops one of two databases whose collections were created alternately. Ranges
// that cannot be joined must be deleted concurrently, so that one sync serves many of them.
func TestDropByTurns(t *testing.T) {
	t.Parallel()
	const count = 500
	engine := &countingEngine{Engine: mem.New()}
	s := schematest.Open(t, engine)
	for i := range count {
		for _, db := range []string{"gone", "kept"} {
			c, err := schema.Ensure(s, db, fmt.Sprintf("c%d", i))
			if err == nil {
				err = schematest.Insert(s, c, bsonx.NewDoc("_id", i))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := s.Catalog().Collections("gone")
	if _, err := schema.DropDatabase(t.Context(), s, "gone"); err != nil {
		t.Fatal(err)
	}
	if n := engine.together.Load(); n < 2 {
		t.Errorf("%d deletions at once of %d", n, engine.ranges.Load())
	}
	for i, e := range s.Catalog().Collections("kept") {
		if n := countKeys(t, engine, e.Attached.RecordPrefix()); n != 1 {
			t.Fatalf("%d records of the kept collection %d", n, i)
		}
	}
	for i, e := range gone {
		if n := countKeys(t, engine, e.Attached.RecordPrefix()); n != 0 {
			t.Fatalf("%d records of the dropped collection %d", n, i)
		}
	}
	if garbage, err := s.Catalog().Garbage(); err != nil || len(garbage) != 0 {
		t.Errorf("garbage left: %d, %v", len(garbage), err)
	}
}
