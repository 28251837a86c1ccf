package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

// mountSmall mounts a small disk, if the test has the permission.
func mountSmall(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("sheaf-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// noise fills a value with bytes that do not compress.
func noise(n uint64) []byte {
	rng := rand.New(rand.NewPCG(n, 1))
	v := make([]byte, 0, 4096)
	for len(v) < 4096 {
		v = binary.LittleEndian.AppendUint64(v, rng.Uint64())
	}
	return v
}

func insertNoise(e storage.Engine, n uint64) error {
	txn := e.Begin()
	defer txn.Rollback()
	key := binary.BigEndian.AppendUint64(nil, n)
	if err := txn.Lock(context.Background(), key); err != nil {
		return err
	}
	if err := txn.Put(key, noise(n)); err != nil {
		return err
	}
	return txn.Commit(storage.Durability(n % 2))
}

// fillDisk appends to a file until the disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
}

// TestDiskFull fills a small disk from many goroutines until commits are refused, reads everything,
// makes space by deleting, and continues.
func TestDiskFull(t *testing.T) {
	torture.SkipShort(t)
	for size, least := range map[string]int{"16m": 500, "32m": 1000, "96m": 4000} {
		t.Run(size, func(t *testing.T) {
			if size != "16m" {
				torture.NeedsLong(t)
			}
			if raceEnabled && size == "96m" {
				t.Skip("the smaller disks are enough for the race detector")
			}
			fillSmallDisk(t, size, least)
		})
	}
}

// fillSmallDisk runs the test on a disk of this size, which must take at least this many commits.
func fillSmallDisk(t *testing.T, size string, least int) {
	dir := filepath.Join(mountSmall(t, size), "store")
	e := open(t, dir, Options{MemoryBudget: 16 << 20})
	var next atomic.Uint64
	var mu sync.Mutex
	acknowledged := map[uint64]bool{}
	fill := func() {
		var wg sync.WaitGroup
		for range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for {
					n := next.Add(1)
					err := insertNoise(e, n)
					if err != nil {
						if !errors.Is(err, storage.ErrNoSpace) {
							t.Errorf("insert: %v", err)
						}
						return
					}
					mu.Lock()
					acknowledged[n] = true
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
	}
	fill()
	if e.Stats().WritesStopped == "" {
		t.Error("the store does not say why it takes no writes")
	}
	if len(acknowledged) < least {
		t.Fatalf("full after %d commits", len(acknowledged))
	}
	readAll := func() {
		t.Helper()
		for n := range acknowledged {
			v, closer, err := e.Get(binary.BigEndian.AppendUint64(nil, n))
			if err != nil {
				t.Fatalf("commit %d on the full disk: %v", n, err)
			}
			if string(v) != string(noise(n)) {
				t.Fatalf("commit %d reads wrong", n)
			}
			_ = closer.Close()
		}
	}
	readAll()
	// Another program takes the rest, and the space that compactions free meanwhile. Until the
	// compactions pause, a commit finds space.
	filler := filepath.Join(filepath.Dir(dir), "filler")
	for end := time.Now().Add(liveness); ; {
		fillDisk(t, filler)
		n := next.Add(1)
		err := insertNoise(e, n)
		if errors.Is(err, storage.ErrNoSpace) {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("commit without any space: %v", err)
		}
		acknowledged[n] = true
	}
	readAll()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	// A running compaction may have taken the space that the other program freed. It returns the
	// space.
	for end := time.Now().Add(liveness); ; time.Sleep(20 * time.Millisecond) {
		e.guard.space.check()
		err := e.DeleteRange([]byte{0}, []byte{1})
		if err == nil {
			break
		}
		if !errors.Is(err, storage.ErrNoSpace) || time.Now().After(end) {
			t.Fatalf("deleting on the full disk: %v", err)
		}
	}
	clear(acknowledged)
	for end := time.Now().Add(liveness); insertNoise(e, 0) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("deleting did not make space")
		}
	}
	fill()
	t.Logf("%d commits after the space came back", len(acknowledged))
	readAll()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, Options{MemoryBudget: 16 << 20})
	readAll()
}
