package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/table"
)

// latencyKind returns as what a command is counted.
func latencyKind(command string) table.LatencyKind {
	switch command {
	case "find", "getMore", "aggregate", "count", "distinct":
		return table.LatencyReads
	case "insert", "update", "delete", "findAndModify", "bulkWrite":
		return table.LatencyWrites
	default:
		return table.LatencyCommands
	}
}

// countLatency counts a command on a collection for its $collStats.
func (s *Service) countLatency(e *entry, req *Request, took time.Duration) {
	kind := latencyKind(e.Name)
	req.Conn.tally.latencies.Add(kind, took)
	for i := range req.Spaces {
		s.countWritten(&req.Spaces[i])
	}
	if s.Store == nil || e.AdminOnly {
		return
	}
	db, name := req.target()
	if len(name) == 0 || name[0] == '$' {
		return
	}
	if c := s.Store.Lookup(db, req.Conn.collection(name)); c != nil {
		c.Latencies().Add(kind, took)
		c.Traffic().Add(trafficKind(e.Name), e.Write && !e.Read, took)
	}
}

// countWritten counts a bulkWrite for one of its collections, as a command of each kind that it has there.
func (s *Service) countWritten(w *WrittenSpace) {
	all, some := time.Duration(0), false
	for kind, took := range w.Took {
		if took >= 0 {
			s.CountTraffic(w.DB, w.Name, BulkKind(kind).traffic(), took)
			all, some = all+took, true
		}
	}
	if c := s.Store.Lookup(w.DB, w.Name); c != nil && some {
		c.Latencies().Add(table.LatencyWrites, all)
	}
}

// trafficKind returns as what top counts a command.
func trafficKind(command string) table.TrafficKind {
	switch command {
	case "find":
		return table.TrafficQueries
	case "getMore":
		return table.TrafficGetMore
	case "insert":
		return table.TrafficInsert
	case "update":
		return table.TrafficUpdate
	case "delete":
		return table.TrafficRemove
	default:
		return table.TrafficCommands
	}
}
