package schema_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// fullEngine refuses writes while its disk is full.
type fullEngine struct {
	storage.Engine
	full atomic.Bool
}

func (e *fullEngine) Begin() storage.Txn { return &fullTxn{e.Engine.Begin(), e} }

func (e *fullEngine) DeleteRange(start, end []byte) error {
	if e.full.Load() {
		return storage.ErrNoSpace
	}
	return e.Engine.DeleteRange(start, end)
}

type fullTxn struct {
	storage.Txn
	engine *fullEngine
}

func (t *fullTxn) Commit(d storage.Durability) error {
	if t.engine.full.Load() {
		return storage.ErrNoSpace
	}
	return t.Txn.Commit(d)
}

// left describes unfinished work that a step of Open completes.
type left struct {
	logged  bool // the store is opened with an oplog
	prepare func(t *testing.T, s *table.Store) error
	// done fails if the work is not completed.
	done func(s *table.Store) error
}

// withIndex adds an index to the catalog entry of c, in a state that an older version of the server
// or a crash leaves.
func withIndex(s *table.Store, ix func(id uint32) *catalog.Index) error {
	return s.Catalog().Update(func(ch *table.CatalogChange) error {
		entry := *ch.Lookup("db", "c")
		entry.Indexes = append(slices.Clone(entry.Indexes), ix(ch.NewID()))
		ch.Put(&entry)
		return nil
	})
}

var leftovers = map[string]left{
	"deleting dropped data": {
		prepare: func(_ *testing.T, s *table.Store) error {
			return s.Catalog().Update(func(ch *table.CatalogChange) error {
				return ch.Garbage(catalog.Range{Start: []byte{0xF0}, End: []byte{0xF1}})
			})
		},
		done: func(s *table.Store) error {
			garbage, err := s.Catalog().Garbage()
			if len(garbage) > 0 {
				err = errors.New("there is garbage")
			}
			return err
		},
	},
	"opening the log of changes": {
		logged:  true,
		prepare: func(*testing.T, *table.Store) error { return nil },
		done: func(s *table.Store) error {
			if s.Lookup("local", "oplog.rs") == nil {
				return errors.New("there is no log")
			}
			return nil
		},
	},
	"dropping unfinished collections": {
		prepare: func(_ *testing.T, s *table.Store) error {
			_, err := schema.Ensure(s, "db", schema.UnfinishedPrefix+"1")
			return err
		},
		done: func(s *table.Store) error {
			if s.Lookup("db", schema.UnfinishedPrefix+"1") != nil {
				return errors.New("the collection is there")
			}
			return nil
		},
	},
	"indexes of kinds that are new": {
		prepare: func(_ *testing.T, s *table.Store) error {
			return withIndex(s, func(id uint32) *catalog.Index {
				ix := catalog.NewIndex(id,
					schematest.Spec("g", bsonx.NewDoc("g", "2dsphere"), "2dsphereIndexVersion", 3))
				ix.Ready, ix.Enforced = true, true
				return ix
			})
		},
		done: func(s *table.Store) error {
			if ix := s.Catalog().Lookup("db", "c").Index("g"); ix.Ready && !ix.Filled {
				return errors.New("the index has no entries")
			}
			return nil
		},
	},
	"dropping interrupted rebuilds of indexes": {
		prepare: func(_ *testing.T, s *table.Store) error {
			return withIndex(s, func(id uint32) *catalog.Index {
				return catalog.NewIndex(id, schematest.Spec("\x00rebuild.n", bsonx.NewDoc("n", 1)))
			})
		},
		done: func(s *table.Store) error {
			if s.Catalog().Lookup("db", "c").Index("\x00rebuild.n") != nil {
				return errors.New("the index is there")
			}
			return nil
		},
	},
	"documents of views": {prepare: oldViews, done: func(s *table.Store) error { return wantViews(s, "v", "w") }},
}

// oldViews creates two views without documents in system.views, as older versions of the server
// did.
func oldViews(_ *testing.T, s *table.Store) error {
	for _, name := range []string{"v", "w"} {
		if _, err := schema.Create(s, "db", name, catalog.KindView,
			bsonx.NewDoc("viewOn", "c", "pipeline", bsonx.NewArray())); err != nil {
			return err
		}
	}
	views := s.Lookup("db", catalog.Views)
	return s.Catalog().Update(func(ch *table.CatalogChange) error {
		ch.Remove(views.Collection)
		return nil
	})
}

// wantViews fails unless system.views has exactly one document for each name.
func wantViews(s *table.Store, names ...string) error {
	c := s.Lookup("db", catalog.Views)
	if c == nil {
		return errors.New("there is no system.views")
	}
	count, err := s.Count(c)
	if err != nil {
		return err
	}
	if count.Count != int64(len(names)) {
		return errors.New("the count of system.views is wrong")
	}
	for _, name := range names {
		value, closer, err := s.Engine().Get(c.RecordKey(nil, bsonx.String("db."+name)))
		if err != nil {
			return err
		}
		viewOn := bsonx.Doc(value).Lookup("viewOn").Str()
		if err := closer.Close(); err != nil || viewOn != "c" {
			return errors.Join(err, errors.New("the document of "+name+" is wrong"))
		}
	}
	return nil
}

// TestOpenOnAFullDisk opens stores with unfinished work. On a full disk they must open for reading,
// or fail with advice if they would give wrong answers. The next start with free space must
// complete the work.
func TestOpenOnAFullDisk(t *testing.T) {
	t.Parallel()
	steps := schema.OpeningSteps()
	if len(steps) != len(leftovers) {
		t.Errorf("%d steps, %d cases", len(steps), len(leftovers))
	}
	for what, waits := range steps {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			state, known := leftovers[what]
			if !known {
				t.Fatal("no case")
			}
			engine := &fullEngine{Engine: mem.New()}
			reopen := func() (*table.Store, error) {
				if state.logged {
					return schema.OpenLogged(engine, schematest.Compiler{},
						slog.New(slog.DiscardHandler), table.Options{})
				}
				return schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
			}
			s, err := schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := schema.Ensure(s, "db", "c")
			if err := errors.Join(err, schematest.Insert(s, c, bsonx.NewDoc("_id", 1)),
				state.prepare(t, s)); err != nil {
				t.Fatal(err)
			}
			s.Close()
			engine.full.Store(true)
			s, err = reopen()
			switch {
			case waits && err != nil:
				t.Fatal(err)
			case waits:
				if state.done(s) == nil {
					t.Error("the step was done on a full disk")
				}
				if _, closer, err := engine.Get(s.Lookup("db", "c").RecordKey(nil, bsonx.Int32(1))); err != nil {
					t.Error(err)
				} else {
					_ = closer.Close()
				}
				s.Close()
			case !errors.Is(err, storage.ErrNoSpace) || !strings.Contains(err.Error(), "make space"):
				t.Errorf("got %v", err)
			}
			engine.full.Store(false)
			if s, err = reopen(); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := state.done(s); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestViewsAfterAFullDisk creates a view in a database whose older views have no documents in
// system.views. The older views must get their documents too.
func TestViewsAfterAFullDisk(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	if _, err := schema.Ensure(s, "db", "c"); err != nil {
		t.Fatal(err)
	}
	if err := oldViews(t, s); err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Create(s, "db", "x", catalog.KindView,
		bsonx.NewDoc("viewOn", "c", "pipeline", bsonx.NewArray())); err != nil {
		t.Fatal(err)
	}
	if err := wantViews(s, "v", "w", "x"); err != nil {
		t.Error(err)
	}
}
