package sheaf_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestSizesAddUpToTheDirectory adds up the sizes of all databases, of the log and of the free
// space. serverStatus reports the log and the free space separately. The test compares the sum with
// the blocks of the directory's files: after inserts, after many deletes, after drops, and after a
// restart.
func TestSizesAddUpToTheDirectory(t *testing.T) {
	t.Parallel()
	half := func(random *rand.ChaCha8, n int) []byte {
		return append(randomBytes(random, n/2), bytes.Repeat([]byte{7}, n-n/2)...)
	}
	for name, c := range torture.SomeOf(map[string]struct {
		documents, bytes, indexes int
		pad                       func(random *rand.ChaCha8, n int) []byte
	}{
		"random": {1500, 800, 0, randomBytes},
		"compressible": {
			1500, 800, 0,
			func(_ *rand.ChaCha8, n int) []byte { return bytes.Repeat([]byte("sheaf "), n/6) },
		},
		"half":    {1500, 800, 0, half},
		"small":   {5000, 10, 0, randomBytes},
		"indexes": {1200, 100, 6, randomBytes},
		"large":   {3, 2 << 20, 1, half},
	}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, random := t.TempDir(), rand.NewChaCha8([32]byte{})
			// Memtables of 1 MiB are flushed during the load.
			db := mustOpen(t, dir, &sheaf.Options{MemoryBudget: 8 << 20, Sync: sheaf.SyncNever})
			for i := range 4 {
				d, coll := db.Client().Database(fmt.Sprint("d", i%2)), fmt.Sprint("c", i)
				if c.indexes > 0 {
					mustRun(t, d, "createIndexes", coll, "indexes", indexesOn(c.indexes))
				}
				var docs bson.A
				for n := range c.documents {
					doc := bson.D{{"_id", n}, {"pad", c.pad(random, c.bytes*(i+1)/2)}}
					docs = append(docs, append(doc, keysOf(n, c.indexes)...))
				}
				if _, err := d.Collection(coll).InsertMany(t.Context(), docs); err != nil {
					t.Fatal(err)
				}
			}
			checkDirectory(t, db, dir, "after the inserts")
			for _, coll := range []string{"c0", "c2"} {
				if _, err := db.Client().Database("d0").Collection(coll).DeleteMany(t.Context(), bson.D{}); err != nil {
					t.Fatal(err)
				}
			}
			checkDirectory(t, db, dir, "after many deletes")
			if err := db.Client().Database("d1").Collection("c1").Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkDirectory(t, db, dir, "after a drop")
			if err := db.Client().Database("d1").Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkDirectory(t, db, dir, "after the drop of a database")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			checkDirectory(t, mustOpen(t, dir, nil), dir, "opened again")
		})
	}
}

// checkDirectory compares the sizes with the directory. It repeats that while a flush or a
// compaction moves bytes between the two measurements.
func checkDirectory(t *testing.T, db *sheaf.DB, dir, state string) {
	t.Helper()
	var wrong string
	for range 600 {
		if wrong = differences(t, db, dir); wrong == "" {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("%s: %s", state, wrong)
}

// differences says how the reported sizes and the directory differ, if they differ by more than a
// tenth.
func differences(t *testing.T, db *sheaf.DB, dir string) string {
	t.Helper()
	admin := db.Client().Database("admin")
	var list struct{ TotalSize int64 }
	if err := admin.RunCommand(t.Context(), bson.D{{"listDatabases", 1}}).Decode(&list); err != nil {
		t.Fatal(err)
	}
	var status struct {
		Storage struct {
			Disk struct{ Bytes, TableBytes, LogBytes, FreeBytes, OtherBytes, UnflushedBytes int64 }
		}
	}
	if err := admin.RunCommand(t.Context(), bson.D{{"serverStatus", 1}}).Decode(&status); err != nil {
		t.Fatal(err)
	}
	disk := status.Storage.Disk
	// The log contains unflushed data a second time.
	sum := list.TotalSize - disk.UnflushedBytes + disk.LogBytes + disk.FreeBytes + disk.OtherBytes
	used := allocated(t, dir)
	switch {
	case sum < used*9/10 || sum > used*11/10:
		return fmt.Sprintf("the sizes add up to %d bytes, the directory takes %d; databases %d, %+v", sum, used, list.TotalSize, disk)
	case disk.Bytes < used*9/10 || disk.Bytes > used*11/10:
		return fmt.Sprintf("the directory takes %d bytes, serverStatus says %d", used, disk.Bytes)
	default:
		return ""
	}
}

// allocated adds up the blocks of a directory's files, as the program du does.
func allocated(t *testing.T, dir string) int64 {
	t.Helper()
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a compaction has just removed the file
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			total += blocks(info)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}
