package table_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// TestUnfilledIndexIsBuilt opens a store with an index that is marked complete but has no entries.
// Earlier versions of the server created such indexes if they did not support the type. Opening the
// store must build the index.
func TestUnfilledIndexIsBuilt(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s, c := hashedStore(t, engine)
	for id := range 10 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", id, "a", id%3)); err != nil {
			t.Fatal(err)
		}
	}
	ix := s.Current(c).Indexes[0]
	s.Close()
	forget(t, engine, c, ix)

	s = schematest.Open(t, engine)
	c = s.Lookup("db", "c")
	if err := schema.WaitIndexes(context.Background(), s, c, "a_hashed"); err != nil {
		t.Fatal(err)
	}
	if n := schematest.MustValid(t, s, s.Current(c)).KeysPerIndex["a_hashed"]; n != 10 {
		t.Fatalf("%d entries, want 10", n)
	}
}

// reopen opens the store of an engine again. The test closes it.
func reopen(t *testing.T, engine storage.Engine) *table.Store {
	t.Helper()
	s, err := schema.Open(engine, schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func hashedStore(t *testing.T, engine storage.Engine) (*table.Store, *table.Collection) {
	t.Helper()
	s := reopen(t, engine)
	c, err := schema.Ensure(s, "db", "c")
	if err != nil {
		t.Fatal(err)
	}
	specs := []bsonx.Doc{schematest.Spec("a_hashed", bsonx.NewDoc("a", "hashed"))}
	if err := schema.CreateIndexes(context.Background(), s, c, specs); err != nil {
		t.Fatal(err)
	}
	return s, s.Current(c)
}

// forget removes an index's entries and its mark Filled, as an earlier version left it.
func forget(t *testing.T, engine storage.Engine, c *table.Collection, ix *table.Index) {
	t.Helper()
	txn := engine.Begin()
	defer txn.Rollback()
	it, err := txn.NewIter(ix.Prefix(), keyspace.PrefixEnd(ix.Prefix()))
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]byte
	for ok := it.First(); ok; ok = it.Next() {
		keys = append(keys, append([]byte(nil), it.Key()...))
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if err := txn.Delete(key); err != nil {
			t.Fatal(err)
		}
	}
	key := binary.BigEndian.AppendUint32([]byte{0x02, 'c'}, c.ID)
	raw, closer, err := engine.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	entry := bsonx.NewBuilder(nil)
	entry.StartDoc()
	for it := bsonx.Doc(raw).Iter(); it.Next(); {
		if string(it.Key()) != "indexes" {
			entry.ValueBytes(it.Key(), it.Value())
		}
	}
	entry.StartArrayField("indexes")
	entry.Elem(bsonx.Document(bsonx.NewDoc("id", int64(ix.ID), "spec", ix.Spec, "ready", true)))
	entry.End()
	entry.End()
	if err := txn.Put(key, entry.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := txn.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
}

// TestHashedRefusesArrays checks that a document with an array on the path of a hashed field is
// refused.
func TestHashedRefusesArrays(t *testing.T) {
	t.Parallel()
	s, c := hashedStore(t, mem.New())
	defer s.Close()
	err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1, "a", bsonx.Array(bsonx.NewDoc())))
	if mongoerr.CodeOf(err) != 16766 {
		t.Fatalf("insert: %v", err)
	}
	if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 1)); err != nil {
		t.Fatal(err)
	}
	schematest.MustValid(t, s, c)
}

// TestWildcardPaths checks that a reader knows the array paths of a wildcard index after the
// commit, and after the store was opened again.
func TestWildcardPaths(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	s := reopen(t, engine)
	txn := s.BeginTxn(table.TxnOptions{})
	c, err := txn.Create("db", "c", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := txn.CreateIndexes(c, []bsonx.Doc{schematest.Spec("w", bsonx.NewDoc("$**", 1))}); err != nil {
		t.Fatal(err)
	}
	if c, err = txn.Lookup("db", "c"); err != nil {
		t.Fatal(err)
	}
	w, err := txn.BeginWrite(c)
	if err != nil {
		t.Fatal(err)
	}
	array := bsonx.ValueOf([]bsonx.Value{bsonx.Int32(1), bsonx.Int32(2)})
	if err := w.Insert(context.Background(), bsonx.NewDoc("_id", 1, "", array)); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := txn.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
	c = s.Lookup("db", "c")
	for i := range 1100 {
		if err := schematest.Insert(s, c,
			bsonx.NewDoc("_id", 2+i, fmt.Sprint("f", i%(i/1000*90+10)), bsonx.NewDoc("a", array))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		schematest.MustValid(t, s, c)
		arrays := c.Indexes[0].ArrayPaths()
		if arrays.Components("f7.a.b") != 0b10 || arrays.Components("") != 0b1 || arrays.Components(".") != 0b1 ||
			arrays.Components("f.a") != 0 {
			t.Fatal("array paths", arrays)
		}
		s.Close()
		s = reopen(t, engine)
		c = s.Lookup("db", "c")
	}
	for i := range 1100 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 10_000+i, fmt.Sprint("g", i), array)); err != nil {
			t.Fatal(err)
		}
	}
	if !c.Indexes[0].ArrayPaths().IsAll() {
		t.Fatal("more paths than are remembered")
	}
	s.Close()
	s = schematest.Open(t, engine)
	if c = s.Lookup("db", "c"); c.Indexes[0].ArrayPaths().Components("x.y") != 0b11 {
		t.Fatal("forgotten")
	}
	schematest.MustValid(t, s, c)
}
