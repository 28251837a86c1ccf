package catalog

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
)

// full returns an entry with every field set.
func full() *Collection[any] {
	partial := NewIndex(4, bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("a.b", -1, "c", 1.0), "name", "p", "sparse", true,
		"hidden", true, "partialFilterExpression", bsonx.NewDoc("a", 1)))
	partial.Ready, partial.Enforced = true, true
	return &Collection[any]{
		ID: 3, DB: "db", Name: "c.d", UUID: [16]byte{1, 2, 3}, Kind: KindCollection, Version: 7,
		Options: bsonx.NewDoc("validator", bsonx.NewDoc("a", bsonx.NewDoc("$gt", 1))),
		Indexes: []*Index{
			partial,
			NewIndex(5, bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("t", "text"), "name", "t", "unique", true)),
		},
	}
}

func TestEntryRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []*Collection[any]{
		full(),
		{ID: 1, DB: "d", Name: "v", Kind: KindView, Options: bsonx.NewDoc("viewOn", "c", "pipeline", bsonx.NewArray())},
		{ID: 1<<32 - 1, DB: "d", Name: "e", Kind: KindCollection, Options: bsonx.Empty, Version: 1 << 40},
	} {
		got, err := decodeEntry[any](encodeEntry(want))
		if err != nil {
			t.Errorf("%s: %v", want.Namespace(), err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

// FuzzDecodeEntry decodes damaged entries. The decoder must report corruption, or return an entry
// that stays the same when it is stored and read again. It must never panic.
func FuzzDecodeEntry(f *testing.F) {
	f.Add(encodeEntry(full()))
	f.Add(encodeEntry(&Collection[any]{ID: 1, DB: "d", Name: "v", Kind: KindView, Options: bsonx.Empty}))
	f.Add([]byte(bsonx.NewDoc("id", int64(1), "db", "d", "name", "n", "uuid", bsonx.Binary(4, make([]byte, 16)),
		"kind", "collection", "options", bsonx.Empty, "version", int64(1), "indexes", bsonx.NewArray(1))))
	f.Add([]byte(bsonx.Empty))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entry, err := decodeEntry[any](raw)
		if err != nil {
			if !storage.IsCorruption(err) {
				t.Fatalf("%v is not corruption", err)
			}
			return
		}
		again, err := decodeEntry[any](encodeEntry(entry))
		if err != nil {
			t.Fatalf("what was decoded cannot be decoded again: %v", err)
		}
		if !reflect.DeepEqual(entry, again) {
			t.Fatalf("first  %+v\nsecond %+v", entry, again)
		}
		if entry.ID == 0 || entry.DB == "" || entry.Name == "" {
			t.Fatalf("an entry without a name or identifier was accepted: %+v", entry)
		}
	})
}

// TestDamagedStore opens catalogs with replaced parts. Opening must report corruption.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	short := bsonx.NewDoc("next", int64(1))
	tests := []struct {
		name       string
		key, value []byte
	}{
		{"entry that is no BSON", entryKey(1), []byte("junk")},
		{"entry that is another document", entryKey(1), bsonx.NewDoc("a", 1)},
		{"entry under another key", entryKey(9), nil},
		{"next that is no BSON", nextKey(), []byte("junk")},
		{"next that is no number", nextKey(), bsonx.NewDoc("next", "x")},
		{"next that was used already", nextKey(), short},
		{"next that is too large", nextKey(), bsonx.NewDoc("next", int64(1)<<40)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := mem.New()
			c, err := Open[any](engine, nil)
			if err != nil {
				t.Fatal(err)
			}
			entry := put(t, c, "db", "c")
			value := tt.value
			if value == nil {
				value = encodeEntry(entry)
			}
			txn := engine.Begin()
			if err := txn.Put(tt.key, value); err != nil {
				t.Fatal(err)
			}
			if err := txn.Commit(storage.Buffered); err != nil {
				t.Fatal(err)
			}
			if _, err := Open[any](engine, nil); !storage.IsCorruption(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestGarbageIsKeptUntilSwept(t *testing.T) {
	t.Parallel()
	engine := mem.New()
	c, _ := Open[any](engine, nil)
	entry := put(t, c, "db", "c")
	r := Range{Start: []byte{0x10, 0, 0, 0, 1}, End: []byte{0x10, 0, 0, 0, 2}}
	err := c.Update(func(ch *Change[any]) error {
		ch.Remove(entry)
		return ch.Garbage(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open[any](engine, nil)
	if err != nil {
		t.Fatal(err)
	}
	garbage, err := again.Garbage()
	if err != nil || len(garbage) != 1 || !bytes.Equal(garbage[0].Start, r.Start) ||
		!bytes.Equal(garbage[0].End, r.End) {
		t.Fatalf("garbage %v: %v", garbage, err)
	}
	if err := again.Sweep(garbage[0]); err != nil {
		t.Fatal(err)
	}
	if garbage, err = again.Garbage(); err != nil || len(garbage) != 0 {
		t.Errorf("garbage %v after the sweep: %v", garbage, err)
	}
	if next := put(t, again, "db", "d"); next.ID <= entry.Indexes[0].ID {
		t.Errorf("identifier %d was used before", next.ID)
	}
}
