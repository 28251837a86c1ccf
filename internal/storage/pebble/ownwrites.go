package pebble

import "bytes"

// ownWrite is a change that a transaction made. Its key and value are offsets in the batch. A
// negative value offset is a deletion.
type ownWrite struct {
	hash             uint64
	keyAt, keyLen    int
	valueAt, valueLn int
	// kept means that the record cache had the key when the commit began.
	kept bool
}

func (w ownWrite) deleted() bool { return w.valueAt < 0 }

// find returns the last own write of a key.
func (s *txnState) find(key []byte) (ownWrite, bool) {
	hash := s.engine.locks.Hash(key)
	if s.latest != nil {
		i, ok := s.latest[hash]
		if !ok {
			return ownWrite{}, false
		}
		if w := s.writes[i]; bytes.Equal(s.key(w), key) {
			return w, true
		}
		// Two keys with the same hash: search the list.
	}
	for i := len(s.writes) - 1; i >= 0; i-- {
		if w := s.writes[i]; w.hash == hash && bytes.Equal(s.key(w), key) {
			return w, true
		}
	}
	return ownWrite{}, false
}

func (s *txnState) key(w ownWrite) []byte { return s.memory()[w.keyAt : w.keyAt+w.keyLen] }

func (s *txnState) value(w ownWrite) []byte {
	return s.memory()[w.valueAt : w.valueAt+w.valueLn : w.valueAt+w.valueLn]
}

// memory returns the bytes to which the offsets of own writes refer.
func (s *txnState) memory() []byte {
	if s.committed != nil {
		return s.committed
	}
	return s.batch.Repr()
}

func (s *txnState) record(w ownWrite) {
	s.writes = append(s.writes, w)
	n := len(s.writes)
	switch {
	case n <= linearWrites:
		return
	case s.latest == nil:
		s.latest = make(map[uint64]int32, 4*linearWrites)
		for i, w := range s.writes {
			s.latest[w.hash] = int32(i)
		}
	default:
		s.latest[w.hash] = int32(n - 1)
	}
}
