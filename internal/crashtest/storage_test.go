package crashtest

import (
	"encoding/binary"
	"log/slog"
	"testing"

	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
)

// checkStorage opens the store of a server that has ended, and checks that all keys belong to an
// existing collection or index.
func checkStorage(t *testing.T, dir string) {
	t.Helper()
	engine, err := pebble.Open(dir, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	store, err := schema.Open(engine, ddl.Compiler{Warn: func(error) {}}, slog.New(slog.DiscardHandler),
		table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	garbage, err := store.Catalog().Garbage()
	if err != nil || len(garbage) > 0 {
		t.Errorf("%d ranges of dropped data were not swept: %v", len(garbage), err)
	}
	collections, indexes := map[uint32]bool{}, map[uint32]bool{}
	for _, c := range store.Catalog().All() {
		collections[c.ID] = true
		if c.IDIndex != nil {
			indexes[c.IDIndex.ID] = true
		}
		for _, ix := range c.Indexes {
			indexes[ix.ID] = true
			if !ix.Ready {
				t.Errorf("index %s of %s is not ready", ix.Name, c.Namespace())
			}
		}
	}
	checkOrphans(t, engine, 0x03, collections)
	checkOrphans(t, engine, 0x10, collections)
	checkOrphans(t, engine, 0x04, indexes)
	checkOrphans(t, engine, 0x20, indexes)
}

// checkOrphans searches a key space for keys whose identifier is not alive.
func checkOrphans(t *testing.T, engine storage.Engine, space byte, alive map[uint32]bool) {
	t.Helper()
	snap := engine.NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter([]byte{space}, []byte{space + 1})
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; {
		id := binary.BigEndian.Uint32(it.Key()[1:])
		if !alive[id] {
			t.Errorf("space %#x has keys of %d, which was dropped", space, id)
		}
		ok = it.SeekGE(binary.BigEndian.AppendUint32([]byte{space}, id+1))
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
}
