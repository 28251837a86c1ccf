package pebble

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/storagetest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// open opens a store that the test closes.
func open(t testing.TB, dir string, options Options) *Engine {
	t.Helper()
	e, err := Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e.(*Engine)
}

func TestConformanceMemory(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t testing.TB) storage.Engine {
		return open(t, "store", Options{FS: vfs.NewMem()})
	})
}

// keepAll is Options.Keep of the test suites. It keeps all values except counters, whose keys begin
// with n.
func keepAll(key []byte) bool { return len(key) > 0 && key[0] != 'n' }

// TestConformanceRecords runs the suite with the record cache.
func TestConformanceRecords(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t testing.TB) storage.Engine {
		return open(t, "store", Options{FS: vfs.NewMem(), Keep: keepAll})
	})
}

func TestConformanceDisk(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	storagetest.Run(t, func(t testing.TB) storage.Engine {
		return open(t, filepath.Join(t.TempDir(), "store"), Options{})
	})
}

// TestModel compares the engine with the reference engine. Flushes and compactions run in between.
func TestModel(t *testing.T) {
	t.Parallel()
	storagetest.Model(t, func(testing.TB) storage.Engine {
		e, err := Open("store", Options{FS: vfs.NewMem(), Keep: keepAll, MemoryBudget: minMemoryBudget})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}, func(e storage.Engine) error {
		db := e.(*Engine).db
		if err := db.Flush(); err != nil {
			return err
		}
		return db.Compact(context.Background(), []byte("a"), []byte("zz"), false)
	})
}
