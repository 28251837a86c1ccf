package command

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/wire"
)

// serverStatusCommands returns serverStatus and its relatives.
func serverStatusCommands() []Definition {
	return []Definition{
		{Name: "serverStatus", Help: "Returns the server's counters.", Loose: true, Run: runServerStatus},
		{Name: "connPoolStats", Loose: true, Help: "Describes outgoing connections; there are none.", Run: runConnPoolStats},
		getLogCommand(),
	}
}

func runServerStatus(_ context.Context, req *Request, reply *bsonx.Builder) error {
	s := req.Service
	up := req.Now.Sub(s.started)
	reply.String("host", s.hostAndPort())
	reply.String("version", CompatibleVersion)
	reply.String("process", "sheaf")
	reply.Int64("pid", int64(s.pid))
	reply.Double("uptime", float64(int64(up.Seconds())))
	reply.Int64("uptimeMillis", up.Milliseconds())
	reply.Int64("uptimeEstimate", int64(up.Seconds()))
	reply.Date("localTime", req.Now.UnixMilli())
	if v := req.Body.Lookup("repl"); s.replicates() && (v.IsMissing() || v.Truthy()) {
		s.appendRepl(reply, req.Conn)
	}
	for _, section := range append(s.sample(req).sections(), s.StatusSections...) {
		if v := req.Body.Lookup(section.Name); !v.IsMissing() && !v.Truthy() {
			continue
		}
		reply.StartDocField(section.Name)
		section.Append(reply)
		reply.End()
	}
	return nil
}

// statusSample is what one serverStatus measures. What takes long is measured once, and only for a section that is wanted.
type statusSample struct {
	*Service
	req    *Request
	engine func() storage.Stats
	disk   func() (storage.Disk, error)
	walk   func() catalogCounts
}

func (s *Service) sample(req *Request) *statusSample {
	x := &statusSample{Service: s, req: req, walk: sync.OnceValue(func() catalogCounts { return s.countCatalog() })}
	if s.Store != nil {
		x.engine, x.disk = sync.OnceValue(s.Store.Engine().Stats), sync.OnceValues(s.Store.Engine().Disk)
	}
	return x
}

func (x *statusSample) sections() []StatusSection {
	return []StatusSection{
		{"asserts", x.statusAsserts},
		{"backgroundFlushing", x.statusFlushes},
		{"catalogStats", x.statusCatalog},
		{"connections", x.statusConnections},
		{"extra_info", statusExtraInfo},
		{"globalLock", x.statusGlobalLock},
		{"locks", x.statusLocks},
		{"logicalSessionRecordCache", x.statusSessions},
		{"mem", statusMemory},
		{"metrics", x.statusMetrics},
		{"network", x.statusNetwork},
		{"opLatencies", func(b *bsonx.Builder) { x.statusLatencies(x.req, b) }},
		{"opcounters", x.statusOpcounters},
		{"opcountersRepl", statusOpcountersRepl},
		{"oplog", x.statusOplog},
		{"planCache", x.statusPlanCache},
		{"queues", func(b *bsonx.Builder) { x.Establishment.appendQueue(b, x.req.Now) }},
		{"readConcernCounters", x.statusReadConcerns},
		{"requestMemory", x.statusRequestMemory},
		{"storage", x.statusStorage},
		{"storageEngine", x.statusEngine},
		{"transactions", x.statusTransactions},
		{"wiredTiger", x.statusWiredTiger},
	}
}

// rollover is after how many errors the counters of asserts begin anew, as in MongoDB.
const rollover = 1 << 30

// statusAsserts counts errors: regular ones are the server's own, msg those that ended in a panic. MongoDB raises no warnings and
// no tripwires outside of its tests either.
func (s *statusSample) statusAsserts(b *bsonx.Builder) {
	user := s.stats.userErrors.Load()
	b.Int64("regular", s.stats.internalErrors.Load())
	b.Int32("warning", 0)
	b.Int64("msg", s.stats.panics.Load())
	b.Int64("user", user%rollover)
	b.Int32("tripwire", 0)
	b.Int64("rollovers", user/rollover)
}

func (s *statusSample) statusConnections(b *bsonx.Builder) {
	current := s.stats.connsCurrent.Load()
	b.Int64("current", current)
	b.Int64("available", max(0, s.stats.connsMax.Load()-current))
	b.Int64("totalCreated", s.stats.connsTotal.Load())
	b.Int64("rejected", s.stats.connsRejected.Load())
	ops := s.Ops.Counts()
	b.Int64("active", int64(ops.Active))
	b.Int64("threaded", current)
	b.Int64("awaitingTopologyChanges", s.topology.waiting.Load())
	s.Establishment.appendRateLimit(b)
}

func (s *statusSample) statusNetwork(b *bsonx.Builder) {
	in := s.stats.sum(func(t *tally) *atomic.Int64 { return &t.bytesIn })
	out := s.stats.sum(func(t *tally) *atomic.Int64 { return &t.bytesOut })
	packedIn, packedOut := s.stats.packed()
	b.Int64("bytesIn", in+packedIn)
	b.Int64("bytesOut", out+packedOut)
	b.Int64("physicalBytesIn", in)
	b.Int64("physicalBytesOut", out)
	b.Int64("numRequests", s.stats.sum(func(t *tally) *atomic.Int64 { return &t.requests }))
	b.StartDocField("compression")
	for id := wire.CompressorSnappy; id < wire.Compressors; id++ {
		c := &s.stats.codecs[id]
		b.Doc(id.String(), bsonx.NewDoc(
			"compressor", bsonx.NewDoc("bytesIn", c.compressed.in.Load(), "bytesOut", c.compressed.out.Load()),
			"decompressor", bsonx.NewDoc("bytesIn", c.decompressed.in.Load(), "bytesOut", c.decompressed.out.Load()),
		))
	}
	b.End()
}

func (s *statusSample) statusOpcounters(b *bsonx.Builder) {
	for c, name := range [...]string{
		CountInsert: "insert", CountQuery: "query", CountUpdate: "update", CountDelete: "delete", CountGetMore: "getmore",
		CountCommand: "command",
	} {
		n := s.stats.sum(func(t *tally) *atomic.Int64 { return &t.opcounters[c] })
		switch Counter(c) {
		case CountInsert:
			n += s.stats.inserts.statements.Load()
		case CountUpdate:
			n += s.stats.updates.statements.Load()
		default: // pipelines write nothing else
		}
		b.Int64(name, n)
	}
	s.statusLegacy(b)
}

// statusLegacy tells which removed operations clients have sent. It is absent while there were none.
func (s *statusSample) statusLegacy(b *bsonx.Builder) {
	var counts [len(legacyOps)]int64
	total := int64(0)
	for i := range counts {
		counts[i] = s.stats.legacy[i].Load()
		total += counts[i]
	}
	if total == 0 {
		return
	}
	b.StartDocField("deprecated")
	b.Int64("total", total)
	for i, n := range counts {
		b.Int64(legacyOps[i].name, n)
	}
	b.End()
}

// statusOplog tells how far the log of changes goes back, how large it is and may be.
func (s *statusSample) statusOplog(b *bsonx.Builder) {
	if s.Store == nil || s.Store.Oplog() == nil {
		return
	}
	if oldest, _, err := s.Store.OldestEntry(); err == nil {
		b.Value("earliestOptime", timestamp(oldest))
	}
	b.Value("latestOptime", timestamp(s.order.Visible()))
	size, retention := s.Store.OplogLimits()
	if n, err := s.Store.Count(s.Store.Oplog()); err == nil {
		b.Int64("entries", n.Count)
		b.Int64("bytes", n.Bytes)
	}
	b.Int64("maximumBytes", size)
	b.Double("minRetentionHours", retention.Hours())
}

func runConnPoolStats(_ context.Context, _ *Request, reply *bsonx.Builder) error {
	for _, name := range [...]string{
		"numClientConnections", "numAScopedConnections", "totalInUse", "totalAvailable", "totalLeased", "totalCreated",
		"totalRefreshing",
	} {
		reply.Int32(name, 0)
	}
	reply.Doc("hosts", bsonx.Empty)
	return nil
}
