package command

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/param"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/relief"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/ttl"
	"github.com/sheafdb/sheaf/internal/write"
)

// Deps are what a Service works with. Zero values of the first block get working defaults.
type Deps struct {
	Data

	Clock    clock.Clock
	Logger   *slog.Logger
	Ops      *session.Ops
	Sessions *session.Sessions
	Cursors  *session.Cursors
	// Transactions are the open ones.
	Transactions *session.Transactions
	Params       *param.Params
	// Verbosity is what setParameter changes of the log; the Logger's handler asks it.
	Verbosity *Verbosity
	// Log keeps recent lines for getLog; nil keeps none.
	Log *LogBuffer
	// Memory is what all requests hold together; nil where nobody counts.
	Memory *memory.Budget
	// TempDir is where pipelines spill; the system's directory for temporary files where empty.
	TempDir string
	// TestCommands enables configureFailPoint and its like.
	TestCommands bool
	// NoScripting refuses JavaScript: $where, $function, $accumulator and mapReduce.
	NoScripting bool
	// ReplicaSet is the name of the replica set that the server presents itself as the only member of; empty for a standalone
	// server.
	ReplicaSet string
	// ImpliedOne makes w: 1 the write concern of commands without one, where nothing was set; else it is a majority.
	ImpliedOne bool
	// SlowMillis is from when on an operation is logged as slow; a negative number logs none, 0 stands for 100.
	SlowMillis int64
	// CommandLine is shown by getCmdLineOpts.
	CommandLine CommandLine
	// Build identifies the program.
	Build Build
	// StatusSections are added to serverStatus.
	StatusSections []StatusSection
	// Shutdown, where set, is called by the shutdown command with the time that running commands have to finish.
	Shutdown func(patience time.Duration)
	// RotateLog, where set, is called by the logRotate command.
	RotateLog func() error
	// Definitions are the commands that the service has.
	Definitions []Definition
	// StageWriter returns what $out and $merge of a pipeline write with; without it they fail.
	StageWriter func(*Request, *read.Pipelines) pipeline.Writer
	// Diagnostics returns what $collStats and the other stages report that describe the server.
	Diagnostics func(*Service, read.Subject) pipeline.Diagnostics
}

// Service runs commands. It is safe for concurrent use.
type Service struct {
	Deps
	Commands   *Registry
	FailPoints failpoint.Points
	Read       read.Engine
	Relief     relief.Relief
	Topology   topology
	Gate       writeGate
	ttl        *ttl.Monitor // nil without a store
	Order      *storage.Order
	NextTime   func() (t, i uint32) // takes a cluster time that nothing else has, for timestamps in documents
	Stats      stats
	Slow       atomic.Int64
	batchBytes int // of the documents of one batch; maxBatchBytes except in tests
	SlowPolicy atomic.Pointer[slowPolicy]
	Switches   switches
	// transactionSize is how many bytes a transaction may change.
	TransactionSize atomic.Int64
	// Establishment limits how fast connections are established.
	Establishment *relief.Establishment
	// maxClockDrift is by how many seconds clients may put the cluster time before the clock.
	maxClockDrift atomic.Int64
	rwDefaults    atomic.Pointer[rwDefaults]
	images        atomic.Pointer[imagePolicy]
	ReadLimit     atomic.Pointer[readLimit]
	// settled is the clock by which things are removed and stamped for good.
	settled       clock.Clock
	Started       time.Time
	recordsReaped time.Time // see reapRecords
	Pid           int
	Hostname      string
	Port          atomic.Int64 // TCP port that is served, 0 for none
	Virtual       []*virtualCollection
}

// NewService checks the table of commands and returns a service.
func NewService(deps Deps) (*Service, error) {
	s := &Service{Deps: deps, Establishment: relief.NewEstablishment()}
	s.setDefaults()
	registry, err := NewRegistry(deps.Definitions)
	if err != nil {
		return nil, err
	}
	s.Commands = registry
	s.Stats.initTallies(len(registry.All))
	if s.Store != nil {
		s.ttl = ttl.New(s.Store, s.Writes, s.settled, s.Logger)
		s.Params.Add(s.ttlParams()...)
	}
	s.Params.Add(s.builtinParams()...)
	s.Params.Add(s.budgetParams()...)
	s.Params.Add(s.switchParams()...)
	s.Params.Add(s.Establishment.Params()...)
	s.Params.Add(s.Verbosity.params()...)
	s.Started = s.Clock.Now()
	if err := s.addVirtual(); err != nil {
		return nil, err
	}
	s.Topology.init(s.Started)
	s.Gate.init()
	s.Relief.Memory, s.Relief.Ops, s.Relief.Cursors, s.Relief.Clock, s.Relief.Logger = s.Memory, s.Ops, s.Cursors, s.Clock, s.Logger
	s.initRead()
	if s.Replicates() {
		s.Order.Advance(storage.StampAt(s.Started))
	}
	if err := s.loadDefaults(); err != nil {
		return nil, fmt.Errorf("read and write concern defaults: %w", err)
	}
	if err := s.loadClusterParameters(); err != nil {
		return nil, fmt.Errorf("cluster parameters: %w", err)
	}
	if err := s.logStart(); err != nil {
		// A server must start on a full disk: what is there can be read, and deleting makes room.
		s.Logger.Warn("the start is not in local.startup_log", "error", err)
	}
	return s, nil
}

func (s *Service) setDefaults() {
	if s.Clock == nil {
		s.Clock = clock.System{}
	}
	s.settled = clock.Settle(s.Clock)
	// After a start no session is known to be alive. A record that was written while the computer's clock was years back looks old.
	s.recordsReaped = s.settled.Now().Add(session.Timeout - recordsInterval)
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
		s.SlowMillis = DefaultSlowMillis
	}
	s.Transactions.Ended = func(t *session.Transaction) {
		s.Stats.transactions.Add(table.LatencyTransactions, s.Clock.Now().Sub(t.Started))
	}
	s.SlowPolicy.Store(&slowPolicy{sampleRate: 1})
	s.Switches.LockMillis.Store(defaultLockMillis)
	if s.Verbosity == nil {
		s.Verbosity = NewVerbosity()
	}
	s.Slow.Store(s.SlowMillis)
	s.batchBytes = limits.BatchBytes
	s.TransactionSize.Store(defaultTransactionSize)
	s.maxClockDrift.Store(maxClockDrift)
	if s.Store != nil {
		s.Order = s.Store.Engine().Order()
	} else {
		s.Order = new(storage.Order)
	}
	s.NextTime = func() (t, i uint32) {
		stamp := s.Order.Take(s.stampNow())
		return stamp.Seconds(), stamp.Number()
	}
	s.Pid, s.Hostname = processID(), hostName()
}

// SetPort tells the service which TCP port is served.
func (s *Service) SetPort(port int) { s.Port.Store(int64(port)) }

// HostAndPort is how MongoDB names the server in figures: by host and port, where a port is served.
func (s *Service) HostAndPort() string {
	if port := s.Port.Load(); port > 0 {
		return net.JoinHostPort(s.Hostname, strconv.FormatInt(port, 10))
	}
	return s.Hostname
}

// Registry returns the commands.
func (s *Service) Registry() *Registry { return s.Commands }

// Reap ends what was idle for too long: cursors, sessions and the cursors of those. The server calls it regularly.
func (s *Service) Reap() {
	s.Cursors.Reap()
	s.Transactions.Reap(s.Clock.Now())
	s.Read.Snapshots.Reap(s.Clock.Now())
	if ended := s.Sessions.Reap(); len(ended) > 0 {
		s.Sessions.CursorsReaped(s.EndSessions(ended))
	}
	s.reapRecords()
}

// Expire removes what has expired, again and again until ctx ends.
func (s *Service) Expire(ctx context.Context) {
	if s.ttl != nil {
		s.ttl.Guard(s.Gate.pass)
		s.ttl.Run(ctx)
	}
}

// EndSessions ends what belongs to sessions, and returns how many cursors that were.
func (s *Service) EndSessions(ids []session.SessionID) (closed int) {
	set := make(map[session.SessionID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	match := func(id session.SessionID) bool { return set[id] }
	closed = s.Cursors.KillSession(match)
	s.Transactions.KillSession(match)
	s.Read.Snapshots.EndSessions(match)
	return closed
}

// Close ends what reads from the store, before that is closed. No command runs any more.
func (s *Service) Close() {
	s.Cursors.Close()
	s.Transactions.Close()
	s.Read.Snapshots.Close()
}

// Stop tells the service that the server stops: commands that wait for news end at once, the others finish.
func (s *Service) Stop() {
	s.Topology.stop()
	s.Ops.Each((*session.Op).InterruptAwait)
}

// Interrupt ends all running commands with InterruptedAtShutdown.
func (s *Service) Interrupt(context.Context) { s.Ops.Each((*session.Op).Shutdown) }

// Data is what the commands on documents, collections and indexes work with.
type Data struct {
	Store   *table.Store
	Planner *plan.Planner
	Writes  *write.Executor
}
