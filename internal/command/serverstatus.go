package command

import (
	"context"
	"runtime"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// serverStatusCommands returns serverStatus and its relatives.
func serverStatusCommands() []Definition {
	return []Definition{
		{Name: "serverStatus", Help: "Returns the server's counters.", Loose: true, Run: runServerStatus},
		{Name: "connPoolStats", Loose: true, Help: "Describes outgoing connections; there are none.", Run: runConnPoolStats},
		getLogCommand(),
	}
}

// StatusSection is a part of serverStatus that another layer contributes.
type StatusSection struct {
	Name string
	// Append appends the section's fields to the document that is open in b.
	Append func(b *bsonx.Builder)
}

func runServerStatus(_ context.Context, req *Request, reply *bsonx.Builder) error {
	s := req.Service
	up := req.Now.Sub(s.started)
	reply.String("host", s.hostname)
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
	for _, section := range append(builtinSections(s), s.StatusSections...) {
		if v := req.Body.Lookup(section.Name); !v.IsMissing() && !v.Truthy() {
			continue
		}
		reply.StartDocField(section.Name)
		section.Append(reply)
		reply.End()
	}
	return nil
}

func builtinSections(s *Service) []StatusSection {
	return []StatusSection{
		{"asserts", s.statusAsserts},
		{"connections", s.statusConnections},
		{"extra_info", statusExtraInfo},
		{"globalLock", s.statusGlobalLock},
		{"logicalSessionRecordCache", s.statusSessions},
		{"mem", statusMemory},
		{"metrics", s.statusMetrics},
		{"network", s.statusNetwork},
		{"opcounters", s.statusOpcounters},
		{"oplog", s.statusOplog},
		{"storage", s.statusStorage},
		{"storageEngine", s.statusEngine},
		{"transactions", s.statusTransactions},
	}
}

func (s *Service) statusAsserts(b *bsonx.Builder) {
	for _, name := range [...]string{"regular", "warning", "msg"} {
		b.Int32(name, 0)
	}
	b.Int64("user", s.stats.userErrors.Load())
	b.Int32("tripwire", 0)
	b.Int32("rollovers", 0)
}

func (s *Service) statusConnections(b *bsonx.Builder) {
	current := s.stats.connsCurrent.Load()
	b.Int64("current", current)
	b.Int64("available", max(0, s.stats.connsMax.Load()-current))
	b.Int64("totalCreated", s.stats.connsTotal.Load())
	b.Int64("rejected", s.stats.connsRejected.Load())
	b.Int64("active", int64(len(s.Ops.Snapshots(false))))
	b.Int64("threaded", current)
}

func statusExtraInfo(b *bsonx.Builder) {
	b.String("note", "fields vary by platform")
	if user, system, ok := processorTime(); ok {
		b.Int64("user_time_us", user.Microseconds())
		b.Int64("system_time_us", system.Microseconds())
	}
	b.Int64("threads", int64(runtime.NumGoroutine()))
}

func (s *Service) statusGlobalLock(b *bsonx.Builder) {
	b.Int64("totalTime", s.Clock.Now().Sub(s.started).Microseconds())
	for _, name := range [...]string{"currentQueue", "activeClients"} {
		b.StartDocField(name)
		b.Int32("total", 0)
		b.Int32("readers", 0)
		b.Int32("writers", 0)
		b.End()
	}
}

func (s *Service) statusSessions(b *bsonx.Builder) {
	st := s.Sessions.Stats()
	b.Int32("activeSessionsCount", int32(s.Sessions.Len()))
	b.Int32("sessionsCollectionJobCount", int32(st.Jobs))
	b.Int32("lastSessionsCollectionJobDurationMillis", 0)
	b.Date("lastSessionsCollectionJobTimestamp", st.LastJob.UnixMilli())
	b.Int32("lastSessionsCollectionJobEntriesRefreshed", 0)
	b.Int32("lastSessionsCollectionJobEntriesEnded", int32(st.LastEnded))
	b.Int32("lastSessionsCollectionJobCursorsClosed", 0)
}

func statusMemory(b *bsonx.Builder) {
	b.Int32("bits", 64)
	resident, virtual := processMemory()
	b.Int64("resident", resident>>20)
	b.Int64("virtual", virtual>>20)
	b.Bool("supported", true)
}

// processMemory returns the process's memory in bytes as the Go runtime knows it.
func processMemory() (resident, virtual int64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased), int64(m.Sys)
}

func (s *Service) statusMetrics(b *bsonx.Builder) {
	b.StartDocField("commands")
	b.Int64("<UNKNOWN>", s.stats.unknownCommands.Load())
	for _, e := range s.registry.all {
		if e.Status != Supported || e.Hidden {
			continue
		}
		b.StartDocField(e.Name)
		b.Int64("failed", e.failures.Load())
		b.Int64("total", e.runs.Load())
		b.End()
	}
	b.End()
	c := s.Cursors.Stats()
	b.StartDocField("cursor")
	b.Int64("moreThanOneBatch", c.MoreThanOneBatch)
	b.Int64("timedOut", c.TimedOut)
	b.Int64("totalOpened", c.Opened)
	b.StartDocField("open")
	b.Int64("noTimeout", int64(c.NoTimeout))
	b.Int64("pinned", int64(c.Pinned))
	b.Int64("total", int64(c.Open))
	b.End()
	b.End()
	s.statusWork(b)
	s.statusTTL(b)
}

func (s *Service) statusNetwork(b *bsonx.Builder) {
	b.Int64("bytesIn", s.stats.bytesIn.Load())
	b.Int64("bytesOut", s.stats.bytesOut.Load())
	b.Int64("numRequests", s.stats.requests.Load())
}

func (s *Service) statusOpcounters(b *bsonx.Builder) {
	for c, name := range [...]string{
		CountInsert: "insert", CountQuery: "query", CountUpdate: "update", CountDelete: "delete", CountGetMore: "getmore",
		CountCommand: "command",
	} {
		b.Int64(name, s.stats.opcounters[c].Load())
	}
}

// statusOplog tells how far the log of changes goes back, how large it is and may be.
func (s *Service) statusOplog(b *bsonx.Builder) {
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
