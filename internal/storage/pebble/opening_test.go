package pebble

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// liveness is how long a store may need to notice that there is space again, on a busy machine.
const liveness = 3 * time.Minute

// fullForCompactions is a disk without space for the tables of compactions.
type fullForCompactions struct {
	smallDisk
	// begun counts the compaction tables that Pebble tried to create.
	begun atomic.Int64
	// slow makes an opening wait, before its last file, for a compaction that may have begun.
	slow atomic.Bool
}

// Create implements vfs.FS.
func (d *fullForCompactions) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == compactionWrites {
		d.begun.Add(1)
		if !d.slow.Load() {
			return nil, errors.New("no compaction yet")
		}
		return nil, syscall.ENOSPC
	}
	if strings.Contains(name, "temporary.") || strings.Contains(name, "OPTIONS-") {
		for end := time.Now().Add(300 * time.Millisecond); d.slow.Load() &&
			d.begun.Load() == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	return d.smallDisk.Create(name, category)
}

// TestOpenBesideCompactions opens a store on a disk with space for the data of the logs, but not
// for a compaction. A compaction that begins during the opening must not make it fail.
func TestOpenBesideCompactions(t *testing.T) {
	t.Parallel()
	disk := &fullForCompactions{smallDisk: smallDisk{FS: vfs.NewMem()}}
	disk.free.Store(1 << 40)
	e := open(t, "store", Options{FS: disk})
	for range 8 {
		for n := range 100 {
			put(t, e, fmt.Sprint(n), "1")
		}
		if err := e.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	put(t, e, "only in the log", "1")
	// On a full disk Close leaves the log.
	disk.free.Store(0)
	e.guard.space.check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if disk.begun.Load() == 0 {
		t.Fatal("no compaction was due: the test shows nothing")
	}
	disk.begun.Store(0)
	disk.slow.Store(true)
	e = open(t, "store", Options{FS: disk})
	disk.slow.Store(false)
	wantValue(t, e, "only in the log", "1")
	for end := time.Now().Add(liveness); disk.begun.Load() == 0; time.Sleep(waitStep) {
		if time.Now().After(end) {
			t.Fatal("no compaction began when the store was open")
		}
	}
}

// TestReserveHoldsMemtables compares the reserve with the size of the memtables, for each size of
// store and disk. A store that is opened on a full disk writes its memtables into the reserve.
func TestReserveHoldsMemtables(t *testing.T) {
	t.Parallel()
	for _, budget := range []int64{8 << 20, 64 << 20, 512 << 20, 8 << 30} {
		for _, total := range []int64{16 << 20, 96 << 20, 1 << 30, 1 << 34, 1 << 40} {
			for _, frugal := range []bool{false, true} {
				disk := &sizedDisk{FS: vfs.NewMem(), total: total}
				e := open(t, "store", Options{FS: disk, MemoryBudget: budget, Frugal: frugal})
				memtables := int64(e.pebbleOpts.MemTableSize) * int64(e.pebbleOpts.MemTableStopWritesThreshold)
				if reserve := e.guard.space.reserve.Load(); reserve < memtables {
					t.Errorf("budget %d on a disk of %d: the reserve is %d, memtables take %d", budget, total, reserve, memtables)
				}
				_ = e.Close()
			}
		}
	}
}

// sizedDisk is an empty disk with a given size.
type sizedDisk struct {
	vfs.FS
	total int64
}

// GetDiskUsage implements vfs.FS.
func (d *sizedDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: uint64(d.total), TotalBytes: uint64(d.total)}, nil
}
