package command

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/param"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/relief"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/ttl"
)

// budgetParams returns the parameters that set the memory limits of stages.
func (s opening) budgetParams() []param.Param {
	var params []param.Param
	for _, budget := range pipeline.Budgets() {
		params = append(params,
			param.Int(budget.Param, limits.OperatorBytes, budget.Least, math.MaxInt64, func(n int64) {
				s.Read.Budgets.Put(budget, max(n, 1))
				if budget.Param == SortMemoryParam && s.Planner != nil {
					s.Planner.SetSortMemory(int(max(n, 1)))
				}
			}))
	}
	return params
}

// loadClusterParameters loads the cluster parameters that were set before the last stop. It ignores
// a stored value that is no longer valid.
func (s opening) loadClusterParameters() error {
	s.images.Store(&imagePolicy{})
	s.ReadLimit.Store(&readLimit{})
	if s.Store == nil || !s.Replicates() {
		return nil
	}
	for _, p := range ClusterTable {
		doc, err := s.setting(ClusterParameters, p.Name)
		if err != nil {
			return err
		}
		if doc == nil {
			continue
		}
		at := StampOf(doc.Lookup("clusterParameterTime"))
		if v, err := p.Parse(doc.Without("_id", "clusterParameterTime"), at); err == nil {
			v.Hold(s.Service)
		}
	}
	return nil
}

// builtinParams returns the parameters of this package, and the constant ones that clients query on
// every server.
func (s opening) builtinParams() []param.Param {
	fcv := bsonx.Document(bsonx.NewDoc("version", FeatureVersion))
	return []param.Param{
		param.Constant("featureCompatibilityVersion", fcv),
		param.Constant("authenticationMechanisms", bsonx.NewArray()),
		param.Constant("enableTestCommands", bsonx.Bool(s.TestCommands)),
		param.Enum(QueryFrameworkParam, "forceClassicEngine", "trySbeRestricted", "trySbeEngine"),
		param.Bool(CollationRegexParam, true, func(ignore bool) {
			if s.Planner != nil {
				s.Planner.SetCollatedRegex(!ignore)
			}
		}),
		param.Constant("localLogicalSessionTimeoutMinutes", bsonx.Int32(30)),
		{Name: "maxSessions", Get: func() bsonx.Value { return bsonx.Int32(int32(s.Sessions.Max())) }},
		param.Int("transactionLifetimeLimitSeconds",
			int64(session.DefaultLifetime/time.Second), 1, 1<<31-1, func(n int64) {
				s.Transactions.SetLifetime(time.Duration(n) * time.Second)
			}),
		param.Int("transactionSizeLimitBytes", defaultTransactionSize, 1, 1<<62, s.TransactionSize.Store),
		param.Int("cursorTimeoutMillis", 600_000, 1, 1<<53, func(n int64) {
			s.Cursors.SetIdleTimeout(time.Duration(min(n, 1<<43)) * time.Millisecond)
		}),
		param.Int("slowms", s.SlowMillis, -1, 1<<53, s.setSlowMillis),
		param.Int("maxAcceptableLogicalClockDriftSecs", limits.ClockDriftSeconds, 1, 1<<31-1, s.MaxClockDrift.Store),
		param.Int("minSnapshotHistoryWindowInSeconds", read.SnapshotWindow, 0, 1<<31-1, s.setHistoryWindow),
	}
}

// initRead gives the read engine its dependencies.
func (s opening) initRead() {
	e := &s.Read
	e.Store, e.Planner, e.Clock, e.Memory, e.TempDir, e.NoScripting = s.Store, s.Planner, s.Clock,
		s.Memory, s.TempDir, s.NoScripting
	if s.Replicates() {
		e.Order = s.Order
	}
	e.Virtual = func(c *table.Collection, local string) source.Source { return s.readVirtual(c, local) }
	e.Diagnostics = func(on read.Subject) source.Diagnostics { return s.Diagnostics(s.Service, on) }
	e.DisabledRules = s.disabledRules
	e.ImageExpired = func(kept time.Time) bool { return s.images.Load().expired(kept, s.Clock.Now()) }
	e.Init()
}

// loadDefaults loads the default read and write concern that were set before the last stop. It
// ignores a stored value that is no longer valid.
func (s opening) loadDefaults() error {
	d := &RWDefaults{Local: s.Started}
	s.RWDefaults.Store(d)
	if s.Store == nil || !s.Replicates() {
		return nil
	}
	doc, err := s.setting(DefaultsCollection, defaultsID)
	if err != nil || doc == nil {
		return err
	}
	d.load(doc)
	return nil
}

// NewService checks the table of commands and returns a service that is ready to run them.
func NewService(deps Deps) (*Service, error) {
	s := &Service{Deps: deps, Establishment: relief.NewEstablishment()}
	return s, opening{s}.open()
}

// opening is a service during its construction.
type opening struct{ *Service }

// open sets up everything that commands need, and loads the settings that were stored before the
// last stop.
func (s opening) open() error {
	s.setDefaults()
	registry, err := newRegistry(s.Definitions)
	if err != nil {
		return err
	}
	s.Commands = registry
	s.Stats.initTallies(len(registry.All))
	if s.Store != nil {
		s.TTL = ttl.New(s.Store, s.Writes, s.settled, s.Logger)
		s.Params.Add(s.ttlParams()...)
	}
	s.Params.Add(s.builtinParams()...)
	s.Params.Add(s.budgetParams()...)
	s.Params.Add(s.switchParams()...)
	s.Params.Add(s.Establishment.Params()...)
	s.Params.Add(s.Verbosity.params()...)
	s.Started = s.Clock.Now()
	if err := s.addVirtual(); err != nil {
		return err
	}
	s.Topology.init(s.Started)
	s.Gate.init(s.Clock)
	s.Relief.Memory, s.Relief.Ops, s.Relief.Cursors, s.Relief.Clock, s.Relief.Logger = s.Memory,
		s.Ops, s.Cursors, s.Clock, s.Logger
	s.initRead()
	if s.Replicates() {
		s.Order.Advance(storage.StampAt(s.Started))
	}
	if err := s.loadDefaults(); err != nil {
		return fmt.Errorf("read and write concern defaults: %w", err)
	}
	if err := s.loadClusterParameters(); err != nil {
		return fmt.Errorf("cluster parameters: %w", err)
	}
	if err := s.logStart(); err != nil {
		// A server must start on a full disk, so that clients can read, and delete to make room.
		s.Logger.Warn("the start is not in local.startup_log", "error", err)
	}
	return nil
}

func (s opening) setDefaults() {
	s.Clock = clock.OrSystem(s.Clock)
	s.settled = clock.Settle(s.Clock)
	// No session is known to be alive right after a start, so the first search waits for
	// session.Timeout: clients may return until then. The wait also protects records that look old
	// because the computer's clock was wrong when they were written.
	s.reaper.last = s.settled.Now().Add(session.Timeout - recordsInterval)
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Ops == nil {
		s.Ops = session.NewOps()
	}
	if s.Sessions == nil {
		s.Sessions = session.NewSessions(s.Clock, 0)
	}
	s.Sessions.LimitMemory(s.Memory)
	if s.Cursors == nil {
		s.Cursors = session.NewCursors(s.Clock)
	}
	s.Cursors.LimitMemory(s.Memory)
	if s.Transactions == nil {
		s.Transactions = session.NewTransactions()
	}
	if s.Params == nil {
		s.Params = param.NewParams()
	}
	if s.SlowMillis == 0 {
		s.SlowMillis = defaultSlowMillis
	}
	s.Transactions.Ended = func(t *session.Transaction) {
		s.Stats.Transactions.Add(table.LatencyTransactions, s.Clock.Now().Sub(t.Started))
	}
	s.SlowPolicy.Store(&SlowPolicy{SampleRate: 1})
	s.Switches.LockMillis.Store(defaultLockMillis)
	if s.Verbosity == nil {
		s.Verbosity = NewVerbosity()
	}
	s.Slow.Store(s.SlowMillis)
	s.BatchBytes = limits.BatchBytes
	s.TransactionSize.Store(defaultTransactionSize)
	s.MaxClockDrift.Store(limits.ClockDriftSeconds)
	if s.Store != nil {
		s.Order = s.Store.Engine().Order()
	} else {
		s.Order = new(storage.Order)
	}
	s.NextTime = func() (t, i uint32) {
		stamp := s.Order.Take(s.StampNow())
		return stamp.Seconds(), stamp.Number()
	}
	s.Pid, s.Hostname = processID(), hostName()
}

// logStart adds a document about the start to local.startup_log. A program that embeds the database
// has no such log, because its command line is not meant for clients.
func (s opening) logStart() error {
	if s.Store == nil || len(s.CommandLine.Args) == 0 {
		return nil
	}
	c := s.Store.Lookup("local", startupLog)
	if c == nil {
		var err error
		if c, err = schema.Create(s.Store, "local", startupLog, catalog.KindCollection,
			bsonx.NewDoc("capped", true, "size", int64(startupLogSize))); err != nil {
			return err
		}
	}
	if c.Kind != catalog.KindCollection {
		return nil
	}
	w, err := s.Store.BeginWrite(c)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Insert(context.Background(), s.startDoc()); err != nil {
		return err
	}
	return w.Commit(storage.Buffered)
}

// startDoc returns the document about the start, in MongoDB's format.
func (s opening) startDoc() bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", fmt.Sprintf("%s-%d", s.Hostname, s.Started.UnixMilli()))
	b.String("hostname", s.Hostname)
	b.Date("startTime", s.Started.UnixMilli())
	b.String("startTimeLocal", s.Started.Local().Format(time.StampMilli))
	if s.CommandLine.Parsed == nil {
		b.Doc("cmdLine", bsonx.Empty)
	} else {
		b.Doc("cmdLine", s.CommandLine.Parsed)
	}
	b.Int64("pid", int64(s.Pid))
	b.StartDocField("buildinfo")
	AppendBuild(b, s.Build)
	b.End()
	b.End()
	return b.Bytes()
}

func (s opening) switchParams() []param.Param {
	return []param.Param{
		param.Bool("quiet", false, s.Switches.quiet.Store),
		param.Bool("requireApiVersion", false, s.Switches.RequireAPI.Store),
		param.Bool("notablescan", false, func(on bool) {
			if s.Planner != nil {
				s.Planner.RefuseTableScans(on)
			}
		}),
		param.Int("maxTransactionLockRequestTimeoutMillis", defaultLockMillis, -1<<31,
			1<<31-1, s.Switches.LockMillis.Store),
	}
}

// ttlParams returns the parameters of the TTL monitor.
func (s opening) ttlParams() []param.Param {
	return []param.Param{
		param.Bool("ttlMonitorEnabled", true, s.TTL.SetEnabled),
		param.Int("ttlMonitorSleepSecs", int64(ttl.DefaultSleep.Seconds()), 1, math.MaxInt32, s.TTL.SetSleep),
	}
}

// addVirtual adds the virtual collections to the catalog.
func (s opening) addVirtual() error {
	if s.Store == nil {
		return nil
	}
	for i := range virtualCollections {
		v := &virtualCollections[i]
		if v.member && !s.Replicates() {
			continue
		}
		if err := s.Store.AddVirtual(v.db, v.name, bsonx.Empty); err != nil {
			return err
		}
		s.Virtual = append(s.Virtual, v)
	}
	return nil
}
