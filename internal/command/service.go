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

// Deps are the dependencies and the configuration of a Service. Dependencies of the first block
// that are nil get defaults.
type Deps struct {
	Data

	Clock    clock.Clock
	Logger   *slog.Logger
	Ops      *session.Ops
	Sessions *session.Sessions
	Cursors  *session.Cursors
	// Transactions holds the open transactions.
	Transactions *session.Transactions
	Params       *param.Params
	// Verbosity is the verbosity of the log, which setParameter changes and the Logger's handler
	// reads.
	Verbosity *Verbosity
	// Log keeps recent log lines for getLog. If it is nil, getLog returns no lines.
	Log *LogBuffer
	// Memory counts the memory that all requests hold together. If it is nil, nothing is counted.
	Memory *memory.Budget
	// TempDir is the directory where pipelines spill. The empty string means the system's temporary
	// directory.
	TempDir string
	// TestCommands enables the commands that exist only for tests, such as configureFailPoint.
	TestCommands bool
	// NoScripting refuses JavaScript: $where, $function, $accumulator and mapReduce.
	NoScripting bool
	// ReplicaSet is the name of the replica set whose only member is this server. It is empty for a
	// standalone server.
	ReplicaSet string
	// ImpliedOne makes w: 1 the write concern of commands without one, as long as no default is
	// set. Otherwise it is w: "majority".
	ImpliedOne bool
	// SlowMillis is the duration in milliseconds from which an operation is logged as slow. 0 means
	// 100. A negative number turns the log off.
	SlowMillis int64
	// CommandLine is the command line that getCmdLineOpts shows.
	CommandLine CommandLine
	// Build is the version of the program.
	Build Build
	// StatusSections are additional sections of serverStatus.
	StatusSections []StatusSection
	// Shutdown, if not nil, is called by the command shutdown. Running commands may finish within
	// patience.
	Shutdown func(patience time.Duration)
	// RotateLog, if not nil, is called by the command logRotate.
	RotateLog func() error
	// Definitions is the table of commands.
	Definitions []Definition
	// Diagnostics returns the data of the stages that describe the server, such as $collStats.
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
	TTL        *ttl.Monitor // nil if Store is nil
	Order      *storage.Order
	NextTime   func() (t, i uint32) // takes a new, unique cluster time, for timestamps in documents
	Stats      stats
	Slow       atomic.Int64
	BatchBytes int // size limit of one batch; limits.BatchBytes except in tests
	SlowPolicy atomic.Pointer[SlowPolicy]
	Switches   switches
	// TransactionSize is the largest number of bytes that a transaction may change.
	TransactionSize atomic.Int64
	// Establishment limits the rate of new connections.
	Establishment *relief.Establishment
	// MaxClockDrift is maxAcceptableLogicalClockDriftSecs: the largest number of seconds by which a
	// client's cluster time may be ahead of the clock.
	MaxClockDrift atomic.Int64
	RWDefaults    atomic.Pointer[RWDefaults]
	images        atomic.Pointer[imagePolicy]
	ReadLimit     atomic.Pointer[readLimit]
	// settled is the clock for permanent effects of time: expiry and stamps. See clock.Settle.
	settled  clock.Clock
	Started  time.Time
	reaper   recordReaper
	Pid      int
	Hostname string
	Port     atomic.Int64 // the TCP port that the server listens on, or 0
	Virtual  []*virtualCollection
}

// SetPort tells the service the TCP port that the server listens on.
func (s *Service) SetPort(port int) { s.Port.Store(int64(port)) }

// HostAndPort returns the host name, with the port if the server listens on one. currentOp and the
// stages of statistics name the server like this, as in MongoDB.
func (s *Service) HostAndPort() string {
	if port := s.Port.Load(); port > 0 {
		return net.JoinHostPort(s.Hostname, strconv.FormatInt(port, 10))
	}
	return s.Hostname
}

// Data is the access to documents, collections and indexes.
type Data struct {
	Store   *table.Store
	Planner *plan.Planner
	Writes  *write.Executor
}
