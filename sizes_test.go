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
)

// TestSizesOfOneCollection compares what collStats says of the only large collection of a store without an oplog with the
// tables of the directory: documents that compress and that do not, small and large, after inserts and after deletions.
func TestSizesOfOneCollection(t *testing.T) {
	t.Parallel()
	for name, pad := range map[string]func(random *rand.ChaCha8) []byte{
		"compressible": func(*rand.ChaCha8) []byte { return bytes.Repeat([]byte("sheaf "), 150) },
		"random":       func(random *rand.ChaCha8) []byte { return randomBytes(random, 900) },
		"tiny":         func(random *rand.ChaCha8) []byte { return randomBytes(random, 8) },
		"half": func(random *rand.ChaCha8) []byte {
			return append(randomBytes(random, 300), bytes.Repeat([]byte{7}, 600)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, random := t.TempDir(), rand.NewChaCha8([32]byte{1})
			opts := &sheaf.Options{Standalone: true, Sync: sheaf.SyncNever}
			db := mustOpen(t, dir, opts)
			d := db.Client().Database("d")
			mustRun(t, d, "createIndexes", "c", "indexes", bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "n", Value: 1}}}, {Key: "name", Value: "n"}}})
			for from := 0; from < 12_000; from += 4000 {
				var docs bson.A
				for i := range 4000 {
					docs = append(docs, bson.D{{Key: "_id", Value: from + i}, {Key: "n", Value: i % 100}, {Key: "pad", Value: pad(random)}})
				}
				mustRun(t, d, "insert", "c", "documents", docs)
			}
			db = reopened(t, db, dir, opts)
			compareTables(t, db, dir, "flushed")
			mustRun(t, db.Client().Database("d"), "delete", "c", "deletes", bson.A{bson.D{
				{Key: "q", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$lt", Value: 6000}}}}}, {Key: "limit", Value: 0},
			}})
			compareTables(t, reopened(t, db, dir, opts), dir, "half deleted")
		})
	}
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

// compareTables asks again while a compaction moves bytes between two looks.
func compareTables(t *testing.T, db *sheaf.DB, dir, state string) {
	t.Helper()
	var last string
	for range 600 {
		stats := mustRun(t, db.Client().Database("d"), "collStats", "c")
		got, want := stats.Lookup("totalSize").AsInt64(), tableBytes(t, dir)
		if got >= want*9/10 && got <= want*11/10 {
			return
		}
		last = fmt.Sprintf("%s: collStats says %d bytes, the tables have %d", state, got, want)
		time.Sleep(100 * time.Millisecond)
	}
	t.Error(last)
}

// tableBytes adds up the lengths of the tables in a directory.
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
		return nil // a compaction may just have removed it
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
