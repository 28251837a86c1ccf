package dispatch

import (
	"time"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/table"
)

// countLatency counts the duration of a command for the server and for the command's collection.
// $collStats and the command top show the durations of a collection.
func countLatency(s *command.Service, e *command.Entry, req *command.Request, took time.Duration) {
	req.Conn.Tally.Latencies.Add(e.Latency, took)
	for i := range req.Spaces {
		countWritten(s, &req.Spaces[i])
	}
	if s.Store == nil || e.AdminOnly == feature.Yes {
		return
	}
	db, name := req.Target()
	if len(name) == 0 || name[0] == '$' {
		return
	}
	if c := s.Store.Lookup(db, req.Conn.Collection(name)); c != nil {
		c.Latencies().Add(e.Latency, took)
		c.Traffic().Add(e.Traffic, e.AlwaysWrites(), took)
	}
}

// countWritten counts a bulkWrite for one of its collections. The command top counts it once for
// each kind of operation, and $collStats counts it as one write.
func countWritten(s *command.Service, w *command.WrittenSpace) {
	all, some := time.Duration(0), false
	for kind, took := range w.Took {
		if took >= 0 {
			s.CountTraffic(w.DB, w.Name, command.BulkKind(kind).Traffic(), took)
			all, some = all+took, true
		}
	}
	if c := s.Store.Lookup(w.DB, w.Name); c != nil && some {
		c.Latencies().Add(table.LatencyWrites, all)
	}
}
