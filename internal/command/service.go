package command

import (
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/failpoint"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/param"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
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
	// Diagnostics returns what $collStats and the other stages report that describe the server.
	Diagnostics func(*Service, read.Subject) source.Diagnostics
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
	TTL        *ttl.Monitor // nil without a store
	Order      *storage.Order
	NextTime   func() (t, i uint32) // takes a cluster time that nothing else has, for timestamps in documents
	Stats      stats
	Slow       atomic.Int64
	batchBytes int // of the documents of one batch; maxBatchBytes except in tests
	SlowPolicy atomic.Pointer[slowPolicy]
	Switches   switches
	// TransactionSize is how many bytes a transaction may change.
	TransactionSize atomic.Int64
	// Establishment limits how fast connections are established.
	Establishment *relief.Establishment
	// MaxClockDrift is by how many seconds clients may put the cluster time before the clock.
	MaxClockDrift atomic.Int64
	RWDefaults    atomic.Pointer[RWDefaults]
	images        atomic.Pointer[imagePolicy]
	ReadLimit     atomic.Pointer[readLimit]
	// settled is the clock by which things are removed and stamped for good.
	settled  clock.Clock
	Started  time.Time
	reaper   recordReaper
	Pid      int
	Hostname string
	Port     atomic.Int64 // TCP port that is served, 0 for none
	Virtual  []*virtualCollection
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

// Data is what the commands on documents, collections and indexes work with.
type Data struct {
	Store   *table.Store
	Planner *plan.Planner
	Writes  *write.Executor
}
