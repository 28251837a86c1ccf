package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/table"
)

// CountTraffic counts writes of another command than those that top counts, for a collection.
func (s *Service) CountTraffic(db, name string, kind table.TrafficKind, took time.Duration) {
	if c := s.Store.Lookup(db, name); c != nil {
		c.Traffic().Add(kind, true, took)
	}
}
