package exec

import "github.com/sheafdb/sheaf/internal/memory"

// seen remembers record keys so that a record that is reached twice is given once.
type seen struct {
	// single says that no record can be reached twice; it is counted all the same.
	single bool
	keys   map[string]struct{}
	bytes  int64
	held   memory.Holding
}

// seenBytes is about what a key takes beside its bytes.
const seenBytes = 48

// add reports whether the key is new, and counts the test. It fails where the server has no memory for the key.
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

// close gives the memory back.
func (s *seen) close() {
	if s.keys != nil {
		s.keys, s.bytes = nil, 0
		s.held.Release()
	}
}
