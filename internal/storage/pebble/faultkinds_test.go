package pebble

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

// faultOps are the operations on a file system that may fail.
var faultOps = map[string]errorfs.OpKind{
	"create": errorfs.OpCreate, "link": errorfs.OpLink, "open": errorfs.OpOpen,
	"openDir": errorfs.OpOpenDir, "remove": errorfs.OpRemove,
	"rename": errorfs.OpRename, "reuse": errorfs.OpReuseForWrite, "list": errorfs.OpList,
	"preallocate": errorfs.OpFilePreallocate,
	"stat":        errorfs.OpStat, "close": errorfs.OpFileClose, "read": errorfs.OpFileRead, "readAt": errorfs.OpFileReadAt,
	"write": errorfs.OpFileWrite, "writeAt": errorfs.OpFileWriteAt,
	"fileStat": errorfs.OpFileStat, "sync": errorfs.OpFileSync,
	"syncData": errorfs.OpFileSyncData, "syncTo": errorfs.OpFileSyncTo,
}

// faultFiles are the kinds of files on which an operation may fail.
var faultFiles = map[string]func(base string) bool{
	"log":      func(base string) bool { return strings.HasSuffix(base, ".log") },
	"table":    func(base string) bool { return strings.HasSuffix(base, ".sst") },
	"manifest": func(base string) bool { return strings.HasPrefix(base, "MANIFEST-") },
	"marker":   func(base string) bool { return strings.HasPrefix(base, "marker.") },
	"options": func(base string) bool {
		return strings.HasPrefix(base, "OPTIONS-") || strings.HasSuffix(base, ".dbtmp")
	},
	"own": func(base string) bool { return strings.HasPrefix(base, "SHEAF_") },
	"dir": func(base string) bool { return base == "store" },
	"any": func(string) bool { return true },
}

// kindFault makes one kind of operation fail on one kind of file while it is on.
type kindFault struct {
	op   errorfs.OpKind
	file func(base string) bool
	err  error
	once bool
	on   atomic.Bool
	hits atomic.Int64
}

// MaybeError implements errorfs.Injector.
func (f *kindFault) MaybeError(op errorfs.Op) error {
	if !f.on.Load() || op.Kind != f.op || !f.file(filepath.Base(op.Path)) {
		return nil
	}
	if n := f.hits.Add(1); f.once && n > 1 {
		return nil
	}
	return &os.PathError{Op: "test", Path: op.Path, Err: f.err}
}

// String implements errorfs.Injector.
func (f *kindFault) String() string { return "kind" }

// faultCell is one case: the operation, the file, the kind of failure, and the time.
type faultCell struct {
	op, file      string
	err           error
	once, opening bool
}

// faultCells returns all cases.
func faultCells() (cells []faultCell) {
	for _, op := range slices.Sorted(maps.Keys(faultOps)) {
		for _, file := range slices.Sorted(maps.Keys(faultFiles)) {
			for _, err := range []error{syscall.EIO, syscall.EROFS, syscall.ENOSPC} {
				for i := range 4 {
					cells = append(cells, faultCell{op, file, err, i&1 == 0, i&2 == 0})
				}
			}
		}
	}
	return cells
}

// TestFaultKinds makes each kind of operation fail on each kind of file, while a store with logs is
// opened and while it is written to. The failure occurs once or permanently, and the disk is
// broken, read-only or full. Nothing may panic or hang, no acknowledged write may be lost, and the
// store must open on a healed disk. The short form runs a part of the cases, always including a
// broken log.
func TestFaultKinds(t *testing.T) {
	t.Parallel()
	run := torture.Begin(t)
	rng := run.Rand(0)
	before, acknowledged := crashedStore(t)
	cells := faultCells()
	rng.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	slices.SortStableFunc(cells, func(a, b faultCell) int {
		always := func(c faultCell) int {
			if c.file == "log" && errors.Is(c.err, syscall.EIO) &&
				(c.op == "reuse" || c.op == "create" || c.op == "fileStat") {
				return 0
			}
			return 1
		}
		return always(a) - always(b)
	})
	hit := 0
	for i := 0; run.Next(120, 10*time.Second); i++ {
		c := cells[i%len(cells)]
		what := fmt.Sprintf("%s of %s: %v, once %v, opening %v", c.op, c.file, c.err, c.once, c.opening)
		f := &kindFault{op: faultOps[c.op], file: faultFiles[c.file], err: c.err, once: c.once}
		faultKind(t, what, before, acknowledged, f, c.opening)
		if f.hits.Load() > 0 {
			hit++
		}
	}
	t.Logf("%d of %d faults happened", hit, run.Rounds())
}

// crashedStore returns the disk of a store that was killed with logs, tables and recycled logs, and
// the acknowledged commits.
func crashedStore(t *testing.T) (*vfs.MemFS, map[uint64]bool) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	e := open(t, "store", Options{FS: disk, MemoryBudget: 8 << 20})
	acknowledged := map[uint64]bool{}
	for n := range uint64(300) {
		if err := insert(e, n, storage.Buffered); err != nil {
			t.Fatal(err)
		}
		acknowledged[n] = true
		if n%100 == 50 {
			if err := e.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}), acknowledged
}

func faultKind(t *testing.T, what string, before *vfs.MemFS, old map[uint64]bool, f *kindFault, opening bool) {
	t.Helper()
	disk := before.CrashClone(vfs.CrashCloneCfg{})
	acknowledged := map[uint64]bool{}
	for n := range old {
		acknowledged[n] = true
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		faultyLife(t, what, errorfs.Wrap(disk, f), acknowledged, f, opening)
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		buf := make([]byte, 1<<20)
		t.Fatalf("%s hangs:\n%s", what, buf[:runtime.Stack(buf, true)])
	}
	f.on.Store(false)
	again, err := Open("store", Options{FS: disk})
	if err != nil {
		t.Errorf("%s: opening after the fault: %v", what, err)
		return
	}
	checkInserted(t, again, acknowledged)
	_ = again.Close()
}

// faultyLife opens a store with a fault, writes to it and closes it.
func faultyLife(t *testing.T, what string, fs vfs.FS, acknowledged map[uint64]bool, f *kindFault, opening bool) {
	f.on.Store(opening)
	e, err := Open("store",
		Options{FS: fs, MemoryBudget: 8 << 20, stall: 10 * time.Millisecond, closeGrace: time.Second})
	if err != nil {
		return
	}
	f.on.Store(true)
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		writeFaulty(t, what, e.(*Engine), acknowledged)
	}()
	// A commit may wait for a flush that fails again and again. Close ends the wait.
	select {
	case <-worked:
	case <-time.After(200 * time.Millisecond):
	}
	_ = e.Close()
	<-worked
}

func writeFaulty(t *testing.T, what string, e *Engine, acknowledged map[uint64]bool) {
	for n := uint64(1000); n < 1060; n++ {
		err := insert(e, n, storage.Durability(n%2))
		switch {
		case err == nil:
			acknowledged[n] = true
		case errors.Is(err, storage.ErrClosed):
			return
		case !errors.Is(err, storage.ErrFailed) && !errors.Is(err, storage.ErrNoSpace) &&
			!errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.EROFS):
			t.Errorf("%s: insert: %v", what, err)
		}
		if p, ok := e.pins.acquire(); ok && n%15 == 14 {
			// A flush writes a table, the manifest and a new log.
			if done, err := e.db.AsyncFlush(); err == nil {
				select {
				case <-done:
				case <-time.After(20 * time.Millisecond):
				}
			}
			e.pins.release(p)
		} else if ok {
			e.pins.release(p)
		}
	}
}
