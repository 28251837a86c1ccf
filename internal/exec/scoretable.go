package exec

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
)

// scoreTable adds up numbers by record keys: a hash table whose keys stand one behind the other in one piece of memory.
type scoreTable struct {
	entries []scoreEntry
	keys    []byte
	slots   []int32 // positions in entries plus one; 0 is free
	seed    maphash.Seed
}

// scoreEntry is a record and its score.
type scoreEntry struct {
	score         float64
	keyAt, keyEnd uint32 // see maxScores
}

// maxScores is how many bytes a table may take, whatever the limit of a search is.
const maxScores = 1 << 31

// scoreOverhead is what an entry takes beside its key: itself, and its slots.
const scoreOverhead = 16 + 8

// leastSlots is how many slots a table begins with.
const leastSlots = 256

// maxKeptScores is how many entries a table has at most that is kept for the next search.
const maxKeptScores = 64 << 10

// scoreTables are empty tables with the memory of earlier ones: a search of two usual words fills a megabyte.
var scoreTables = sync.Pool{New: func() any { return &scoreTable{seed: maphash.MakeSeed()} }}

// release empties the table, and leaves its memory to the next one. Nothing of it may be used any more.
func (t *scoreTable) release() {
	if kept := *t; len(kept.slots) > 0 && cap(kept.entries) <= maxKeptScores {
		kept.entries, kept.keys, kept.slots = kept.entries[:0], kept.keys[:0], kept.slots[:0]
		scoreTables.Put(&kept)
	}
	*t = scoreTable{}
}

func (t *scoreTable) key(e *scoreEntry) []byte { return t.keys[e.keyAt:e.keyEnd:e.keyEnd] }

func (t *scoreTable) size() int { return len(t.keys) + len(t.entries)*scoreOverhead }

// add adds a number to a record's.
func (t *scoreTable) add(key []byte, score float64) { t.entries[t.find(key)].score += score }

// find returns the position of a record, a new one where it has none.
func (t *scoreTable) find(key []byte) int {
	if 2*len(t.entries) >= len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := maphash.Bytes(t.seed, key) & mask; ; i = (i + 1) & mask {
		at := t.slots[i]
		if at == 0 {
			e := scoreEntry{keyAt: uint32(len(t.keys))}
			t.keys = append(t.keys, key...)
			e.keyEnd = uint32(len(t.keys))
			t.entries = append(t.entries, e)
			t.slots[i] = int32(len(t.entries))
			return len(t.entries) - 1
		}
		if e := &t.entries[at-1]; bytes.Equal(t.key(e), key) {
			return int(at - 1)
		}
	}
}

// grow doubles the slots.
func (t *scoreTable) grow() {
	if len(t.slots) == 0 {
		*t = *scoreTables.Get().(*scoreTable)
	}
	n := max(leastSlots, 2*len(t.slots))
	t.slots = slices.Grow(t.slots[:0], n)[:n]
	clear(t.slots)
	mask := uint64(len(t.slots) - 1)
	for at := range t.entries {
		i := maphash.Bytes(t.seed, t.key(&t.entries[at])) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = int32(at + 1)
	}
}

// ranking is a heap of a table's entries with the highest score on top; of equal ones the first in the collection.
type ranking struct {
	table *scoreTable
	order []int32
}

func newRanking(t *scoreTable) ranking {
	r := ranking{table: t, order: make([]int32, len(t.entries))}
	for i := range r.order {
		r.order[i] = int32(i)
	}
	for i := len(r.order)/2 - 1; i >= 0; i-- {
		r.down(i)
	}
	return r
}

func (r *ranking) before(a, b int32) bool {
	ea, eb := &r.table.entries[a], &r.table.entries[b]
	if ea.score != eb.score {
		return ea.score > eb.score
	}
	return bytes.Compare(r.table.key(ea), r.table.key(eb)) < 0
}

// pop takes the top off; the ranking is not empty.
func (r *ranking) pop() int32 {
	top, last := r.order[0], len(r.order)-1
	r.order[0] = r.order[last]
	r.order = r.order[:last]
	r.down(0)
	return top
}

// down moves an entry to where it belongs below.
func (r *ranking) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(r.order) {
			return
		}
		if child+1 < len(r.order) && r.before(r.order[child+1], r.order[child]) {
			child++
		}
		if !r.before(r.order[child], r.order[i]) {
			return
		}
		r.order[i], r.order[child] = r.order[child], r.order[i]
		i = child
	}
}
