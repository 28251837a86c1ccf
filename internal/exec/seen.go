package exec

// seen remembers record keys so that a record that is reached twice is given once.
type seen struct {
	// single says that no record can be reached twice; it is counted all the same.
	single bool
	keys   map[string]struct{}
}

// add reports whether the key is new, and counts the test.
func (s *seen) add(stats *Stats, recordKey []byte) bool {
	stats.DupsTested++
	if s.single {
		return true
	}
	if _, ok := s.keys[string(recordKey)]; ok {
		stats.DupsDropped++
		return false
	}
	if s.keys == nil {
		s.keys = make(map[string]struct{})
	}
	s.keys[string(recordKey)] = struct{}{}
	return true
}
