package admin

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/wire"
)

// ServerStatusCommands returns the definitions of serverStatus, connPoolStats and getLog.
func ServerStatusCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "serverStatus", Help: "Returns the server's counters.", Loose: true, Run: runServerStatus,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		{
			Name: "connPoolStats", Loose: true,
			Help: "Describes outgoing connections; there are none.", Run: runConnPoolStats,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
		},
		getLogCommand(),
	}
}

func runServerStatus(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	up := req.Now.Sub(s.Started)
	reply.String("host", s.HostAndPort())
	reply.String("version", command.CompatibleVersion)
	reply.String("process", "sheaf")
	reply.Int64("pid", int64(s.Pid))
	reply.Double("uptime", float64(int64(up.Seconds())))
	reply.Int64("uptimeMillis", up.Milliseconds())
	reply.Int64("uptimeEstimate", int64(up.Seconds()))
	reply.Date("localTime", req.Now.UnixMilli())
	if v := req.Body.Lookup("repl"); s.Replicates() && (v.IsMissing() || v.Truthy()) {
		appendRepl(s, reply, req.Conn)
	}
	for _, section := range append(sample(s, req).sections(), s.StatusSections...) {
		if v := req.Body.Lookup(section.Name); !v.IsMissing() && !v.Truthy() {
			continue
		}
		reply.StartDocField(section.Name)
		section.Append(reply)
		reply.End()
	}
	return nil
}

// statusSample holds the measurements of one serverStatus. Expensive measurements are made at most
// once, and only if a requested section needs them.
type statusSample struct {
	*command.Service
	req    *command.Request
	engine func() storage.Stats
	disk   func() (storage.Disk, error)
	walk   func() catalogCounts
}

func sample(s *command.Service, req *command.Request) *statusSample {
	x := &statusSample{Service: s, req: req, walk: sync.OnceValue(func() catalogCounts { return countCatalog(s) })}
	if s.Store != nil {
		x.engine, x.disk = sync.OnceValue(s.Store.Engine().Stats), sync.OnceValues(s.Store.Engine().Disk)
	}
	return x
}

func (x *statusSample) sections() []command.StatusSection {
	return []command.StatusSection{
		{Name: "asserts", Append: x.statusAsserts},
		{Name: "backgroundFlushing", Append: x.statusFlushes},
		{Name: "catalogStats", Append: x.statusCatalog},
		{Name: "connections", Append: x.statusConnections},
		{Name: "extra_info", Append: statusExtraInfo},
		{Name: "globalLock", Append: x.statusGlobalLock},
		{Name: "locks", Append: x.statusLocks},
		{Name: "logicalSessionRecordCache", Append: x.statusSessions},
		{Name: "mem", Append: statusMemory},
		{Name: "metrics", Append: x.statusMetrics},
		{Name: "network", Append: x.statusNetwork},
		{Name: "opLatencies", Append: func(b *bsonx.Builder) { statusLatencies(x.Service, x.req, b) }},
		{Name: "opcounters", Append: x.statusOpcounters},
		{Name: "opcountersRepl", Append: statusOpcountersRepl},
		{Name: "oplog", Append: x.statusOplog},
		{Name: "planCache", Append: x.statusPlanCache},
		{Name: "queues", Append: func(b *bsonx.Builder) { x.Establishment.AppendQueue(b, x.req.Now) }},
		{Name: "readConcernCounters", Append: func(b *bsonx.Builder) { statusReadConcerns(x.Service, b) }},
		{Name: "requestMemory", Append: x.statusRequestMemory},
		{Name: "storage", Append: x.statusStorage},
		{Name: "storageEngine", Append: x.statusEngine},
		{Name: "transactions", Append: func(b *bsonx.Builder) { statusTransactions(x.Service, b) }},
		{Name: "wiredTiger", Append: x.statusWiredTiger},
	}
}

// rollover is the number of errors after which the counter of asserts starts again at zero, as in
// MongoDB.
const rollover = 1 << 30

// statusAsserts appends the counters of errors. regular are errors that are a fault of the server,
// msg are panics. warning and tripwire are always 0, as in MongoDB outside of its tests.
func (x *statusSample) statusAsserts(b *bsonx.Builder) {
	user := x.Stats.UserErrors.Load()
	b.Int64("regular", x.Stats.InternalErrors.Load())
	b.Int32("warning", 0)
	b.Int64("msg", x.Stats.Panics.Load())
	b.Int64("user", user%rollover)
	b.Int32("tripwire", 0)
	b.Int64("rollovers", user/rollover)
}

func (x *statusSample) statusConnections(b *bsonx.Builder) {
	current := x.Stats.ConnsCurrent.Load()
	b.Int64("current", current)
	b.Int64("available", max(0, x.Stats.ConnsMax.Load()-current))
	b.Int64("totalCreated", x.Stats.ConnsTotal.Load())
	b.Int64("rejected", x.Stats.ConnsRejected.Load())
	ops := x.Ops.Counts()
	b.Int64("active", int64(ops.Active))
	b.Int64("threaded", current)
	b.Int64("awaitingTopologyChanges", x.Topology.Waiting.Load())
	x.Establishment.AppendRateLimit(b)
}

func (x *statusSample) statusNetwork(b *bsonx.Builder) {
	in := x.Stats.Sum(func(t *command.Tally) *atomic.Int64 { return &t.BytesIn })
	out := x.Stats.Sum(func(t *command.Tally) *atomic.Int64 { return &t.BytesOut })
	packedIn, packedOut := x.Stats.Packed()
	b.Int64("bytesIn", in+packedIn)
	b.Int64("bytesOut", out+packedOut)
	b.Int64("physicalBytesIn", in)
	b.Int64("physicalBytesOut", out)
	b.Int64("numRequests", x.Stats.Sum(func(t *command.Tally) *atomic.Int64 { return &t.Requests }))
	b.StartDocField("compression")
	for id := wire.CompressorSnappy; id < wire.Compressors; id++ {
		c := &x.Stats.Codecs[id]
		b.Doc(id.String(), bsonx.NewDoc(
			"compressor", bsonx.NewDoc("bytesIn", c.Compressed.In.Load(), "bytesOut", c.Compressed.Out.Load()),
			"decompressor", bsonx.NewDoc("bytesIn", c.Decompressed.In.Load(), "bytesOut", c.Decompressed.Out.Load()),
		))
	}
	b.End()
}

func (x *statusSample) statusOpcounters(b *bsonx.Builder) {
	for c, name := range [...]string{
		command.CountInsert: "insert", command.CountQuery: "query", command.CountUpdate: "update",
		command.CountDelete: "delete", command.CountGetMore: "getmore",
		command.CountCommand: "command",
	} {
		n := x.Stats.Sum(func(t *command.Tally) *atomic.Int64 { return &t.Opcounters[c] })
		switch command.Counter(c) {
		case command.CountInsert:
			n += x.Stats.Inserts.Statements.Load()
		case command.CountUpdate:
			n += x.Stats.Updates.Statements.Load()
		default: // pipelines only insert and update
		}
		b.Int64(name, n)
	}
	x.statusLegacy(b)
}

// statusLegacy appends how many messages with removed operation codes clients have sent. It appends
// nothing if there were no such messages.
func (x *statusSample) statusLegacy(b *bsonx.Builder) {
	var counts [len(command.LegacyOps)]int64
	total := int64(0)
	for i := range counts {
		counts[i] = x.Stats.Legacy[i].Load()
		total += counts[i]
	}
	if total == 0 {
		return
	}
	b.StartDocField("deprecated")
	b.Int64("total", total)
	for i, n := range counts {
		b.Int64(command.LegacyOps[i].Name, n)
	}
	b.End()
}

// statusOplog appends the oldest and newest position in the oplog, its size and its limits.
func (x *statusSample) statusOplog(b *bsonx.Builder) {
	if x.Store == nil || x.Store.Oplog() == nil {
		return
	}
	if oldest, _, err := x.Store.Log().Oldest(); err == nil {
		b.Value("earliestOptime", oplog.Timestamp(oldest))
	}
	b.Value("latestOptime", oplog.Timestamp(x.Order.Visible()))
	size, retention := x.Store.OplogLimits()
	if n, err := x.Store.Count(x.Store.Oplog()); err == nil {
		b.Int64("entries", n.Count)
		b.Int64("bytes", n.Bytes)
	}
	b.Int64("maximumBytes", size)
	b.Double("minRetentionHours", retention.Hours())
}

func runConnPoolStats(_ context.Context, _ *command.Request, reply *bsonx.Builder) error {
	for _, name := range [...]string{
		"numClientConnections", "numAScopedConnections", "totalInUse", "totalAvailable", "totalLeased", "totalCreated",
		"totalRefreshing",
	} {
		reply.Int32(name, 0)
	}
	reply.Doc("hosts", bsonx.Empty)
	return nil
}
