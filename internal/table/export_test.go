package table

// RecordPoint keeps a snapshot now, as the history does in its time.
func (s *Store) RecordPoint() error {
	p, err := s.newPoint()
	if err != nil {
		return err
	}
	h := &s.oplog.history
	h.mu.Lock()
	defer h.mu.Unlock()
	p.kept = true
	h.points = append(h.points, p)
	return nil
}

// Points returns how many snapshots the history keeps.
func (s *Store) Points() int {
	h := &s.oplog.history
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.points)
}

// PruneHistory gives back what the window has left.
func (s *Store) PruneHistory() {
	h := &s.oplog.history
	h.mu.Lock()
	defer h.mu.Unlock()
	h.prune()
}
