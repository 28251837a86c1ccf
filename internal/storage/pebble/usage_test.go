package pebble

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
)

// rangeOf returns the bounds of a range in the key layout of package table.
func rangeOf(id uint32) (start, end []byte) {
	start = binary.BigEndian.AppendUint32([]byte{0x10}, id)
	return start, binary.BigEndian.AppendUint32([]byte{0x10}, id+1)
}

// fill puts n values that do not compress, and returns the total length of the keys and values.
func fill(t testing.TB, e storage.Engine, id uint32, n, size int) int64 {
	t.Helper()
	start, _ := rangeOf(id)
	random := rand.New(rand.NewPCG(uint64(id), 1))
	total := int64(0)
	for done := 0; done < n; {
		txn := e.Begin()
		for range min(n-done, 100) {
			key, value := fmt.Appendf(start[:5:5], "%016d", done), make([]byte, size)
			for i := range value {
				value[i] = byte(random.Uint32())
			}
			noError(t, txn.Put(key, value))
			total += int64(len(key) + len(value))
			done++
		}
		noError(t, txn.Commit(storage.Buffered))
	}
	return total
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestUsageIsMeasured compares the space of ranges with the length of their keys and values: before
// a flush, after it, half flushed, and after reopening.
func TestUsageIsMeasured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir, Options{NoCompression: true})
	want := map[uint32]int64{1: fill(t, e, 1, 3000, 900), 2: fill(t, e, 2, 4, 300), 3: fill(t, e, 3, 20_000, 60)}
	check := func(state string) {
		t.Helper()
		for id, n := range want {
			start, end := rangeOf(id)
			u, err := e.DiskUsage(start, end)
			noError(t, err)
			// Tables share prefixes of keys, which are a large part of range 3. A memtable has a
			// header for each entry.
			low, high := int64(90), int64(110)
			if id == 3 {
				low, high = 80, 125
			}
			if got := u.Total(); got < n*low/100 || got > n*high/100 {
				t.Errorf("%s: range %d: %+v, its keys and values are %d bytes", state, id, u, n)
			}
		}
		disk, err := e.Disk()
		noError(t, err)
		if disk.Total != disk.Tables+disk.Log+disk.Free+disk.Other || disk.Total == 0 {
			t.Errorf("%s: the parts of %+v are not the whole", state, disk)
		}
	}
	check("in memory")
	noError(t, e.db.Flush())
	check("flushed")
	for id, more := range map[uint32]int{1: 1000, 2: 2} {
		start, _ := rangeOf(id)
		txn := e.Begin()
		for i := range more {
			key, value := fmt.Appendf(start[:5:5], "x%016d", i), make([]byte, 900)
			noError(t, txn.Put(key, value))
			want[id] += int64(len(key) + len(value))
		}
		noError(t, txn.Commit(storage.Buffered))
	}
	check("half flushed")
	noError(t, e.DeleteRange(rangeOf(3)))
	delete(want, 3)
	if start, end := rangeOf(3); true {
		if all, _ := e.unflushed.usage(start, end); all != 0 {
			t.Errorf("a deleted range has %d bytes in memory", all)
		}
	}
	noError(t, e.Close())
	e = open(t, dir, Options{NoCompression: true})
	check("opened again")
}

// TestContentsCountGarbage checks that versions and deletions that nobody sees are counted.
func TestContentsCountGarbage(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{})
	fill(t, e, 1, 1000, 500)
	noError(t, e.db.Flush())
	old := e.NewSnapshot() // keeps the first version from a compaction that starts by itself
	fill(t, e, 1, 1000, 500)
	noError(t, e.db.Flush())
	start, end := rangeOf(1)
	c, err := e.Contents(start, end)
	noError(t, err)
	if c.Entries < 1900 || c.ValueBytes < 950_000 {
		t.Errorf("two versions of 1,000 values of 500 bytes: %+v", c)
	}
	noError(t, old.Close())
}

// TestUnflushedFollowsMemtables checks that the count forgets memtables that Pebble flushes by
// itself.
func TestUnflushedFollowsMemtables(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{MemoryBudget: minMemoryBudget})
	want := fill(t, e, 1, 10_000, 1000)
	start, end := rangeOf(1)
	u, err := e.DiskUsage(start, end)
	noError(t, err)
	if u.Unflushed > 3<<20 || u.Total() < want*8/10 || u.Total() > want*12/10 {
		t.Errorf("%+v of %d bytes, with memtables of 1 MiB", u, want)
	}
}

// TestDroppedIsFree deletes a range. Its bytes in tables count as free immediately, and after a
// flush.
func TestDroppedIsFree(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{NoCompression: true})
	fill(t, e, 1, 2000, 900)
	fill(t, e, 2, 3000, 900)
	noError(t, e.db.Flush())
	start, end := rangeOf(1)
	kept, err := e.DiskUsage(start, end)
	noError(t, err)
	isFree := func() bool {
		t.Helper()
		disk, err := e.Disk()
		noError(t, err)
		return disk.Tables >= kept.Tables*9/10 && disk.Tables <= kept.Tables*11/10
	}
	noError(t, e.DeleteRange(rangeOf(2)))
	if !isFree() {
		t.Error("a deleted range is not free")
	}
	noError(t, e.db.Flush())
	// Pebble measures deleted ranges in the background.
	for deadline := time.Now().Add(time.Minute); !isFree(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a deleted range is not free after a flush")
		}
	}
}

// TestDeletedPartIsNotAll deletes a part of a range in memory. The rest is still counted.
func TestDeletedPartIsNotAll(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{})
	fill(t, e, 1, 100, 900)
	start, end := rangeOf(1)
	noError(t, e.DeleteRange(start, fmt.Appendf(start[:5:5], "%016d", 10)))
	if all, _ := e.unflushed.usage(start, end); all < 80_000 {
		t.Errorf("90 values of 900 bytes have %d bytes in memory", all)
	}
}

// TestDeletedSmallRangeIsCounted checks that deleted keys of a small range take space until a
// compaction. A neighbour that shares blocks has only the size that reading finds.
func TestDeletedSmallRangeIsCounted(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{NoCompression: true})
	const n, size = 80, 500
	for id := uint32(1); id <= 4; id++ {
		fill(t, e, id, n, size)
	}
	neighbour := fill(t, e, 5, 2, size)
	noError(t, e.db.Flush())
	s := e.NewSnapshot() // compactions keep the data that it sees
	defer s.Close()
	txn := e.Begin()
	for id := uint32(1); id <= 4; id++ {
		start, _ := rangeOf(id)
		for i := range n {
			noError(t, txn.Delete(fmt.Appendf(start[:5:5], "%016d", i)))
		}
	}
	noError(t, txn.Commit(storage.Buffered))
	noError(t, e.db.Flush())
	total := int64(0)
	for id := uint32(1); id <= 4; id++ {
		u, err := e.DiskUsage(rangeOf(id))
		noError(t, err)
		total += u.Tables
	}
	disk, err := e.Disk()
	noError(t, err)
	if total < disk.Tables*8/10 || total > disk.Tables {
		t.Errorf("deleted keys have %d bytes of the tables' %d", total, disk.Tables)
	}
	if u, err := e.DiskUsage(rangeOf(5)); err != nil || u.Tables != neighbour {
		t.Errorf("2 keys of %d bytes have %+v, %v", neighbour, u, err)
	}
}

// BenchmarkContentsOfSmallRange measures a range whose size is corrected by the properties of many
// tables.
func BenchmarkContentsOfSmallRange(b *testing.B) {
	e := open(b, b.TempDir(), Options{NoCompression: true})
	for id := uint32(1); id <= 30; id++ {
		fill(b, e, 1, 20, 500)
		if err := e.db.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	start, end := rangeOf(1)
	for b.Loop() {
		if _, err := e.Contents(start, end); err != nil {
			b.Fatal(err)
		}
	}
}
