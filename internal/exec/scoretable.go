package exec

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
)

// scoreTable sums up scores by record key. It is a hash table whose keys are stored one after
// another in one slice.
type scoreTable struct {
	entries []scoreEntry
	keys    []byte
	slots   []int32 // index into entries plus 1; 0 means free
	seed    maphash.Seed
}

// scoreEntry is a record and its score.
type scoreEntry struct {
	score         float64
	keyAt, keyEnd uint32 // offsets in keys; maxScores ensures that they fit
}

// maxScores is the largest size of a table in bytes, whatever the memory limit of a search is.
const maxScores = 1 << 31

// scoreOverhead is the memory of an entry without its key, in bytes: the entry and its slots.
const scoreOverhead = 16 + 8

// leastSlots is the initial number of slots.
const leastSlots = 256

// maxKeptScores is the largest capacity, in entries, of a table that is kept for the next search.
const maxKeptScores = 64 << 10

// scoreTables is a pool of empty tables: a search for two common words fills about a megabyte.
var scoreTables = sync.Pool{New: func() any { return &scoreTable{seed: maphash.MakeSeed()} }}

// release empties the table and returns its memory to the pool. Keys and entries of the table must
// not be used afterwards.
func (t *scoreTable) release() {
	if kept := *t; len(kept.slots) > 0 && cap(kept.entries) <= maxKeptScores {
		kept.entries, kept.keys, kept.slots = kept.entries[:0], kept.keys[:0], kept.slots[:0]
		scoreTables.Put(&kept)
	}
	*t = scoreTable{}
}

func (t *scoreTable) key(e *scoreEntry) []byte { return t.keys[e.keyAt:e.keyEnd:e.keyEnd] }

func (t *scoreTable) size() int { return len(t.keys) + len(t.entries)*scoreOverhead }

// add adds a number to the score of a record.
func (t *scoreTable) add(key []byte, score float64) { t.entries[t.find(key)].score += score }

// find returns the index of a record's entry. It adds an entry if the record does not have one.
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

// grow doubles the number of slots.
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

// ranking is a heap of a table's entries. The entry with the highest score comes first. Entries
// with equal scores are ordered by their record keys.
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

// pop removes the top entry and returns its index in the table. The ranking must not be empty.
func (r *ranking) pop() int32 {
	top, last := r.order[0], len(r.order)-1
	r.order[0] = r.order[last]
	r.order = r.order[:last]
	r.down(0)
	return top
}

// down restores the heap order by moving the entry at i down.
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
