package pebble

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestRecordIndex compares an index with a map, also when many hashes begin at the same slots.
func TestRecordIndex(t *testing.T) {
	t.Parallel()
	for _, homes := range []uint64{3, 100, 1 << 32} {
		rng := rand.New(rand.NewPCG(1, homes))
		var x recordIndex
		var entries []recordEntry
		want := map[uint64]int32{}
		for range 20_000 {
			hash := rng.Uint64N(homes)<<32 | rng.Uint64N(50)
			at, i, ok := x.find(entries, hash)
			if j, there := want[hash]; ok != there || ok && i != j {
				t.Fatalf("%x: found %d %t, not %d %t", hash, i, ok, j, there)
			}
			if ok {
				x.remove(at)
				delete(want, hash)
				continue
			}
			want[hash] = int32(len(entries))
			x.add(hash, int32(len(entries)))
			entries = append(entries, recordEntry{hash: hash})
		}
		if x.live != len(want) {
			t.Fatalf("%d are there, not %d", x.live, len(want))
		}
		for hash, j := range want {
			if _, i, ok := x.find(entries, hash); !ok || i != j {
				t.Fatalf("%x: found %d %t, not %d", hash, i, ok, j)
			}
		}
	}
}

// BenchmarkRecords gets small values in random order from all processors.
func BenchmarkRecords(b *testing.B) {
	const n = 16 << 10
	e := keptEngine(b)
	c := newRecords(keepAll, 64<<20)
	keys, hashes := make([][]byte, n), make([]uint64, n)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint64([]byte("r1234"), uint64(i))
		hashes[i] = e.locks.Hash(keys[i])
		c.add(hashes[i], keys[i], make([]byte, 120), 0)
	}
	b.RunParallel(func(pb *testing.PB) {
		rng := rand.New(rand.NewPCG(2, 3))
		for pb.Next() {
			i := rng.IntN(n)
			if _, ok := c.get(hashes[i], keys[i], 0); !ok {
				b.Fail()
			}
		}
	})
}
