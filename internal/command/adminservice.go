package command

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/ttl"
)

// AwaitTopology delays an awaitable hello until the topology changes or its maxAwaitTimeMS has
// passed.
func (s *Service) AwaitTopology(ctx context.Context, req *Request) error {
	tv, wait := req.Doc("topologyVersion"), req.Get("maxAwaitTimeMS")
	switch {
	case tv == nil && wait.IsMissing():
		return nil
	case tv == nil:
		return mongoerr.New(codeAwaitIncomplete, "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'")
	case wait.IsMissing():
		return mongoerr.New(codeAwaitIncomplete, "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'")
	case bsonx.SaturatingInt64(wait) < 0:
		return mongoerr.New(codeNegativeAwait, "maxAwaitTimeMS must be a non-negative integer")
	}
	known, err := parseTopologyVersion(tv)
	if err != nil {
		return err
	}
	t := &s.Topology
	t.mu.Lock()
	now, changed, stopped := TopologyVersion{t.process, t.counter}, t.changed, t.stopped
	t.mu.Unlock()
	if known.process != now.process || stopped {
		return nil
	}
	if known.counter > now.counter {
		return mongoerr.New(codeTopologyFuture, "Received a topology version with counter: %d which is greater than the server "+
			"topology version counter: %d", known.counter, now.counter)
	}
	if known.counter < now.counter {
		return nil
	}
	t.Waiting.Add(1)
	defer t.Waiting.Add(-1)
	_, err = read.Await(ctx, req.Op, req.Service.Clock, changed, time.Duration(bsonx.SaturatingInt64(wait))*time.Millisecond)
	return err
}

var topologyFields = []Field{{Name: "processId", Type: ObjectID, Required: true}, {Name: "counter", Type: Long, Required: true}}

func parseTopologyVersion(doc bsonx.Doc) (TopologyVersion, error) {
	var v TopologyVersion
	err := ParseFields("TopologyVersion", doc, topologyFields, func(i int, val bsonx.Value) error {
		if i == 0 {
			v.process = val.ObjectID()
			return nil
		}
		if v.counter = val.Int64(); v.counter < 0 {
			return mongoerr.New(codeNegativeCounter, "topologyVersion must have a non-negative counter")
		}
		return nil
	})
	return v, err
}

// StatusReadConcerns appends readConcernCounters of serverStatus.
func (s *Service) StatusReadConcerns(b *bsonx.Builder) {
	for _, part := range [...]struct {
		name   string
		counts *[readConcernKinds]atomic.Int64
	}{{"nonTransactionOps", &s.Stats.ReadConcerns.outside}, {"transactionOps", &s.Stats.ReadConcerns.transactions}} {
		n := func(k readConcernKind) int64 { return part.counts[k].Load() }
		b.StartDocField(part.name)
		b.Int64("none", n(readImplicit)+n(readDefaultLocal)+n(readDefaultAvailable)+n(readDefaultMajority))
		b.Doc("noneInfo", bsonx.NewDoc(
			"CWRC", bsonx.NewDoc("local", n(readDefaultLocal), "available", n(readDefaultAvailable), "majority", n(readDefaultMajority)),
			"implicitDefault", bsonx.NewDoc("local", n(readImplicit)),
		))
		b.Int64("local", n(readLocal))
		if part.name == "nonTransactionOps" {
			b.Int64("available", n(readAvailable))
		}
		b.Int64("majority", n(readMajority))
		b.Doc("snapshot", bsonx.NewDoc("withClusterTime", n(readSnapshotAt), "withoutClusterTime", n(readSnapshot)))
		if part.name == "nonTransactionOps" {
			b.Int64("linearizable", n(readLinearizable))
		}
		b.End()
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

// AppendMember appends what hello and serverStatus tell of the set.
func (s *Service) AppendMember(b *bsonx.Builder, conn *Conn, primaryField string) {
	member := s.Member(conn.Local)
	b.StartArrayField("hosts")
	b.Elem(bsonx.String(member))
	b.End()
	b.String("setName", s.ReplicaSet)
	b.Int32("setVersion", SetVersion)
	b.Bool(primaryField, true)
	b.Bool("secondary", false)
	b.String("primary", member)
	b.String("me", member)
	b.Value("electionId", bsonx.ObjectID(electionID))
	at := s.Order.Visible()
	b.StartDocField("lastWrite")
	AppendOptime(b, "opTime", at)
	b.Date("lastWriteDate", MillisOf(at))
	AppendOptime(b, "majorityOpTime", at)
	b.Date("majorityWriteDate", MillisOf(at))
	b.End()
}

// StatusTTL appends metrics.ttl.
func (s *Service) StatusTTL(b *bsonx.Builder) {
	var st ttl.Stats
	if s.ttl != nil {
		st = s.ttl.Stats()
	}
	b.StartDocField("ttl")
	b.Int64("deletedDocuments", st.Deleted)
	b.Int64("invalidTTLIndexSkips", st.Invalid)
	b.Int64("passes", st.Passes)
	b.Int64("subPasses", st.SubPasses)
	b.End()
}
