package sheaf_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestSizesOfOneCollection compares the sizes that collStats reports with the SSTables in the
// directory and the unflushed data, for the only large collection of a store without an oplog. The
// documents compress well or badly, are small or large, and have one index or several. It compares
// after inserts and after deletes, before and after a restart.
func TestSizesOfOneCollection(t *testing.T) {
	t.Parallel()
	half := func(random *rand.ChaCha8) []byte {
		return append(randomBytes(random, 300), bytes.Repeat([]byte{7}, 600)...)
	}
	for name, c := range torture.SomeOf(map[string]struct {
		documents, batch, indexes int
		pad                       func(random *rand.ChaCha8) []byte
	}{
		"compressible": {12_000, 4000, 1, func(*rand.ChaCha8) []byte { return bytes.Repeat([]byte("sheaf "), 150) }},
		"random":       {12_000, 4000, 1, func(random *rand.ChaCha8) []byte { return randomBytes(random, 900) }},
		"tiny":         {12_000, 4000, 1, func(random *rand.ChaCha8) []byte { return randomBytes(random, 8) }},
		"half":         {12_000, 4000, 1, half},
		"indexes":      {4000, 4000, 8, func(random *rand.ChaCha8) []byte { return randomBytes(random, 30) }},
		"large":        {6, 2, 1, func(random *rand.ChaCha8) []byte { return randomBytes(random, 3<<20) }},
	}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, random := t.TempDir(), rand.NewChaCha8([32]byte{1})
			// Memtables of 1 MiB are flushed during the load.
			opts := &sheaf.Options{Standalone: true, Sync: sheaf.SyncNever, MemoryBudget: 8 << 20}
			db := mustOpen(t, dir, opts)
			d := db.Client().Database("d")
			mustRun(t, d, "createIndexes", "c", "indexes", indexesOn(c.indexes))
			for from := 0; from < c.documents; from += c.batch {
				var docs bson.A
				for i := from; i < from+c.batch; i++ {
					docs = append(docs, append(bson.D{{"_id", i}, {"pad", c.pad(random)}}, keysOf(i, c.indexes)...))
				}
				mustRun(t, d, "insert", "c", "documents", docs)
			}
			compareTables(t, db, dir, "inserted")
			db = reopened(t, db, dir, opts)
			compareTables(t, db, dir, "flushed")
			mustRun(t, db.Client().Database("d"), "delete", "c", "deletes", bson.A{bson.D{
				{"q", bson.D{{"_id", bson.D{{"$lt", c.documents / 2}}}}}, {"limit", 0},
			}})
			compareTables(t, db, dir, "half deleted")
			compareTables(t, reopened(t, db, dir, opts), dir, "half deleted and flushed")
		})
	}
}

// indexesOn returns the specifications of n indexes.
func indexesOn(n int) (specs bson.A) {
	for i := range n {
		name := fmt.Sprint("k", i)
		specs = append(specs, bson.D{{"key", bson.D{{name, 1}}}, {"name", name}})
	}
	return specs
}

// keysOf returns the fields of document i that the indexes of indexesOn use. Every second index has
// a different key for each document.
func keysOf(i, n int) (fields bson.D) {
	for k := range n {
		key := fmt.Sprint("key", i%100)
		if k%2 == 1 {
			key = fmt.Sprint("key", i*7919, k)
		}
		fields = append(fields, bson.E{fmt.Sprint("k", k), key})
	}
	return fields
}

func randomBytes(random *rand.ChaCha8, n int) []byte {
	b := make([]byte, n)
	_, _ = random.Read(b)
	return b
}

// reopened closes a store, which flushes it, and opens it again.
func reopened(t *testing.T, db *sheaf.DB, dir string, opts *sheaf.Options) *sheaf.DB {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, dir, opts)
}

// compareTables compares the sizes with the SSTables. It repeats that while a compaction moves
// bytes between the two measurements.
func compareTables(t *testing.T, db *sheaf.DB, dir, state string) {
	t.Helper()
	var last string
	for range 600 {
		stats := mustRun(t, db.Client().Database("d"), "collStats", "c")
		disk := mustRun(t, db.Client().Database("admin"), "serverStatus", 1).Lookup("storage", "disk").Document()
		got, want := stats.Lookup("totalSize").AsInt64(), tableBytes(t, dir)+disk.Lookup("unflushedBytes").AsInt64()
		if got >= want*9/10 && got <= want*11/10 {
			return
		}
		last = fmt.Sprintf("%s: collStats says %d bytes, the tables and what is not flushed have %d", state, got, want)
		time.Sleep(100 * time.Millisecond)
	}
	t.Error(last)
}

// tableBytes adds up the lengths of the SSTables in a directory.
func tableBytes(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".sst") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return nil // a compaction may just have removed the file
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
