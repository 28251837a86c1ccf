package table_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// damaged is a collection whose records and index entries a test changes directly in the engine. It
// has 30 documents {_id: i, n: i, tags: [i, i + 100]}, the index n_1, the unique index u_1 on n,
// and the multikey index tags_1.
type damaged struct {
	t      *testing.T
	engine storage.Engine
	store  *table.Store
	coll   *table.Collection
}

func newDamaged(t *testing.T) *damaged {
	t.Helper()
	d := &damaged{t: t, engine: mem.New()}
	d.store = schematest.Open(t, d.engine)
	c, err := schema.Ensure(d.store, "db", "c")
	d.must(err)
	d.must(schema.CreateIndexes(context.Background(), d.store, c, []bsonx.Doc{
		schematest.Spec("n_1", bsonx.NewDoc("n", 1)), schematest.Spec("u_1", bsonx.NewDoc("n", 1), "unique", true),
		schematest.Spec("tags_1", bsonx.NewDoc("tags", 1)),
	}))
	d.coll = d.store.Current(c)
	for i := range 30 {
		d.must(schematest.Insert(d.store, d.coll, bsonx.NewDoc("_id", i, "n", i, "tags", bsonx.NewArray(i, i+100))))
	}
	schematest.MustValid(t, d.store, d.coll)
	return d
}

func (d *damaged) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *damaged) index(name string) *table.Index {
	d.t.Helper()
	for _, ix := range d.coll.Indexes {
		if ix.Name == name {
			return ix
		}
	}
	d.t.Fatalf("no index %s", name)
	return nil
}

// entries returns the keys and values of an index, in key order.
func (d *damaged) entries(name string) (keys, values [][]byte) {
	d.t.Helper()
	snap := d.engine.NewSnapshot()
	defer snap.Close()
	prefix := d.index(name).Prefix()
	it, err := snap.NewIter(prefix, keyspace.PrefixEnd(prefix))
	d.must(err)
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.Value()
		d.must(err)
		keys, values = append(keys, bytes.Clone(it.Key())), append(values, bytes.Clone(value))
	}
	return keys, values
}

// record returns the key and the bytes of the document with an _id.
func (d *damaged) record(id int) (key []byte, doc bsonx.Doc) {
	d.t.Helper()
	key = d.coll.RecordKey(nil, bsonx.Int32(int32(id)))
	snap := d.engine.NewSnapshot()
	defer snap.Close()
	value, closer, err := snap.Get(key)
	d.must(err)
	defer func() { d.must(closer.Close()) }()
	return key, bytes.Clone(value)
}

func (d *damaged) put(key, value []byte) {
	d.t.Helper()
	txn := d.engine.Begin()
	defer txn.Rollback()
	d.must(txn.Put(key, value))
	d.must(txn.Commit(storage.Buffered))
}

func (d *damaged) remove(keys ...[]byte) {
	d.t.Helper()
	txn := d.engine.Begin()
	defer txn.Rollback()
	for _, key := range keys {
		d.must(txn.Delete(key))
	}
	d.must(txn.Commit(storage.Buffered))
}

// ofOther returns the key of an entry, changed so that it belongs to the record with another _id.
func (d *damaged) ofOther(entry []byte, id int) []byte {
	return keystring.Append(entry[:len(entry)-len(keystring.Append(nil, bsonx.Int32(1), false)):len(entry)-2],
		bsonx.Int32(int32(id)), false)
}

// damages returns changes that tests make directly in the engine, each with the expected report of
// Validate. In Errors each element is a part of one of the messages, in order.
func damages() map[string]struct {
	damage func(d *damaged)
	want   table.Validation
} {
	type damage = struct {
		damage func(d *damaged)
		want   table.Validation
	}
	missing := func(index string, ids ...int) (out []table.MissingEntry) {
		for _, id := range ids {
			out = append(out, table.MissingEntry{Index: index, ID: bsonx.Int32(int32(id))})
		}
		return out
	}
	broken := func(names ...string) map[string]bool {
		out := map[string]bool{}
		for _, name := range names {
			out[name] = true
		}
		return out
	}
	var first20 []int
	for i := range 20 {
		first20 = append(first20, i)
	}
	unreadable := table.Validation{ // the record 3 is not BSON
		Records: 30, InvalidRecords: 1, Corrupt: []string{"2b06"},
		Extra:  map[string]int64{"n_1": 1, "u_1": 1, "tags_1": 2},
		Broken: broken("n_1", "u_1", "tags_1"),
		Errors: []string{
			"is not valid BSON", "index n_1: 1 entries belong to no record", "index u_1: 1 entries belong to no record",
			"index tags_1: 2 entries belong to no record", "counter says 30 records",
		},
	}
	return map[string]damage{
		"an entry is missing": {
			func(d *damaged) { keys, _ := d.entries("n_1"); d.remove(keys[3]) },
			table.Validation{
				Records: 30, Missing: missing("n_1", 3), Broken: broken("n_1"),
				Errors: []string{"entry of record", "index n_1: 1 entries are missing"},
			},
		},
		"one of two entries of a record is missing": {
			func(d *damaged) { keys, _ := d.entries("tags_1"); d.remove(keys[33]) },
			table.Validation{
				Records: 30, Missing: missing("tags_1", 3), Broken: broken("tags_1"),
				Errors: []string{"entry of record", "index tags_1: 1 entries are missing"},
			},
		},
		"all entries are missing": {
			func(d *damaged) { keys, _ := d.entries("n_1"); d.remove(keys...) },
			table.Validation{
				Records: 30, Missing: missing("n_1", first20...), Broken: broken("n_1"),
				Errors: append(slices.Repeat([]string{"entry of record"}, 20),
					"index n_1: 30 entries are missing", "10 errors more"),
			},
		},
		"an entry belongs to no record": {
			func(d *damaged) { keys, values := d.entries("n_1"); d.put(d.ofOther(keys[3], 99), values[3]) },
			table.Validation{
				Records: 30, Extra: map[string]int64{"n_1": 1}, Broken: broken("n_1"),
				Errors: []string{"index n_1: 1 entries belong to no record"},
			},
		},
		"an entry belongs to another record": {
			func(d *damaged) {
				keys, values := d.entries("n_1")
				d.put(d.ofOther(keys[3], 4), values[3])
				d.remove(keys[3])
			},
			table.Validation{
				Records: 30, Missing: missing("n_1", 3), Extra: map[string]int64{"n_1": 1}, Broken: broken("n_1"),
				Errors: []string{
					"entry of record", "index n_1: 1 entries are missing",
					"index n_1: 1 entries belong to no record",
				},
			},
		},
		"a unique index has a key twice": {
			func(d *damaged) { keys, values := d.entries("u_1"); d.put(d.ofOther(keys[3], 99), values[3]) },
			table.Validation{Records: 30, Extra: map[string]int64{"u_1": 1}, Broken: broken("u_1"), Errors: []string{
				"index u_1: 1 entries belong to no record", "index u_1: 1 entries have the key of another one",
			}},
		},
		"an entry has no key": {
			func(d *damaged) { d.put(append(d.index("u_1").Prefix(), 0xff, 0xff), nil) },
			table.Validation{Records: 30, Extra: map[string]int64{"u_1": 1}, Broken: broken("u_1"), Errors: []string{
				"index u_1: entry ffff: ", "index u_1: 1 entries belong to no record",
			}},
		},
		"the types of an entry are others": {
			func(d *damaged) { keys, _ := d.entries("n_1"); d.put(keys[3], []byte{1, 2, 3}) },
			table.Validation{Records: 30, Broken: broken("n_1"), Errors: []string{"has other type bits"}},
		},
		"a record is missing": {
			func(d *damaged) { key, _ := d.record(3); d.remove(key) },
			table.Validation{
				Records: 29, Extra: map[string]int64{"n_1": 1, "u_1": 1, "tags_1": 2},
				Broken: broken("n_1", "u_1", "tags_1"),
				Errors: []string{
					"index n_1: 1 entries belong to no record", "index u_1: 1 entries belong to no record",
					"index tags_1: 2 entries belong to no record",
					"counter says 30 records",
				},
			},
		},
		"a record is another document": {
			func(d *damaged) {
				key, _ := d.record(3)
				d.put(key, bsonx.NewDoc("_id", 3, "n", 77, "tags", bsonx.NewArray(3, 103)))
			},
			table.Validation{
				Records: 30, Missing: append(missing("n_1", 3), missing("u_1", 3)...),
				Extra: map[string]int64{"n_1": 1, "u_1": 1}, Broken: broken("n_1", "u_1"),
				Errors: []string{
					"entry of record", "entry of record", "index n_1: 1 entries are missing",
					"index n_1: 1 entries belong to no record",
					"index u_1: 1 entries are missing", "index u_1: 1 entries belong to no record",
				},
			},
		},
		"a record has another _id": {
			func(d *damaged) {
				key, _ := d.record(3)
				d.put(key, bsonx.NewDoc("_id", 4, "n", 3, "tags", bsonx.NewArray(3, 103)))
			},
			table.Validation{Records: 30, Errors: []string{"is not where its document belongs"}},
		},
		"a record has no _id": {
			func(d *damaged) {
				key, doc := d.record(3)
				changed := bytes.Clone(doc)
				changed[6] = 'd' // changes the name of the field _id
				d.put(key, changed)
				keys, _ := d.entries("n_1")
				d.remove(keys[3])
			},
			table.Validation{
				Records: 30, Missing: []table.MissingEntry{{Index: "n_1"}}, Broken: broken("n_1"),
				Errors: []string{
					"is not where its document belongs", "entry of record",
					"index n_1: 1 entries are missing",
				},
			},
		},
		"a record is cut": {
			func(d *damaged) { key, doc := d.record(3); d.put(key, doc[:len(doc)-3]) }, unreadable,
		},
		"a record is empty": {
			func(d *damaged) { key, _ := d.record(3); d.put(key, nil) }, unreadable,
		},
	}
}

// TestValidateFindsDamage compares the complete report of Validate about a damaged collection with
// the damage.
func TestValidateFindsDamage(t *testing.T) {
	t.Parallel()
	for name, c := range damages() {
		for _, full := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/full=%t", name, full), func(t *testing.T) {
				t.Parallel()
				d := newDamaged(t)
				c.damage(d)
				got, err := d.store.Validate(context.Background(), d.coll, full)
				d.must(err)
				if got.Records != c.want.Records || got.InvalidRecords != c.want.InvalidRecords {
					t.Errorf("%d records, %d are invalid; want %d and %d", got.Records, got.InvalidRecords,
						c.want.Records, c.want.InvalidRecords)
				}
				if !slices.Equal(got.Corrupt, c.want.Corrupt) {
					t.Errorf("corrupt records are %v, want %v", got.Corrupt, c.want.Corrupt)
				}
				if !maps.Equal(got.Extra, c.want.Extra) || !maps.Equal(got.Broken, c.want.Broken) {
					t.Errorf("extra entries %v in %v, want %v in %v", got.Extra,
						got.Broken, c.want.Extra, c.want.Broken)
				}
				if got, want := fmt.Sprint(got.Missing), fmt.Sprint(c.want.Missing); got != want {
					t.Errorf("missing entries are %s, want %s", got, want)
				}
				for index, keys := range got.KeysPerIndex {
					want := got.Records
					if index != "_id_" {
						entries, _ := d.entries(index)
						want = int64(len(entries))
					}
					if keys != want {
						t.Errorf("keysPerIndex says %d for %s, which has %d", keys, index, want)
					}
				}
				matches := len(got.Errors) == len(c.want.Errors)
				for i := 0; matches && i < len(got.Errors); i++ {
					matches = strings.Contains(got.Errors[i], c.want.Errors[i])
				}
				if !matches {
					t.Errorf("errors are\n%s\nwant\n%s", strings.Join(got.Errors, "\n"),
						strings.Join(c.want.Errors, "\n"))
				}
			})
		}
	}
}
