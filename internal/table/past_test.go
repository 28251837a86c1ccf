package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
)

const pastLimit = 1 << 20

// contents returns the documents of a collection that a View sees, by _id. It also checks that the
// indexes have exactly the entries of these documents.
func contents(t testing.TB, txn table.View, db, name string) map[string]string {
	t.Helper()
	c, err := txn.Lookup(db, name)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	if c == nil {
		return out
	}
	read := func(prefix []byte) (n int) {
		it, err := txn.Pin().NewIter(prefix, keyspace.PrefixEnd(prefix))
		if err != nil {
			t.Fatal(err)
		}
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
			if n++; string(prefix) != string(c.RecordPrefix()) {
				continue
			}
			value, err := it.Value()
			if err != nil {
				t.Fatal(err)
			}
			out[bsonx.FormatShell(bsonx.Doc(value).Lookup("_id"))] = bson.Raw(value).String()
		}
		return n
	}
	read(c.RecordPrefix())
	for _, ix := range c.Indexes {
		if n := read(ix.Prefix()); ix.Name == "a_1" && n != len(out) {
			t.Errorf("index %s has %d entries for %d documents", ix.Name, n, len(out))
		}
	}
	return out
}

// TestPast changes collections at random, in single writes and in transactions, and reads their
// state at random earlier times.
func TestPast(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testPast(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func testPast(t *testing.T, r *rand.Rand) {
	ctx := t.Context()
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	type moment struct {
		at   storage.Stamp
		docs [2]map[string]string
	}
	now := moment{docs: [2]map[string]string{{}, {}}}
	var moments []moment
	names := [2]string{"one", "two"}
	for range 200 {
		switch r.IntN(12) {
		case 0:
			schematest.NoError(t, s.History().Take())
		case 1:
			if c := s.Lookup("d", names[0]); c != nil && len(c.Indexes) == 0 {
				schematest.NoError(t, schema.CreateIndexes(ctx, s, c,
					[]bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("a", 1), "name", "a_1")}))
			}
			continue
		}
		txn := s.BeginTxn(table.TxnOptions{})
		for range 1 + r.IntN(3) {
			i := r.IntN(2)
			randomWrite(t, r, txn, names[i], now.docs[i])
		}
		schematest.NoError(t, txn.Commit(storage.Buffered))
		if txn.Stamp() == 0 {
			continue
		}
		now.at = txn.Stamp()
		moments = append(moments,
			moment{at: now.at, docs: [2]map[string]string{maps.Clone(now.docs[0]), maps.Clone(now.docs[1])}})
	}
	for _, m := range moments {
		txn, err := s.BeginPast(ctx, m.at, pastLimit)
		schematest.NoError(t, err)
		for i, name := range names {
			if got := contents(t, txn, "d", name); !maps.Equal(got, m.docs[i]) {
				t.Errorf("%s at %x: %v, want %v", name, m.at, got, m.docs[i])
			}
		}
		txn.Abort()
	}
}

// randomWrite inserts, updates, replaces or deletes a document, and makes the same change in docs.
func randomWrite(t *testing.T, r *rand.Rand, txn *table.Txn, name string, docs map[string]string) {
	t.Helper()
	ctx := t.Context()
	c, err := txn.Ensure("d", name)
	schematest.NoError(t, err)
	w, err := txn.BeginWrite(c)
	schematest.NoError(t, err)
	defer w.Close()
	id := r.IntN(8)
	key := c.RecordKey(nil, bsonx.Int32(int32(id)))
	doc := bsonx.NewDoc("_id", id, "a", r.IntN(1000), "b",
		bsonx.NewDoc("x", r.IntN(3), "y", strings.Repeat("y", r.IntN(9))))
	old, err := w.Lock(ctx, key, nil)
	schematest.NoError(t, err)
	text := bsonx.FormatShell(doc.Lookup("_id"))
	switch {
	case old == nil:
		schematest.NoError(t, w.Insert(ctx, doc))
	case r.IntN(3) == 0:
		schematest.NoError(t, w.Delete(key, old))
		delete(docs, text)
		schematest.NoError(t, w.Commit(storage.Buffered))
		return
	default:
		schematest.NoError(t, w.Update(ctx, key, old, doc,
			[]table.Change{table.Modification, table.Replacement}[r.IntN(2)]))
	}
	docs[text] = bson.Raw(doc).String()
	schematest.NoError(t, w.Commit(storage.Buffered))
}

// TestPastBesideWriters moves amounts between documents while others read earlier states. The sum
// of the amounts must be the same at all times.
func TestPastBesideWriters(t *testing.T) {
	engine, err := pebble.Open(t.TempDir(), pebble.Options{})
	schematest.NoError(t, err)
	defer engine.Close()
	s := schematest.OpenLogged(t, engine, table.Options{})
	defer s.Close()
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	const accounts = 8
	for i := range accounts {
		schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", i, "n", 100)))
	}
	first := s.Engine().Order().Visible()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for ctx.Err() == nil {
				if err := transfer(ctx, s, r.IntN(accounts), r.IntN(accounts)); err != nil &&
					!errors.Is(err, storage.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if err := s.History().Take(); err != nil {
				t.Error(err)
			}
		}
	})
	r, reads := rand.New(rand.NewPCG(9, 1)), 0
	for ; ctx.Err() == nil; reads++ {
		at := first + storage.Stamp(r.Uint64N(uint64(s.Engine().Order().Visible()-first)+1))
		txn, err := s.BeginPast(context.Background(), at, pastLimit)
		schematest.NoError(t, err)
		it, err := txn.Pin().NewIter(c.RecordPrefix(), keyspace.PrefixEnd(c.RecordPrefix()))
		schematest.NoError(t, err)
		sum := int32(0)
		for ok := it.First(); ok; ok = it.Next() {
			value, err := it.Value()
			schematest.NoError(t, err)
			sum += bsonx.Doc(value).Lookup("n").Int32()
		}
		schematest.NoError(t, it.Close())
		txn.Abort()
		if sum != accounts*100 {
			t.Fatalf("at %x there are %d", at, sum)
		}
	}
	all.Wait()
	t.Logf("%d reads", reads)
}

// transfer moves 1 from one document to another.
func transfer(ctx context.Context, s *table.Store, from, to int) error {
	txn := s.BeginTxn(table.TxnOptions{})
	defer txn.Abort()
	c, err := txn.Lookup("d", "c")
	if err != nil || from == to {
		return err
	}
	w, err := txn.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	for id, by := range map[int]int32{from: -1, to: 1} {
		key := c.RecordKey(nil, bsonx.Int32(int32(id)))
		old, err := w.Lock(ctx, key, nil)
		if err != nil {
			return err
		}
		doc := bsonx.NewDoc("_id", id, "n", old.Lookup("n").Int32()+by)
		if err := w.Update(ctx, key, old, doc, table.Modification); err != nil {
			return err
		}
	}
	if err := w.Commit(storage.Buffered); err != nil {
		return err
	}
	return txn.Commit(storage.Buffered)
}

// TestPastCatalog reads at times shortly before and after changes of the catalog.
func TestPastCatalog(t *testing.T) {
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	create := func(name string) *table.Collection {
		c, err := schema.Create(s, "d", name, catalog.KindCollection, nil)
		schematest.NoError(t, err)
		return c
	}
	visible := s.Engine().Order().Visible
	before := visible()
	kept, dropped := create("kept"), create("dropped")
	schematest.NoError(t, schematest.Insert(s, kept, bsonx.NewDoc("_id", 1)))
	schematest.NoError(t, schematest.Insert(s, dropped, bsonx.NewDoc("_id", 1)))
	both := visible()
	schematest.NoError(t, schema.Drop(s, dropped))
	schematest.NoError(t, schematest.Insert(s, kept, bsonx.NewDoc("_id", 2)))

	txn, err := s.BeginPast(t.Context(), before, pastLimit)
	schematest.NoError(t, err)
	if c, err := txn.Lookup("d", "kept"); c != nil || err != nil {
		t.Errorf("before it was made: %v, %v", c, err)
	}
	txn.Abort()
	txn, err = s.BeginPast(t.Context(), both, pastLimit)
	schematest.NoError(t, err)
	defer txn.Abort()
	if got := contents(t, txn, "d", "kept"); len(got) != 1 {
		t.Errorf("the collection has %v", got)
	}
	if _, err := txn.Lookup("d", "dropped"); mongoerr.CodeOf(err) != mongoerr.SnapshotUnavailable {
		t.Errorf("a collection that was dropped: %v", err)
	}
	if _, err := txn.Create("d", "new", nil); mongoerr.CodeOf(err) != mongoerr.OperationNotSupportedInTransaction {
		t.Errorf("create: %v", err)
	}
	if _, err := txn.BeginWrite(kept); mongoerr.CodeOf(err) != mongoerr.OperationNotSupportedInTransaction {
		t.Errorf("write: %v", err)
	}
	if _, err := s.BeginPast(t.Context(), visible(), 10); mongoerr.CodeOf(err) != mongoerr.SnapshotUnavailable {
		t.Errorf("more than the limit: %v", err)
	}
}

// TestPastBesideIndexes reads at times between which a unique index was dropped and created.
// Documents that were valid at the time must not be refused.
func TestPastBesideIndexes(t *testing.T) {
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	unique := []bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("a", 1), "name", "a_1", "unique", true)}
	schematest.NoError(t, schema.CreateIndexes(t.Context(), s, c, unique))
	schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", 1, "a", 1)))
	schematest.NoError(t, s.History().Take())
	schematest.NoError(t, schema.DropIndexes(s, s.Current(c), "a_1"))
	schematest.NoError(t, schematest.Insert(s, s.Current(c), bsonx.NewDoc("_id", 2, "a", 1)))
	at := s.Engine().Order().Visible()
	schematest.NoError(t, schema.Drop(s, s.Lookup("d", "c")))

	c, err = schema.Create(s, "d", "e", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", 1, "a", 1)))
	schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", 2, "a", 1)))
	then := s.Engine().Order().Visible()
	w, err := s.BeginWrite(c)
	schematest.NoError(t, err)
	old, err := w.Lock(t.Context(), c.RecordKey(nil, bsonx.Int32(2)), nil)
	schematest.NoError(t, err)
	schematest.NoError(t, w.Delete(c.RecordKey(nil, bsonx.Int32(2)), old))
	schematest.NoError(t, w.Commit(storage.Buffered))
	w.Close()
	schematest.NoError(t, schema.CreateIndexes(t.Context(), s, c, unique))

	txn, err := s.BeginPast(t.Context(), at, pastLimit)
	schematest.NoError(t, err)
	txn.Abort()
	txn, err = s.BeginPast(t.Context(), then, pastLimit)
	schematest.NoError(t, err)
	defer txn.Abort()
	if got := contents(t, txn, "d", "e"); len(got) != 2 {
		t.Errorf("the collection has %v", got)
	}
}

// TestHistoryEnds checks that the history drops snapshots older than its window, except the newest
// of them, and except snapshots that are being read.
func TestHistoryEnds(t *testing.T) {
	clock := clocktest.New(time.Unix(1000, 0))
	s := schematest.OpenLogged(t, mem.New(), table.Options{Clock: clock})
	defer s.Close()
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	var stamps []storage.Stamp
	var reading *table.Past
	for i := range 5 {
		clock.Advance(4 * time.Second)
		schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", i)))
		stamps = append(stamps, s.Engine().Order().Visible())
		schematest.NoError(t, s.History().Take())
		if i == 0 { // later the history may drop the snapshot by its own timer
			reading, err = s.BeginPast(t.Context(), stamps[0], pastLimit)
			schematest.NoError(t, err)
		}
	}
	s.History().Keep(changelog.DefaultHistory)
	var readable []int
	for i, at := range stamps {
		txn, err := s.BeginPast(t.Context(), at, pastLimit)
		switch {
		case err == nil:
			readable = append(readable, i)
			txn.Abort()
		case !errors.Is(err, changelog.ErrPastGone):
			t.Error(err)
		}
	}
	// The snapshots are 16, 12, 8, 4 and 0 seconds old. The times after the one of 12 seconds need
	// it.
	if !slices.Equal(readable, []int{1, 2, 3, 4}) {
		t.Errorf("readable: %v", readable)
	}
	if got := contents(t, reading, "d", "c"); len(got) != 1 {
		t.Errorf("what was being read has %v", got)
	}
	reading.Abort()
	s.History().Keep(0)
	if _, err := s.BeginPast(t.Context(), stamps[4], pastLimit); !errors.Is(err, changelog.ErrPastGone) {
		t.Errorf("without a history: %v", err)
	}
}

// watched is an engine that records the lower bounds of the iterators of its snapshots.
type watched struct {
	storage.Engine
	mu     sync.Mutex
	lowers [][]byte
}

type watchedSnapshot struct {
	storage.Snapshot
	engine *watched
}

func (w *watched) NewSnapshot() storage.Snapshot {
	return watchedSnapshot{w.Engine.NewSnapshot(), w}
}

func (s watchedSnapshot) NewIter(lower, upper []byte) (storage.Iterator, error) {
	s.engine.mu.Lock()
	s.engine.lowers = append(s.engine.lowers, bytes.Clone(lower))
	s.engine.mu.Unlock()
	return s.Snapshot.NewIter(lower, upper)
}

// TestPointReadsNoEntries checks that taking a snapshot for the history reads no oplog entry that
// was visible before.
func TestPointReadsNoEntries(t *testing.T) {
	engine := &watched{Engine: mem.New()}
	s := schematest.OpenLogged(t, engine, table.Options{})
	defer s.Close()
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	for i := range 5 {
		schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", i)))
	}
	visible := s.Oplog().StampKey(nil, s.Engine().Order().Visible())
	engine.mu.Lock()
	engine.lowers = nil
	engine.mu.Unlock()
	schematest.NoError(t, s.History().Take())
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if len(engine.lowers) == 0 {
		t.Error("the snapshot did not look for newer entries")
	}
	for _, lower := range engine.lowers {
		if bytes.Compare(lower, visible) <= 0 {
			t.Errorf("an iterator begins at %x, before the end of the log %x", lower, visible)
		}
	}
}
