//go:build unix && !aix && !solaris

package pebble

import (
	"syscall"
	"testing"
)

// TestReopenBesideFork opens a directory again while a second descriptor shares the lock. A child
// process has such a descriptor from its fork to its exec.
func TestReopenBesideFork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := flockDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	held, ok := first.(flock)
	if !ok {
		t.Skip("the file system has no locks of directories")
	}
	shared, err := syscall.Dup(int(held.dir.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(shared) })
	if _, err := flockDirectory(dir); err == nil {
		t.Fatal("the directory was locked twice")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := flockDirectory(dir)
	if err != nil {
		t.Fatalf("locking again: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}
