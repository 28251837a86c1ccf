package pebble

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"
)

const (
	// entryOverhead is the memory of an entry in a memtable in addition to its key and value.
	entryOverhead = 16
	// maxMemtables is greater than the number of memtables that can wait for a flush: writers stop
	// at four.
	maxMemtables = 8
	// usagePrefix is the number of key bytes that identify the range for which a key is counted.
	usagePrefix = 5
)

// prefixOf is the range for which a key is counted. Shorter keys are padded with zeros.
type prefixOf [usagePrefix]byte

// unflushed counts the bytes that commits put into the memtables, by ranges of keys, because Pebble
// reports the size of a range only for tables. The zero value is ready to use.
type unflushed struct {
	mu sync.RWMutex
	// memtables has one count for each memtable, the newest last.
	memtables []*memtableBytes
}

// memtableBytes counts the bytes in one memtable.
type memtableBytes struct {
	mu     sync.RWMutex
	ranges map[prefixOf]*rangeBytes
	// dropped counts the bytes of deleted ranges in tables. Pebble learns of these deletions at the
	// flush.
	dropped atomic.Int64
}

// rangeBytes is the size of a range in a memtable: all bytes, and the bytes of values.
type rangeBytes struct{ all, values atomic.Int64 }

// rotate begins the count for a new memtable.
func (u *unflushed) rotate() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.memtables = append(u.memtables, &memtableBytes{ranges: map[prefixOf]*rangeBytes{}})
	if n := len(u.memtables) - maxMemtables; n > 0 {
		u.memtables = append(u.memtables[:0:0], u.memtables[n:]...)
	}
}

// keep drops all counts except the n newest: the other memtables are flushed.
func (u *unflushed) keep(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if old := len(u.memtables) - max(n, 1); old > 0 {
		u.memtables = append(u.memtables[:0:0], u.memtables[old:]...)
	}
}

// newest returns the count of the memtable that receives commits.
func (u *unflushed) newest() *memtableBytes {
	u.mu.RLock()
	if n := len(u.memtables); n > 0 {
		m := u.memtables[n-1]
		u.mu.RUnlock()
		return m
	}
	u.mu.RUnlock()
	u.rotate()
	return u.newest()
}

// add adds the size of an entry to the count of its range.
func (m *memtableBytes) add(key []byte, value int) {
	var p prefixOf
	copy(p[:], key)
	m.mu.RLock()
	r := m.ranges[p]
	m.mu.RUnlock()
	if r == nil {
		m.mu.Lock()
		if r = m.ranges[p]; r == nil {
			r = new(rangeBytes)
			m.ranges[p] = r
		}
		m.mu.Unlock()
	}
	r.all.Add(int64(len(key) + value + entryOverhead))
	r.values.Add(int64(value))
}

// usage returns the size of a range in the memtables, and the part of it that is values.
func (u *unflushed) usage(start, end []byte) (all, values int64) {
	u.mu.RLock()
	memtables := u.memtables
	u.mu.RUnlock()
	for _, m := range memtables {
		a, v := m.usage(start, end)
		all, values = all+a, values+v
	}
	return all, values
}

func (m *memtableBytes) usage(start, end []byte) (all, values int64) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if onePrefix(start, end) {
		if r := m.ranges[prefixOf(start)]; r != nil {
			return r.all.Load(), r.values.Load()
		}
		return 0, 0
	}
	for p, r := range m.ranges {
		if within(p[:], start, end) {
			all, values = all+r.all.Load(), values+r.values.Load()
		}
	}
	return all, values
}

// forget drops the counts of a range whose keys were deleted. A prefix that is only partly in the
// range keeps its count.
func (u *unflushed) forget(start, end []byte) {
	u.mu.RLock()
	memtables := u.memtables
	u.mu.RUnlock()
	for _, m := range memtables {
		m.mu.Lock()
		for p := range m.ranges {
			if within(p[:], start, end) && !bytes.HasPrefix(end, p[:]) {
				delete(m.ranges, p)
			}
		}
		m.mu.Unlock()
	}
}

// dropped returns the size in tables of the ranges that were deleted since the last flush.
func (u *unflushed) dropped() (total int64) {
	u.mu.RLock()
	defer u.mu.RUnlock()
	for _, m := range u.memtables {
		total += m.dropped.Load()
	}
	return total
}

// within reports whether a prefix lies in [start, end).
func within(p, start, end []byte) bool {
	return bytes.Compare(p, start) >= 0 && (end == nil || bytes.Compare(p, end) < 0)
}

// onePrefix reports whether [start, end) has exactly the keys of one prefix.
func onePrefix(start, end []byte) bool {
	if len(start) != usagePrefix || len(end) != usagePrefix || start[0] != end[0] {
		return false
	}
	return uint64(binary.BigEndian.Uint32(start[1:]))+1 == uint64(binary.BigEndian.Uint32(end[1:]))
}

// countUnflushed counts the bytes that a commit puts into the memtable.
func (s *txnState) countUnflushed() {
	m := s.engine.unflushed.newest()
	for _, w := range s.writes {
		m.add(s.key(w), max(w.valueLn, 0))
	}
	for _, w := range s.stamped {
		key := w.key(s.committed)
		value, _ := binary.Uvarint(s.committed[w.keyAt+len(key)-w.prefix:])
		m.add(key, int(value))
	}
	for i := range s.counters {
		m.add(s.counters[i].entry.key, len(s.encoded))
	}
}
