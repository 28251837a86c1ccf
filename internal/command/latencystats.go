package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/table"
)

// CountTraffic counts a write to a collection for the command top. Call it for writes by $merge,
// $out and bulkWrite; the dispatcher counts the writes of other commands.
func (s *Service) CountTraffic(db, name string, kind table.TrafficKind, took time.Duration) {
	if c := s.Store.Lookup(db, name); c != nil {
		c.Traffic().Add(kind, true, took)
	}
}
