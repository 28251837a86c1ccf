package command

import (
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/table"
)

// CountTraffic counts writes of another command than those that top counts, for a collection.
func (s *Service) CountTraffic(db, name string, kind table.TrafficKind, took time.Duration) {
	if c := s.Store.Lookup(db, name); c != nil {
		c.Traffic().Add(kind, true, took)
	}
}

// AppendLatencyStats writes the counters of a collection, which may be nil. Those of buckets are counted by the
// name of their time series.
func (s *Service) AppendLatencyStats(b *bsonx.Builder, c *table.Collection, histograms bool) {
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
		all.Merge(&s.Stats.tallies[i].Latencies)
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
