package table_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/storage/pebble/crashdisk"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/torture"
)

// history makes random changes. It remembers the state of the store after each change since the
// last durable one: after a power loss the store must be in one of these states.
type history struct {
	t      *testing.T
	rng    *rand.Rand
	disk   *crashdisk.Disk
	engine storage.Engine
	store  *table.Store
	states []string
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 5)), disk: crashdisk.New()}
	engine, err := pebble.Open("store", pebble.Options{FS: h.disk, MemoryBudget: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	h.engine = engine
	h.store, err = schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.store.Close()
		_ = engine.Close()
	})
	h.states = []string{describe(t, h.store)}
	return h
}

// describe returns the contents of a store as text, after checking that its parts agree.
func describe(t *testing.T, s *table.Store) string {
	t.Helper()
	var b strings.Builder
	for _, e := range s.Catalog().All() {
		c := e.Attached
		var names []string
		for _, ix := range c.Indexes {
			names = append(names, ix.Name)
		}
		if err := schema.WaitIndexes(context.Background(), s, c, names...); err != nil {
			t.Fatal(err)
		}
		schematest.MustValid(t, s, c)
		fmt.Fprintf(&b, "%s %v\n", c.Namespace(), names)
		snap := s.Engine().NewSnapshot()
		it, err := snap.NewIter(c.RecordPrefix(), keyspace.PrefixEnd(c.RecordPrefix()))
		if err != nil {
			t.Fatal(err)
		}
		for ok := it.First(); ok; ok = it.Next() {
			doc, err := it.Value()
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(bsonx.FormatShell(bsonx.Document(doc)) + "\n")
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
		snap.Close()
	}
	return b.String()
}

// did records the state after a change. A durable change makes all earlier changes durable.
func (h *history) did(durable bool) {
	state := describe(h.t, h.store)
	if durable {
		h.states = h.states[:0]
	}
	h.states = append(h.states, state)
}

// loseEverythingUnsynced checks copies of the disk in states that a power loss may leave.
func (h *history) loseEverythingUnsynced() {
	h.t.Helper()
	for _, percent := range []int{0, 50} {
		h.checkClone(h.clone(percent), h.states)
	}
}

func (h *history) clone(percent int) *crashdisk.Disk {
	return h.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: h.rng})
}

func (h *history) checkClone(disk *crashdisk.Disk, allowed []string) {
	h.t.Helper()
	engine, err := pebble.Open("store", pebble.Options{FS: disk})
	if err != nil {
		h.t.Fatalf("open after the loss of power: %v", err)
	}
	defer engine.Close()
	s, err := schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer s.Close()
	found := describe(h.t, s)
	if garbage, err := s.Catalog().Garbage(); err != nil || len(garbage) > 0 {
		h.t.Errorf("%d ranges of dropped data are left: %v", len(garbage), err)
	}
	if !slices.Contains(allowed, found) {
		h.t.Fatalf("after the loss of power:\n%s\nit may be one of %d states, the newest:\n%s", found, len(allowed), allowed[len(allowed)-1])
	}
}

// write changes one document, at random with a durable commit.
func (h *history) write(c *table.Collection, seq int) {
	h.t.Helper()
	durability := storage.Buffered
	if h.rng.IntN(8) == 0 {
		durability = storage.Durable
	}
	if err := h.change(c, seq, durability); err != nil {
		h.t.Fatal(err)
	}
	h.did(durability == storage.Durable)
}

func (h *history) change(c *table.Collection, seq int, durability storage.Durability) error {
	w, err := h.store.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	id := bsonx.Int32(int32(h.rng.IntN(12)))
	doc := bsonx.NewDoc("_id", id, "seq", seq, "n", h.rng.IntN(5))
	if h.rng.IntN(3) == 0 {
		doc = bsonx.NewDoc("_id", id, "seq", seq, "n", bsonx.NewArray(1, h.rng.IntN(5)))
	}
	key := c.RecordKey(nil, id)
	old, err := w.Lock(context.Background(), key, nil)
	switch {
	case err != nil:
	case old == nil:
		err = w.Insert(context.Background(), doc)
	case h.rng.IntN(3) == 0:
		err = w.Delete(key, old)
	default:
		err = w.Update(context.Background(), key, old, doc, table.Modification)
	}
	if err != nil {
		return err
	}
	return w.Commit(durability)
}

// define makes a random change of the catalog, which is always durable.
func (h *history) define(seq int) {
	h.t.Helper()
	name := string(rune('a' + h.rng.IntN(3)))
	c := h.store.Lookup("db", name)
	var err error
	switch {
	case c == nil:
		_, err = schema.Ensure(h.store, "db", name)
	case h.rng.IntN(4) == 0:
		err = schema.Drop(h.store, c)
	case h.rng.IntN(4) == 0:
		err = rename(h.store, c, "db", string(rune('a'+h.rng.IntN(3))), true)
		if mongoerr.CodeOf(err) == mongoerr.IllegalOperation {
			return // renaming to the same name changes nothing
		}
	case len(c.Indexes) > 1:
		err = schema.DropIndexes(h.store, c, c.Indexes[h.rng.IntN(len(c.Indexes))].Name)
	default:
		err = h.build(c, fmt.Sprint("ix", seq))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.did(true)
}

// build builds an index and copies the disk between two of its steps. Opening the copy must
// complete the build.
func (h *history) build(c *table.Collection, name string) error {
	var interrupted *crashdisk.Disk
	ctx := &schematest.StepContext{Context: context.Background(), Step: func(n int) {
		if n == 1 {
			interrupted = h.clone(0)
		}
	}}
	err := schema.CreateIndexes(ctx, h.store, c, []bsonx.Doc{schematest.Spec(name, bsonx.NewDoc("n", 1, "seq", -1))})
	if err == nil {
		// The change that began the build was durable, so everything before it is durable too.
		h.checkClone(interrupted, []string{describe(h.t, h.store)})
	}
	return err
}

// TestPowerLoss drops unsynced data after random changes of records and of the catalog. Durable
// changes must survive, the surviving other changes must be a prefix, and indexes and counters must
// agree.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	run := torture.Begin(t)
	seeds := run.Rand(0)
	for run.Next(4, 10*time.Second) {
		seed := seeds.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			h := newHistory(t, seed)
			changes := 150
			if testing.Short() {
				changes = 50
			}
			for i := range changes {
				all := h.store.Catalog().All()
				if len(all) == 0 || h.rng.IntN(10) == 0 {
					h.define(i)
				} else {
					h.write(all[h.rng.IntN(len(all))].Attached, i)
				}
				if h.rng.IntN(8) == 0 {
					h.loseEverythingUnsynced()
				}
			}
			h.loseEverythingUnsynced()
		})
	}
}
