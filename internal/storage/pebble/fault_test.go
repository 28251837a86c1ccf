package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

// faults makes a number of write operations fail, from the n-th on.
type faults struct {
	at, count int64
	err       error
	writes    atomic.Int64
	healed    atomic.Bool
}

// MaybeError implements errorfs.Injector.
func (f *faults) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpLock {
		return nil
	}
	if n := f.writes.Add(1); !f.healed.Load() && n >= f.at && n < f.at+f.count {
		return &os.PathError{Op: "test", Path: op.Path, Err: f.err}
	}
	return nil
}

// String implements errorfs.Injector.
func (f *faults) String() string { return fmt.Sprintf("faults at %d", f.at) }

// TestFaultLoop makes the n-th write operation fail, for growing n, once or permanently. No
// acknowledged write may be lost, reads must continue, and after a crash the store must open again.
func TestFaultLoop(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		count int64
		err   error
	}{
		{"once", 1, syscall.EIO},
		{"forGood", 1 << 40, syscall.EIO},
		{"fullOnce", 1, syscall.ENOSPC},
		{"fullForGood", 1 << 40, syscall.ENOSPC},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			step := int64(1)
			for at := int64(1); ; at += step {
				f := &faults{at: at, count: c.count, err: c.err}
				faultRound(t, f)
				if t.Failed() || f.writes.Load() < at {
					return
				}
				// Opening is tested write by write. Later writes are tested by samples.
				if at > 40 {
					step = 1 + at/6
				}
				if !torture.Long() {
					step = 1 + at/4
				}
				if raceEnabled || testing.Short() {
					step = 1 + at/2
				}
			}
		})
	}
}

func faultRound(t *testing.T, f *faults) {
	t.Helper()
	disk := vfs.NewCrashableMem()
	options := Options{
		FS: errorfs.Wrap(disk, f), MemoryBudget: 8 << 20, stall: 10 * time.Millisecond, closeGrace: time.Second,
	}
	e, err := Open("store", options)
	if err != nil {
		// The store was never created. It opens when the fault is gone.
		again, err := Open("store", Options{FS: disk})
		if err != nil {
			t.Errorf("fault %d: opening after a failed opening: %v", f.at, err)
			return
		}
		_ = again.Close()
		return
	}
	acknowledged := map[uint64]bool{}
	for n := range uint64(300) {
		err := insert(e, n, storage.Durability(n%2))
		switch {
		case err == nil:
			acknowledged[n] = true
		case !errors.Is(err, storage.ErrFailed) && !errors.Is(err, storage.ErrNoSpace):
			t.Errorf("fault %d: insert: %v", f.at, err)
		}
		if n == 150 {
			// A flush writes a table, the manifest and a new log.
			if done, err := e.(*Engine).db.AsyncFlush(); err == nil {
				select {
				case <-done:
				case <-time.After(20 * time.Millisecond):
				}
			}
		}
	}
	for n := range acknowledged {
		var buf [32]byte
		_, closer, err := e.Get(benchKey(buf[:0], n))
		if err != nil {
			t.Errorf("fault %d: reading commit %d: %v", f.at, n, err)
			return
		}
		_ = closer.Close()
	}
	crash := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	f.healed.Store(true)
	if err := e.Close(); (err == nil) != (e.(*Engine).guard.failure() == nil) {
		t.Errorf("fault %d: Close: %v", f.at, err)
	}
	again, err := Open("store", Options{FS: crash})
	if err != nil {
		t.Errorf("fault %d: opening after a crash: %v", f.at, err)
		return
	}
	checkInserted(t, again, acknowledged)
	_ = again.Close()
}

// TestFailedStore checks a store whose WAL can no longer be written.
func TestFailedStore(t *testing.T) {
	t.Parallel()
	disk := vfs.NewCrashableMem()
	var broken atomic.Bool
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && strings.HasSuffix(op.Path, ".log") && op.Kind == errorfs.OpFileWrite {
			return syscall.EIO
		}
		return nil
	}))
	e, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	put(t, e, "a", "1")
	broken.Store(true)
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			err := tryPut(e, fmt.Sprintf("b%d", n), "2", storage.Durability(n%2))
			if !errors.Is(err, storage.ErrFailed) || !errors.Is(err, syscall.EIO) {
				t.Errorf("commit: %v", err)
			}
		}()
	}
	wg.Wait()
	wantValue(t, e, "a", "1")
	broken.Store(false)
	for what, err := range map[string]error{
		"Commit": tryPut(e, "c", "3", storage.Buffered), "DeleteRange": e.DeleteRange([]byte("a"), []byte("b")),
		"Checkpoint": e.Checkpoint(""), "Close": e.Close(),
	} {
		if !errors.Is(err, storage.ErrFailed) && !errors.Is(err, storage.ErrClosed) {
			t.Errorf("%s of a failed store: %v", what, err)
		}
	}
	again := open(t, "store", Options{FS: disk})
	wantValue(t, again, "a", "1")
	wantValue(t, again, "c", "")
	put(t, again, "c", "3")
}

// smallDisk reports the free space that the test sets.
type smallDisk struct {
	vfs.FS
	free atomic.Int64
}

// GetDiskUsage implements vfs.FS.
func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: uint64(d.free.Load()), TotalBytes: 1 << 40}, nil
}

func TestReserve(t *testing.T) {
	t.Parallel()
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.free.Store(1 << 30)
	clock := standing()
	e := open(t, "store", Options{FS: disk, Reserve: 64 << 20, Clock: clock})
	put(t, e, "a", "1")
	set := func(free int64) {
		disk.free.Store(free)
		e.guard.space.check()
	}
	set(64<<20 - 1)
	for _, durability := range []storage.Durability{storage.Buffered, storage.Durable} {
		if err := tryPut(e, "b", "2", durability); !errors.Is(err, storage.ErrNoSpace) {
			t.Fatalf("commit on a full disk: %v", err)
		}
	}
	wantValue(t, e, "a", "1")
	wantValue(t, e, "b", "")
	txn := e.BeginSnapshot()
	if err := txn.Put([]byte("b"), []byte("2")); err != nil {
		t.Fatal(err)
	}
	if err := txn.Commit(storage.Buffered); !errors.Is(err, storage.ErrNoSpace) {
		t.Fatalf("snapshot transaction on a full disk: %v", err)
	}
	// A write that makes space is admitted until the reserve is nearly used up.
	if err := tryDelete(e, "missing"); err != nil {
		t.Fatalf("deleting on a full disk: %v", err)
	}
	if err := e.DeleteRange([]byte("x"), []byte("y")); err != nil {
		t.Fatalf("DeleteRange on a full disk: %v", err)
	}
	set(15 << 20)
	if err := tryDelete(e, "missing"); !errors.Is(err, storage.ErrNoSpace) {
		t.Fatalf("deleting without a reserve: %v", err)
	}
	// The disk counts as usable again only when the reserve and a quarter of it are free.
	set(70 << 20)
	if err := tryPut(e, "b", "2", storage.Buffered); !errors.Is(err, storage.ErrNoSpace) {
		t.Fatalf("commit with a little more than the reserve: %v", err)
	}
	set(80 << 20)
	put(t, e, "b", "2")
	// The test does not call check here: a commit on a full disk checks the free space itself.
	set(1)
	disk.free.Store(1 << 30)
	clock.Advance(2 * checkFullEvery)
	put(t, e, "c", "3")
	// Writing many bytes also causes a check.
	disk.free.Store(1 << 20)
	for n := uint64(0); ; n++ {
		if err := insert(e, n, storage.Buffered); err != nil {
			if !errors.Is(err, storage.ErrNoSpace) {
				t.Fatal(err)
			}
			break
		}
		if n > 40_000 {
			t.Fatal("40 MB were written to a full disk")
		}
	}
}

// TestStall fills the disk to the last byte during a commit. The commit must wait, and continue
// when there is space.
func TestStall(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpCreate) {
			return syscall.ENOSPC
		}
		return nil
	}))
	disk := &smallDisk{FS: fs}
	disk.free.Store(1 << 30)
	e := open(t, "store", Options{FS: disk})
	full.Store(true)
	result := make(chan error, 1)
	go func() { result <- tryPut(e, "a", "1", storage.Durable) }()
	select {
	case err := <-result:
		t.Fatalf("the commit did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	disk.free.Store(0)
	if err := tryPut(e, "b", "1", storage.Buffered); !errors.Is(err, storage.ErrNoSpace) {
		t.Fatalf("a commit behind it: %v", err)
	}
	full.Store(false)
	disk.free.Store(1 << 30)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	wantValue(t, e, "a", "1")
	e.guard.space.check()
	put(t, e, "c", "1")
}

// tables returns the paths of the sorted tables.
func tables(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tables in %s: %v", dir, err)
	}
	return paths
}

// filled makes a store with one table of 2,000 records, and closes it.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	e, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(2000) {
		if err := insert(e, n, storage.Buffered); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.(*Engine).db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCorruptTable flips a byte in every part of a table. An error must name the file, no value may
// be wrong, and the process must continue.
func TestCorruptTable(t *testing.T) {
	t.Parallel()
	for _, part := range torture.Some([]int{0, 1, 2, 3, 4, 5, 6, 7}, 3) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			dir := filled(t)
			path := tables(t, dir)[0]
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 64 {
				content[(len(content)-64)*part/7+i] ^= 0x40
			}
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			wantCorrupt(t, dir, path)
		})
	}
}

func TestTruncatedTable(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	path := tables(t, dir)[0]
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
	wantCorrupt(t, dir, path)
}

func TestMissingTable(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	path := tables(t, dir)[0]
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantCorrupt(t, dir, path)
}

// wantCorrupt reads all records of a store with a damaged file. An error must name the file, and no
// value may be wrong.
func wantCorrupt(t *testing.T, dir, path string) {
	t.Helper()
	e, err := Open(dir, Options{})
	if err != nil {
		checkCorrupt(t, err, dir)
		return
	}
	defer e.Close()
	damaged := 0
	for n := range uint64(2000) {
		var buf [32]byte
		v, closer, err := e.Get(benchKey(buf[:0], n))
		if err == nil {
			if string(v) != string(benchValue) {
				t.Fatalf("record %d has a wrong value", n)
			}
			_ = closer.Close()
			continue
		}
		damaged++
		checkCorrupt(t, err, path)
	}
	s := e.NewSnapshot()
	defer s.Close()
	it, err := s.NewIter(nil, nil)
	if err == nil {
		rows := 0
		for ok := it.First(); ok; ok = it.Next() {
			rows++
		}
		if err = it.Err(); err == nil && rows < 4001 {
			t.Fatalf("a scan ended after %d pairs without an error", rows)
		}
		_ = it.Close()
	}
	if err != nil {
		damaged++
		checkCorrupt(t, err, path)
	}
	t.Logf("%d reads met the damage", damaged)
	if err := tryPut(e, "new", "1", storage.Durable); err != nil {
		t.Fatalf("writing beside the damage: %v", err)
	}
	wantValue(t, e, "new", "1")
}

func checkCorrupt(t *testing.T, err error, path string) {
	t.Helper()
	if !storage.IsCorruption(err) || !strings.Contains(err.Error(), path) {
		t.Fatalf("the error should tell of corruption and name %s: %v", path, err)
	}
	if text := err.Error(); strings.Contains(text, "\n") || strings.Contains(text, "carrier") ||
		strings.Count(text, adviceRestore) != 1 {
		t.Fatalf("the error should be one line that says what to do: %q", text)
	}
}

func TestCorruptManifest(t *testing.T) {
	t.Parallel()
	dir := filled(t)
	paths, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no manifest")
	}
	for _, path := range paths {
		if err := os.Truncate(path, 10); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Open(dir, Options{})
	if err == nil {
		_ = e.Close()
		t.Fatal("a store without a manifest was opened")
	}
	checkCorrupt(t, err, dir)
}

// TestDamagedManifest flips each byte of a manifest and cuts it everywhere. An error must name the
// file. After the sealed length any bytes are accepted, because a crash may leave the last edit in
// any state.
func TestDamagedManifest(t *testing.T) {
	t.Parallel()
	disk := vfs.NewMem()
	e, err := Open("store", Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	inserted := map[uint64]bool{}
	for n := range uint64(6) {
		inserted[n] = true
		if err := errors.Join(insert(e, n, storage.Durable), e.(*Engine).db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	desc, err := pebble.Peek("store", disk)
	if err != nil {
		t.Fatal(err)
	}
	content := readFile(t, disk, desc.ManifestFilename)
	check := func(content []byte) error {
		writeFile(t, disk, desc.ManifestFilename, bytes.Clone(content)) // under -race a write modifies its argument
		in := &inspection{fs: disk, dir: "store"}
		var err error
		if in.names, err = disk.List("store"); err != nil {
			t.Fatal(err)
		}
		if in.seals, _, _, err = readSeals(disk, "store"); err != nil {
			t.Fatal(err)
		}
		return errors.Join(in.findManifest(false), in.checkManifest())
	}
	for at := range content {
		damaged := bytes.Clone(content)
		damaged[at] ^= 0x10
		for what, damaged := range map[string][]byte{"flip": damaged, "cut": content[:at]} {
			err := check(damaged)
			if err == nil {
				t.Fatalf("a %s at byte %d of %d was not noticed", what, at, len(content))
			}
			checkCorrupt(t, err, "MANIFEST")
		}
	}
	for _, more := range []string{"", "x", strings.Repeat("\x00", 100), strings.Repeat("x", 40_000)} {
		if err := check(append(bytes.Clone(content), more...)); err != nil {
			t.Fatalf("%d bytes behind the end: %v", len(more), err)
		}
	}
	checkInserted(t, open(t, "store", Options{FS: disk}), inserted)
}

func readFile(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// writeFile creates a file. It writes a copy of the content, because under the race detector a file
// of vfs.MemFS modifies its argument.
func writeFile(t *testing.T, fs vfs.FS, path string, content []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(slices.Clone(content)); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, e storage.Engine, key, value string) {
	t.Helper()
	if err := tryPut(e, key, value, storage.Buffered); err != nil {
		t.Fatal(err)
	}
}

func tryPut(e storage.Engine, key, value string, durability storage.Durability) error {
	txn := e.Begin()
	defer txn.Rollback()
	if err := txn.Put([]byte(key), []byte(value)); err != nil {
		return err
	}
	return txn.Commit(durability)
}

func tryDelete(e storage.Engine, key string) error {
	txn := e.Begin()
	defer txn.Rollback()
	if err := txn.Delete([]byte(key)); err != nil {
		return err
	}
	return txn.Commit(storage.Buffered)
}

func wantValue(t testing.TB, e storage.Engine, key, want string) {
	t.Helper()
	v, closer, err := e.Get([]byte(key))
	switch {
	case want == "" && errors.Is(err, storage.ErrNotFound):
		return
	case err != nil:
		t.Fatalf("Get(%q): %v, want %q", key, err, want)
	}
	defer closer.Close()
	if string(v) != want {
		t.Fatalf("Get(%q): %q, want %q", key, v, want)
	}
}
