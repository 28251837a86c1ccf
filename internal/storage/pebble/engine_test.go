package pebble

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/storagetest"
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

func TestConformanceDisk(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, func(t testing.TB) storage.Engine {
		return open(t, filepath.Join(t.TempDir(), "store"), Options{})
	})
}
