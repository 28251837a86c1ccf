package exec

import "github.com/sheafdb/sheaf/internal/memory"

// seen is a set of record keys. It drops records that a node reaches a second time.
type seen struct {
	// single says that no record can be reached twice. Then no keys are stored, and add only counts
	// its calls.
	single bool
	keys   map[string]struct{}
	bytes  int64
	held   memory.Holding
}

// seenBytes estimates the memory of a key in the map, without the bytes of the key itself.
const seenBytes = 48

// add reports whether the key is new, and counts the test. It fails if the server's memory budget
// is exhausted.
func (s *seen) add(env *Env, stats *Stats, recordKey []byte) (bool, error) {
	stats.DupsTested++
	if s.single {
		return true, nil
	}
	if _, ok := s.keys[string(recordKey)]; ok {
		stats.DupsDropped++
		return false, nil
	}
	if s.keys == nil {
		s.keys = make(map[string]struct{})
		s.held = env.Memory.Hold()
	}
	s.keys[string(recordKey)] = struct{}{}
	s.bytes += int64(len(recordKey) + seenBytes)
	return true, s.held.Hold(s.bytes)
}

// close releases the memory.
func (s *seen) close() {
	if s.keys != nil {
		s.keys, s.bytes = nil, 0
		s.held.Release()
	}
}
