package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
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

// WrittenSpace is a namespace of a bulkWrite, with the time that each kind of operation took on
// it. A kind without operations has a negative time.
type WrittenSpace struct {
	Namespace
	Took [bulkKinds]time.Duration
}

// WrittenSpaces are the namespaces of a bulkWrite without operations.
func WrittenSpaces(spaces []Namespace) []WrittenSpace {
	out := make([]WrittenSpace, len(spaces))
	for i := range out {
		out[i] = WrittenSpace{spaces[i], [bulkKinds]time.Duration{-1, -1, -1}}
	}
	return out
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

// CountTraffic counts writes of another command than those that top counts, for a collection.
func (s *Service) CountTraffic(db, name string, kind table.TrafficKind, took time.Duration) {
	if c := s.Store.Lookup(db, name); c != nil {
		c.Traffic().Add(kind, true, took)
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

// appendLatencyStats writes the counters of a collection, which may be nil. Those of buckets are counted by the
// name of their time series.
func (s *Service) appendLatencyStats(b *bsonx.Builder, c *table.Collection, histograms bool) {
	counted := new(table.Latencies)
	if c != nil {
		counted.Merge(c.Latencies())
		if series := s.Store.OfBuckets(c); series != nil {
			counted.Merge(series.Latencies())
		}
	}
	b.StartDocField("latencyStats")
	appendLatencies(b, counted, histograms)
	b.End()
}

func appendLatencies(b *bsonx.Builder, l *table.Latencies, histograms bool) {
	appendLatency(b, "reads", l, table.LatencyReads, histograms)
	appendLatency(b, "writes", l, table.LatencyWrites, histograms)
	appendLatency(b, "commands", l, table.LatencyCommands, histograms)
	appendLatency(b, "transactions", l, table.LatencyTransactions, histograms)
}

// StatusLatencies appends opLatencies of serverStatus: the latencies of all commands together.
func (s *Service) StatusLatencies(req *Request, b *bsonx.Builder) {
	var all table.Latencies
	all.Merge(&s.Stats.transactions)
	for i := range s.Stats.tallies {
		all.Merge(&s.Stats.tallies[i].latencies)
	}
	appendLatencies(b, &all, req.Body.LookupPath("opLatencies", "histograms").Truthy())
}

func appendLatency(b *bsonx.Builder, name string, l *table.Latencies, kind table.LatencyKind, histograms bool) {
	b.StartDocField(name)
	if histograms {
		b.StartArrayField("histogram")
		l.Each(kind, func(micros, count uint64) {
			b.Elem(bsonx.Document(bsonx.NewDoc("micros", int64(micros), "count", int64(count))))
		})
		b.End()
	}
	ops, micros := l.Sum(kind)
	b.Int64("latency", int64(micros))
	b.Int64("ops", int64(ops))
	b.End()
}

// Namespace is one entry of nsInfo.
type Namespace struct {
	DB, Name string
	UUID     bsonx.Value // that the collection must have; missing where that is not said
}

// BulkKind is a kind of operation of a bulkWrite.
type BulkKind int

// The kinds of operations of a bulkWrite.
const (
	BulkInsert BulkKind = iota
	BulkUpdate
	BulkDelete
	bulkKinds
)

// Counter is the opcounter of operations of a kind.
func (k BulkKind) Counter() Counter { return [...]Counter{CountInsert, CountUpdate, CountDelete}[k] }

// traffic is as what top counts operations of a kind.
func (k BulkKind) traffic() table.TrafficKind {
	return [...]table.TrafficKind{table.TrafficInsert, table.TrafficUpdate, table.TrafficRemove}[k]
}
