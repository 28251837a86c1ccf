package pebble

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// writeKeys makes one table of all keys with a value. Its keys have no sequence numbers.
func writeKeys(e *Engine, value string) error {
	for range 2 { // a single table would be moved, with its sequence numbers
		txn := e.Begin()
		defer txn.Rollback()
		for n := range twinKeys {
			if err := errors.Join(txn.Lock(context.Background(), twinKey(n)),
				txn.Put(twinKey(n), []byte(value))); err != nil {
				return err
			}
		}
		if err := errors.Join(txn.Commit(storage.Buffered), e.db.Flush()); err != nil {
			return err
		}
	}
	return e.db.Compact(context.Background(), []byte("a"), []byte("z"), false)
}

const twinKeys = 400

func twinKey(n int) []byte { return fmt.Appendf(nil, "key%05d", n) }

// writeTwin writes a table, in a new store or in place of the existing table. It returns the path
// and content.
func writeTwin(t *testing.T, disk vfs.FS, value string) (path string, content []byte) {
	t.Helper()
	e := open(t, "store", Options{FS: disk, NoCompression: true})
	if err := writeKeys(e, strings.Repeat(value, 1000)); err != nil {
		t.Fatal(err)
	}
	levels, err := e.db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range levels {
		for _, table := range level {
			if path != "" {
				t.Fatalf("the tables are %v", levels)
			}
			path = fmt.Sprintf("store/%06d.sst", table.BackingSSTNum)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return path, readFile(t, disk, path)
}

// answer opens the store and returns the first byte of a value.
func answer(t *testing.T, disk vfs.FS) (string, error) {
	t.Helper()
	e := open(t, "store", Options{FS: disk, NoCompression: true})
	defer e.Close()
	value, closer, err := e.Get(twinKey(7))
	if err != nil {
		return "", err
	}
	defer closer.Close()
	return string(value[:1]), nil
}

// TestTwinTables replaces a table by its predecessor. Both have the same keys without sequence
// numbers, the same bounds and the same size. The store must report the wrong table and not use it,
// even if the file of the ids was lost and learned again.
func TestTwinTables(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost %v", lost), func(t *testing.T) {
			t.Parallel()
			disk := vfs.NewMem()
			_, older := writeTwin(t, disk, "1")
			path, newer := writeTwin(t, disk, "2")
			if len(newer) != len(older) {
				t.Fatalf("the tables have %d and %d bytes", len(older), len(newer))
			}
			if lost {
				if err := disk.Remove("store/" + tableIDsFile); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := answer(t, disk); got != "2" || err != nil {
				t.Fatalf("%s %v", got, err)
			}
			writeFile(t, disk, path, older)
			if got, err := answer(t, disk); !errors.Is(err, storage.ErrCorrupt) ||
				!strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("from another table: %s %v", got, err)
			}
			writeFile(t, disk, path, newer)
			if got, err := answer(t, disk); got != "2" || err != nil {
				t.Errorf("from the table: %s %v", got, err)
			}
		})
	}
}
