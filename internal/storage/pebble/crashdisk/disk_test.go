package crashdisk

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCrashCloneAtWork takes copies during operations that take the lock of a MemFS twice. The test
// must end: a MemFS alone hangs after a few hundred copies.
func TestCrashCloneAtWork(t *testing.T) {
	t.Parallel()
	disk := New()
	file, err := disk.Create("0", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- work(disk) }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
			disk.CrashClone(vfs.CrashCloneCfg{})
		}
	}
}

// work reuses, links and locks files.
func work(disk vfs.FS) error {
	for i := range 20_000 {
		name := fmt.Sprint(i)
		if err := disk.Link(name, "linked"); err != nil {
			return err
		}
		file, err := disk.ReuseForWrite(name, fmt.Sprint(i+1), vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		lock, err := disk.Lock("LOCK")
		if err != nil {
			return err
		}
		if err := errors.Join(file.Close(), lock.Close(), disk.Remove("linked")); err != nil {
			return err
		}
	}
	return nil
}
