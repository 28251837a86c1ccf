package admin

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/ttl"
)

// awaitTopology delays a hello with a topologyVersion until the topology differs from that version,
// or until maxAwaitTimeMS has passed.
func awaitTopology(ctx context.Context, s *command.Service, req *command.Request) error {
	tv, wait := req.Doc("topologyVersion"), req.Get("maxAwaitTimeMS")
	switch {
	case tv == nil && wait.IsMissing():
		return nil
	case tv == nil:
		return mongoerr.New(command.CodeAwaitIncomplete, "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'")
	case wait.IsMissing():
		return mongoerr.New(command.CodeAwaitIncomplete, "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'")
	case bsonx.SaturatingInt64(wait) < 0:
		return mongoerr.New(command.CodeNegativeAwait, "maxAwaitTimeMS must be a non-negative integer")
	}
	known, err := parseTopologyVersion(tv)
	if err != nil {
		return err
	}
	t := &s.Topology
	t.Mu.Lock()
	now, changed, stopped := command.TopologyVersion{t.Process, t.Counter}, t.Changed, t.Stopped
	t.Mu.Unlock()
	if known.Process != now.Process || stopped {
		return nil
	}
	if known.Counter > now.Counter {
		return mongoerr.New(command.CodeTopologyFuture, "Received a topology version with counter: %d which is greater than the server "+
			"topology version counter: %d", known.Counter, now.Counter)
	}
	if known.Counter < now.Counter {
		return nil
	}
	t.Waiting.Add(1)
	defer t.Waiting.Add(-1)
	_, err = read.Await(ctx, req.Op, req.Service.Clock, changed,
		time.Duration(bsonx.SaturatingInt64(wait))*time.Millisecond)
	return err
}

var topologyFields = []command.Field{
	{Name: "processId", Type: command.ObjectID, Required: true},
	{Name: "counter", Type: command.Long, Required: true},
}

func parseTopologyVersion(doc bsonx.Doc) (command.TopologyVersion, error) {
	var v command.TopologyVersion
	err := command.ParseFields("TopologyVersion", doc, topologyFields, func(i int, val bsonx.Value) error {
		if i == 0 {
			v.Process = val.ObjectID()
			return nil
		}
		if v.Counter = val.Int64(); v.Counter < 0 {
			return mongoerr.New(command.CodeNegativeCounter, "topologyVersion must have a non-negative counter")
		}
		return nil
	})
	return v, err
}

// statusReadConcerns appends the section readConcernCounters of serverStatus.
func statusReadConcerns(s *command.Service, b *bsonx.Builder) {
	for _, part := range [...]struct {
		name   string
		counts *[command.ReadConcernKinds]atomic.Int64
	}{{"nonTransactionOps", &s.Stats.ReadConcerns.Outside}, {"transactionOps", &s.Stats.ReadConcerns.Transactions}} {
		n := func(k command.ReadConcernKind) int64 { return part.counts[k].Load() }
		b.StartDocField(part.name)
		b.Int64("none", n(command.ReadImplicit)+n(command.ReadDefaultLocal)+n(command.ReadDefaultAvailable)+
			n(command.ReadDefaultMajority))
		b.Doc("noneInfo", bsonx.NewDoc(
			"CWRC", bsonx.NewDoc("local", n(command.ReadDefaultLocal), "available", n(command.ReadDefaultAvailable),
				"majority", n(command.ReadDefaultMajority)),
			"implicitDefault", bsonx.NewDoc("local", n(command.ReadImplicit)),
		))
		b.Int64("local", n(command.ReadLocal))
		if part.name == "nonTransactionOps" {
			b.Int64("available", n(command.ReadAvailable))
		}
		b.Int64("majority", n(command.ReadMajority))
		b.Doc("snapshot", bsonx.NewDoc("withClusterTime", n(command.ReadSnapshotAt),
			"withoutClusterTime", n(command.ReadSnapshot)))
		if part.name == "nonTransactionOps" {
			b.Int64("linearizable", n(command.ReadLinearizable))
		}
		b.End()
	}
}

// appendLatencyStats appends the latencies of operations on a collection, which may be nil.
// Operations on a time series are counted for its view. So if c is a bucket collection,
// appendLatencyStats adds the latencies of the view.
func appendLatencyStats(s *command.Service, b *bsonx.Builder, c *table.Collection, histograms bool) {
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

// statusLatencies appends the section opLatencies of serverStatus: the latencies of all operations
// of the server.
func statusLatencies(s *command.Service, req *command.Request, b *bsonx.Builder) {
	var all table.Latencies
	all.Merge(&s.Stats.Transactions)
	for i := range s.Stats.Tallies {
		all.Merge(&s.Stats.Tallies[i].Latencies)
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

// appendMember appends the fields about the replica set that hello and the section repl of
// serverStatus have. primaryField is the name of the field that is true on a primary.
func appendMember(s *command.Service, b *bsonx.Builder, conn *command.Conn, primaryField string) {
	member := s.Member(conn.Local)
	b.StartArrayField("hosts")
	b.Elem(bsonx.String(member))
	b.End()
	b.String("setName", s.ReplicaSet)
	b.Int32("setVersion", command.SetVersion)
	b.Bool(primaryField, true)
	b.Bool("secondary", false)
	b.String("primary", member)
	b.String("me", member)
	b.Value("electionId", bsonx.ObjectID(command.ElectionID))
	at := s.Order.Visible()
	b.StartDocField("lastWrite")
	command.AppendOptime(b, "opTime", at)
	b.Date("lastWriteDate", command.MillisOf(at))
	command.AppendOptime(b, "majorityOpTime", at)
	b.Date("majorityWriteDate", command.MillisOf(at))
	b.End()
}

// statusTTL appends metrics.ttl, the counters of the TTL monitor.
func statusTTL(s *command.Service, b *bsonx.Builder) {
	var st ttl.Stats
	if s.TTL != nil {
		st = s.TTL.Stats()
	}
	b.StartDocField("ttl")
	b.Int64("deletedDocuments", st.Deleted)
	b.Int64("invalidTTLIndexSkips", st.Invalid)
	b.Int64("passes", st.Passes)
	b.Int64("subPasses", st.SubPasses)
	b.End()
}
