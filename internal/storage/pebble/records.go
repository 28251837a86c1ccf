package pebble

import (
	"bytes"
	"sync"
	"sync/atomic"
)

const (
	// recordShards is the number of shards, each with its own lock. The low bits of a key's hash
	// select a shard, the next bits select a slot in it.
	recordShards = 64
	recordSlots  = 64
	// recordOverhead is the approximate memory of an entry in addition to its bytes.
	recordOverhead = 112
	// recordShare limits the size of an entry to this fraction of a shard: one eighth.
	recordShare = 8
)

// records caches whole values that were read with Get, ready to be lent. A hit costs a twentieth of
// Pebble's Get, which looks into a memtable, the tables of each level and a block. These rules keep
// the cache correct:
//
//   - A commit calls begin for each of its keys before it becomes visible, and end afterwards.
//     begin removes the entry of the key.
//   - Between begin and end no value is added for the key's slot. After end no value is added that
//     was read before end.
//   - Epochs count commits. A reader takes the epoch first and its view of the store afterwards. An
//     entry has the epoch of the last commit to its slot. A commit takes its epoch after it is
//     visible. So if the epoch of a view is not less than the epoch of an entry, the view has the
//     entry's value, as long as the entry exists.
//
// The CLOCK algorithm evicts entries. A new entry is not marked as used, so that entries that are
// read only once are evicted first.
type records struct {
	// keep reports whether the value of a key is cached.
	keep func(key []byte) bool
	// shardMax is the capacity of a shard in bytes.
	shardMax atomic.Int64
	epoch    atomic.Uint64
	shards   [recordShards]recordShard
}

type recordShard struct {
	mu sync.Mutex
	// The fields that every get reads or changes are next to each other: they are usually in
	// another processor's cache, and fetching them is most of the cost of a get.
	hits, misses int64

	index   recordIndex
	entries []recordEntry
	free    []int32
	hand    int
	bytes   int
	slots   [recordSlots]recordSlot
	// whole is the slot for DeleteRange, which affects all slots.
	whole recordSlot
}

// recordSlot is the shared state of all keys whose hash selects this slot: the number of commits in
// progress and the epoch of the last one.
type recordSlot struct {
	epoch   uint64
	writers int32
}

// recordEntry is a key and its value in one slice that never changes. A nil bytes means that the
// entry is free.
type recordEntry struct {
	hash  uint64
	epoch uint64
	bytes []byte
	key   int32 // length of the key
	used  bool
}

func (e *recordEntry) is(key []byte) bool {
	return int(e.key) == len(key) && bytes.Equal(e.bytes[:e.key], key)
}

func (e *recordEntry) value() []byte { return e.bytes[e.key:len(e.bytes):len(e.bytes)] }

func (e *recordEntry) cost() int { return len(e.bytes) + recordOverhead }

// newRecords returns a cache of size bytes for the keys for which keep returns true. If keep is nil
// it returns nil, which is a cache that stores nothing.
func newRecords(keep func(key []byte) bool, size int64) *records {
	if keep == nil {
		return nil
	}
	c := &records{keep: keep}
	c.shardMax.Store(size / recordShards)
	return c
}

// resize changes the capacity of the cache to size bytes.
func (c *records) resize(size int64) {
	if c == nil {
		return
	}
	c.shardMax.Store(size / recordShards)
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.shrink(c.limit())
		s.mu.Unlock()
	}
}

// limit returns the capacity of a shard in bytes.
func (c *records) limit() int { return int(c.shardMax.Load()) }

// keeps reports whether the cache stores the value of this key.
func (c *records) keeps(key []byte) bool { return c != nil && c.keep(key) }

// now returns the epoch of a view that is taken after the call.
func (c *records) now() uint64 {
	if c == nil {
		return 0
	}
	return c.epoch.Load()
}

func (c *records) shard(hash uint64) (*recordShard, *recordSlot) {
	s := &c.shards[hash%recordShards]
	return s, &s.slots[hash/recordShards%recordSlots]
}

// get returns the value of a key in the view of an epoch.
func (c *records) get(hash uint64, key []byte, epoch uint64) ([]byte, bool) {
	s, _ := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, i, ok := s.index.find(s.entries, hash); ok {
		if e := &s.entries[i]; e.epoch <= epoch && e.is(key) {
			if !e.used { // do not write shared memory without need
				e.used = true
			}
			s.hits++
			return e.value(), true
		}
	}
	s.misses++
	return nil, false
}

// add stores a value that was read in a view with this epoch, if the value is still the newest.
func (c *records) add(hash uint64, key, value []byte, epoch uint64) {
	c.offer(hash, key, value, epoch, false)
}

// offer does the same as add. If spare is set, it stores the value only if there is room, or if the
// value can replace a value that was not requested again.
func (c *records) offer(hash uint64, key, value []byte, epoch uint64, spare bool) {
	if len(key)+len(value)+recordOverhead > c.limit()/recordShare {
		return
	}
	s, slot := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot.writers > 0 || slot.epoch > epoch || s.whole.writers > 0 || s.whole.epoch > epoch {
		return
	}
	if spare && s.bytes+len(key)+len(value)+recordOverhead > c.limit() && !s.evictIdle() {
		return
	}
	s.put(hash, key, value, max(slot.epoch, s.whole.epoch), c.limit())
}

// begin prepares a commit that changes a key. It removes the cached value of the key, and reports
// whether there was one. Until end, the cache ignores new values of all keys in the same slot.
func (c *records) begin(hash uint64, key []byte) bool {
	s, slot := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	slot.writers++
	_, i, ok := s.index.find(s.entries, hash)
	if !ok || !s.entries[i].is(key) {
		return false
	}
	s.remove(i)
	return true
}

// end is called after the commit has succeeded or failed. A value that is not nil is the value that
// the commit wrote, and is stored.
func (c *records) end(hash uint64, key, value []byte) {
	s, slot := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	slot.writers--
	// The epoch is read under the lock, so that the epochs of a slot only grow.
	slot.epoch = c.epoch.Add(1)
	if value != nil && slot.writers == 0 && s.whole.writers == 0 {
		s.put(hash, key, value, slot.epoch, c.limit())
	}
}

// beginRange removes the cached values of the keys from start to before end. Until endRange, the
// cache ignores new values of all keys, also of keys outside this range.
func (c *records) beginRange(start, end []byte) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.whole.writers++
		for j := range s.entries {
			e := &s.entries[j]
			if e.bytes == nil {
				continue
			}
			key := e.bytes[:e.key]
			if bytes.Compare(key, start) >= 0 && bytes.Compare(key, end) < 0 {
				s.remove(int32(j))
			}
		}
		s.mu.Unlock()
	}
}

// endRange ends the range deletion that beginRange began. The cache accepts new values again.
func (c *records) endRange() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.whole.writers--
		s.whole.epoch = c.epoch.Add(1)
		s.mu.Unlock()
	}
}

// usage returns the bytes held, and the numbers of gets that found a value and that did not.
func (c *records) usage() (size, hits, misses int64) {
	if c == nil {
		return 0, 0, 0
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		size += int64(s.bytes)
		hits += s.hits
		misses += s.misses
		s.mu.Unlock()
	}
	return size, hits, misses
}

// put adds or replaces an entry and makes room for it.
func (s *recordShard) put(hash uint64, key, value []byte, epoch uint64, limit int) {
	if _, i, ok := s.index.find(s.entries, hash); ok {
		s.remove(i)
	}
	e := recordEntry{hash: hash, epoch: epoch, key: int32(len(key))}
	e.bytes = append(append(make([]byte, 0, len(key)+len(value)), key...), value...)
	s.shrink(limit - e.cost())
	var i int32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
		s.entries[i] = e
	} else {
		i = int32(len(s.entries))
		s.entries = append(s.entries, e)
	}
	s.index.add(hash, i)
	s.bytes += e.cost()
}

// shrink evicts until at most limit bytes are held.
func (s *recordShard) shrink(limit int) {
	for s.bytes > limit && s.index.live > 0 {
		s.evict()
	}
}

// evictIdle moves the hand by one entry. It removes the entry at the hand unless the entry was used
// since it was added, and reports whether it removed the entry.
func (s *recordShard) evictIdle() bool {
	if len(s.entries) == 0 {
		return false
	}
	s.hand = (s.hand + 1) % len(s.entries)
	e := &s.entries[s.hand]
	if e.bytes == nil || e.used {
		return false
	}
	s.remove(int32(s.hand))
	return true
}

// evict removes the next entry that was not used since the hand last passed it.
func (s *recordShard) evict() {
	for {
		s.hand = (s.hand + 1) % len(s.entries)
		e := &s.entries[s.hand]
		switch {
		case e.bytes == nil:
		case e.used:
			e.used = false
		default:
			s.remove(int32(s.hand))
			return
		}
	}
}

func (s *recordShard) remove(i int32) {
	e := &s.entries[i]
	if at, _, ok := s.index.find(s.entries, e.hash); ok {
		s.index.remove(at)
	}
	s.bytes -= e.cost()
	*e = recordEntry{}
	s.free = append(s.free, i)
}
