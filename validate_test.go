package sheaf_test

import (
	"log/slog"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
)

// TestValidateOfDamage damages one index and one record of a store on disk, and checks the reply of
// validate.
func TestValidateOfDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := mustOpen(t, dir, nil)
	d := db.Client().Database("d")
	mustRun(t, d, "createIndexes", "c", "indexes", indexesOn(1))
	mustRun(t, d, "insert", "c", "documents", bson.A{
		bson.D{{"_id", 1}, {"k0", 1}},
		bson.D{{"_id", 2}, {"k0", 2}},
		bson.D{{"_id", 3}, {"k0", 3}},
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, dir)
	d = mustOpen(t, dir, nil).Client().Database("d")
	for _, full := range []bool{false, true} {
		reply := mustRun(t, d, "validate", "c", "full", full)
		if reply.Lookup("valid").Boolean() || reply.Lookup("indexDetails", "k0", "valid").Boolean() ||
			!reply.Lookup("indexDetails", "_id_", "valid").Boolean() {
			t.Errorf("valid is %v, of the indexes %v", reply.Lookup("valid"), reply.Lookup("indexDetails"))
		}
		for field, want := range map[string]string{
			"nrecords": `3`, "nInvalidDocuments": `1`, "nIndexes": `2`, "keysPerIndex": `{"_id_": 3,"k0": 2}`,
			"missingIndexEntries": `[{"indexName": "k0","idKey": 1}]`,
			"extraIndexEntries":   `[{"indexName": "k0","count": 1}]`,
			"corruptRecords":      `["2b06"]`,
		} {
			got, err := bson.MarshalExtJSON(bson.D{{"v", reply.Lookup(field)}}, false, false)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := bson.MarshalExtJSON(bsonxtest.ParseD(t, `{"v": `+want+`}`), false, false)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(wanted) {
				t.Errorf("full %t: %s is %s, want %s", full, field, got, wanted)
			}
		}
		if values, err := reply.Lookup("errors").Array().Values(); err != nil || len(values) < 4 {
			t.Errorf("full %t: errors are %v", full, reply.Lookup("errors"))
		}
	}
}

// damage removes the entry of document 1 from the index k0, and truncates the stored record of
// document 3.
func damage(t *testing.T, dir string) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	engine, err := pebble.Open(dir, pebble.Options{})
	check(err)
	defer func() { check(engine.Close()) }()
	store, err := schema.Open(engine, ddl.Compiler{Warn: func(error) {}}, slog.New(slog.DiscardHandler),
		table.Options{})
	check(err)
	defer store.Close()
	c := store.Lookup("d", "c")
	snap := engine.NewSnapshot()
	defer snap.Close()
	prefix := c.Indexes[0].Prefix()
	it, err := snap.NewIter(prefix, keyspace.PrefixEnd(prefix))
	check(err)
	defer it.Close()
	it.First()
	record := c.RecordKey(nil, bsonx.Int32(3))
	value, closer, err := snap.Get(record)
	check(err)
	defer func() { check(closer.Close()) }()
	txn := engine.Begin()
	defer txn.Rollback()
	check(txn.Delete(it.Key()))
	check(txn.Put(record, value[:len(value)-1]))
	check(txn.Commit(storage.Durable))
}
