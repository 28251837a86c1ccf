// Package sheaf is an embedded document database that speaks MongoDB's protocol.
//
//	db, err := sheaf.Open("data", nil)
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	people := db.Client().Database("app").Collection("people")
//
// Client returns an ordinary client of MongoDB's official driver. Its connections are in memory, so
// no port is opened. Serve gives other programs access to the same store. A process can open
// several databases, each in its own directory. With sheaf.Memory in place of a directory, the
// store is in memory and ends with Close.
package sheaf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/relief"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/server"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/tempfile"
	"github.com/sheafdb/sheaf/internal/write"
)

// Memory is the name of a store in memory, in place of a directory.
const Memory = ":memory:"

// DefaultMemoryBudget is the memory for the cache and the memtables of an embedded store, in bytes.
const DefaultMemoryBudget = 64 << 20

// DefaultRequestMemory is the memory that all requests of a database may hold together, in bytes.
const DefaultRequestMemory = 512 << 20

// closeTimeout is how long Close lets running commands finish.
const closeTimeout = 30 * time.Second

// system is the clock of every part of a DB.
var system clock.System

// ErrLocked is returned by Open if the directory is already open, in this or another process.
var ErrLocked = storage.ErrLocked

// ErrClosed is returned by Serve if the DB is closed.
var ErrClosed = server.ErrClosed

// SyncPolicy says which writes wait until they survive a loss of power. Every acknowledged write
// survives the death of the process.
type SyncPolicy int

const (
	// SyncDefault syncs writes without a write concern, and writes with j: true or w: "majority",
	// like MongoDB's default. With Standalone it means SyncOnRequest.
	SyncDefault SyncPolicy = iota
	// SyncOnRequest syncs only writes with j: true or w: "majority". The default write concern is
	// then w: 1.
	SyncOnRequest
	// SyncAlways syncs every write.
	SyncAlways
	// SyncNever syncs no write.
	SyncNever
)

// Options configure a DB. Open uses the zero value for nil.
type Options struct {
	// MemoryBudget bounds the cache and the memtables, in bytes. Zero means DefaultMemoryBudget.
	MemoryBudget int64
	// RequestMemory bounds the memory that all requests hold together, in bytes: messages, replies,
	// sorts, cursors, transactions and so on. A request that exceeds it fails with
	// ExceededMemoryLimit. Zero means DefaultRequestMemory, a negative value no limit.
	RequestMemory int64
	// ProcessMemory is the memory that a process may use, in bytes, if it only serves the
	// database. When Go's memory exceeds it, and also exceeds the 80 MiB that one large request
	// needs, requests are ended. For a store in memory, the size of the data is added to the limit.
	// Zero means no limit. ProcessMemory does not set the limit of Go's garbage collector: the
	// program must do that (debug.SetMemoryLimit).
	ProcessMemory int64
	// CollectorLimit, if not nil, is called with the sum of ProcessMemory and the size of the data
	// of a store in memory, whenever that sum has changed considerably. For example, it can be
	// debug.SetMemoryLimit.
	CollectorLimit func(bytes int64)
	// Logger receives the log; nil discards it.
	Logger *slog.Logger
	// Sync says which writes are synced to disk.
	Sync SyncPolicy
	// Salvage opens a store whose write-ahead log is damaged. Writes after the damage are lost. The
	// damaged files are kept, with the ending ".damaged", and the Logger reports what was cut.
	// Without Salvage, Open returns an error for such a store.
	Salvage bool
	// MaxConnections bounds the connections of Serve. Zero means 1,000,000.
	MaxConnections int
	// MaxOpenFiles is how many data files are kept open. Zero means 1,000. Connections need further
	// file descriptors.
	MaxOpenFiles int
	// SlowOperation is the duration from which an operation is logged as slow. Zero means 100 ms.
	// With a negative value, no operation counts as slow.
	SlowOperation time.Duration
	// Standalone makes the server a standalone instead of a replica set: it has no oplog, and
	// refuses features that need one, such as transactions, retryable writes and change streams.
	Standalone bool
	// OplogSize is the size of the oplog of a new database, in bytes. Zero means 512 MiB. The
	// command replSetResizeOplog changes it later.
	OplogSize int64
	// TestCommands enables commands for tests of drivers, which make other commands fail.
	TestCommands bool
	// NoScripting refuses JavaScript: $where, $function, $accumulator and mapReduce. A program that
	// does not import github.com/sheafdb/sheaf/js has no JavaScript to refuse.
	NoScripting bool
	// ReplicaSet is the name of the replica set, whose only member is the server. Empty means
	// "rs0".
	ReplicaSet string
	// Advertise is the host and port at which other programs reach the listener of Serve. It is
	// needed only if connections arrive at another address, for example behind a forwarded port,
	// and clients do not use directConnection=true.
	Advertise string
	// OnShutdown is called when a client on this machine runs the shutdown command. Running
	// commands have the time patience to finish. Without OnShutdown the command is refused.
	OnShutdown func(patience time.Duration)
	// RotateLog starts a new log file when a client runs the command logRotate. Without it the
	// command has no effect.
	RotateLog func() error
	// CommandLine and Settings are the reply to the command getCmdLineOpts: CommandLine holds the
	// arguments of the program, Settings their meaning under the names of MongoDB's configuration.
	// By default the reply is empty, because the arguments of an embedding program are not for
	// clients.
	CommandLine []string
	Settings    bson.D
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	engine  storage.Engine
	store   *table.Store
	service *command.Service
	server  *server.Server
	memory  *server.MemoryListener

	mu     sync.Mutex
	client *mongo.Client
	closed bool
}

// Open opens the database in a directory, and creates it if it does not exist. It fails with
// ErrOptions if an option is out of its bounds, and with ErrLocked if the directory is already
// open.
func Open(dir string, opts *Options) (*DB, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	lines := &command.LogBuffer{}
	verbosity := command.NewVerbosity()
	o.Logger = logger(o.Logger, lines, verbosity)
	engine, err := openEngine(dir, &o)
	if err != nil {
		return nil, err
	}
	tempDir, err := prepareTemp(dir)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	db, err := open(engine, &o, tempDir, lines, verbosity)
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return db, nil
}

// tempName is the directory for temporary files inside of the store's directory. Operations use it
// when their memory is not enough.
const tempName = "_tmp"

// prepareTemp returns the directory for temporary files. It first removes the files that a killed
// process has left there. The directory is next to the data, because the system's directory is in
// memory on many machines. A store in memory uses the system's directory.
func prepareTemp(dir string) (string, error) {
	if dir == Memory {
		return "", nil
	}
	dir = filepath.Join(dir, tempName)
	if err := tempfile.Clear(dir); err != nil {
		return "", fmt.Errorf("sheaf: %w", err)
	}
	return dir, nil
}

// logger returns a logger that also keeps the newest lines for the command getLog.
func logger(to *slog.Logger, lines *command.LogBuffer, verbosity *command.Verbosity) *slog.Logger {
	keep := verbosity.Handler(server.NewLogHandler(lines, slog.LevelInfo))
	if to == nil {
		return slog.New(keep)
	}
	return slog.New(slog.NewMultiHandler(verbosity.Handler(to.Handler()), keep))
}

func openEngine(dir string, o *Options) (storage.Engine, error) {
	if dir == "" {
		return nil, errors.New("sheaf: no directory given; use sheaf.Memory for a store in memory")
	}
	if dir == Memory {
		return mem.New(), nil
	}
	if o.MemoryBudget == 0 {
		o.MemoryBudget = DefaultMemoryBudget
	}
	engine, err := pebble.Open(dir, pebble.Options{
		Clock:        system,
		MemoryBudget: o.MemoryBudget, SpareMemory: spareMemory(o), Frugal: o.ProcessMemory > 0, Keep: keyspace.IsRecord,
		MaxOpenFiles: o.MaxOpenFiles, Logger: o.Logger,
		Salvage: o.Salvage,
	})
	if err != nil {
		return nil, fmt.Errorf("sheaf: open %s: %w", dir, err)
	}
	return withSync(engine, o.Sync), nil
}

func open(engine storage.Engine, o *Options, tempDir string, lines *command.LogBuffer,
	verbosity *command.Verbosity,
) (*DB, error) {
	parsed, err := bson.Marshal(append(bson.D{}, o.Settings...))
	if err != nil {
		return nil, fmt.Errorf("sheaf: Options.Settings: %w", err)
	}
	store, err := openStore(engine, o)
	if err != nil {
		return nil, fmt.Errorf("sheaf: open the catalog: %w", err)
	}
	budget := requestBudget(o)
	store.LimitMemory(budget)
	if !inMemory(engine) {
		budget.Lend(spareMemory(o), engine.Yield)
	}
	planner := plan.New(plan.Options{Clock: system, Memory: budget, TempDir: tempDir})
	service, err := commands.NewService(command.Deps{
		Data:         command.Data{Store: store, Planner: planner, Writes: write.New(store, planner)},
		Clock:        system,
		Memory:       budget,
		TempDir:      tempDir,
		Logger:       o.Logger,
		Log:          lines,
		Verbosity:    verbosity,
		TestCommands: o.TestCommands, NoScripting: o.NoScripting,
		ReplicaSet:  replicaSet(o),
		ImpliedOne:  o.Sync == SyncOnRequest || o.Sync == SyncNever,
		SlowMillis:  slowMillis(o.SlowOperation),
		CommandLine: command.CommandLine{Args: o.CommandLine, Parsed: parsed},
		Build:       command.Build{Version: Version, Revision: Revision()},
		Shutdown:    o.OnShutdown,
		RotateLog:   o.RotateLog,
	})
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("sheaf: %w", err)
	}
	db := &DB{
		engine: engine, store: store, service: service,
		server: server.New(server.Options{
			Service: service, Logger: o.Logger, ProcessMemory: reliefLimit(o, relief.GroupMemory()),
			Data: dataMemory(engine), Beside: besideMemory(engine), CollectorLimit: o.CollectorLimit,
			MaxConnections: o.MaxConnections, Advertise: o.Advertise, LogConnections: true,
		}),
		memory: server.NewMemoryListener(memoryHost),
	}
	go func() { _ = db.server.Serve(context.Background(), db.memory) }()
	return db, nil
}

// requestMemory returns the memory limit of all requests. A negative limit means none.
func requestMemory(o *Options) int64 {
	if o.RequestMemory == 0 {
		return DefaultRequestMemory
	}
	return o.RequestMemory
}

// requestBudget returns the memory budget of all requests. Nil means that there is no limit.
func requestBudget(o *Options) *memory.Budget {
	if limit := requestMemory(o); limit > 0 {
		return memory.New(limit)
	}
	return nil
}

// sharedEighths is the part of a process's memory that the store and the requests share, in
// eighths. The rest is for garbage that Go's collector has not freed yet.
const sharedEighths = 5

// spareMemory returns how much of the requests' memory the store's caches may use while no request
// needs it. Only memory that Go's garbage collector counts can be lent: memory outside of Go stays
// with the process when it is freed.
func spareMemory(o *Options) int64 {
	if pebble.OutsideGo || o.ProcessMemory <= 0 {
		return 0
	}
	return max(0, min(requestMemory(o), o.ProcessMemory/8*sharedEighths-o.MemoryBudget))
}

const (
	// bareMemory is the size that Go's memory has at most while no request runs.
	bareMemory = 16 << 20
	// largeRequest is the memory of one request with a document of 16 MB.
	largeRequest = 64 << 20
)

// reliefLimit returns the size of Go's memory at which the server ends requests, or 0 for never.
// group is the memory of the container, or 0 without a container. The result is at least the memory
// of one large request, unless RequestMemory forbids such a request or half of the container is
// smaller.
func reliefLimit(o *Options, group int64) int64 {
	if o.ProcessMemory <= 0 || o.RequestMemory < 0 {
		return max(o.ProcessMemory, 0)
	}
	room := min(requestMemory(o), largeRequest) + bareMemory
	if group > 0 {
		room = min(room, group/2)
	}
	return max(o.ProcessMemory, room)
}

func inMemory(engine storage.Engine) bool {
	_, ok := engine.(*mem.Engine)
	return ok
}

// dataMemory returns a function that reports the memory of a store in memory. It is nil for a store
// on disk.
func dataMemory(engine storage.Engine) func() int64 {
	if !inMemory(engine) {
		return nil
	}
	return func() int64 { return engine.Stats().DataBytes }
}

// besideMemory returns the function for the option Beside of package server. It is nil for a store
// in memory.
func besideMemory(engine storage.Engine) func() int64 {
	if disk, ok := engine.(*pebble.Engine); ok {
		return disk.Beside
	}
	return nil
}

func openStore(engine storage.Engine, o *Options) (*table.Store, error) {
	compiler := ddl.Compiler{Order: engine.Order(), Clock: system, Warn: func(err error) {
		o.Logger.Warn("Document would fail validation", "c", "STORAGE", "error", err)
	}}
	if o.Standalone {
		return schema.Open(engine, compiler, o.Logger, table.Options{Clock: system})
	}
	return schema.OpenLogged(engine, compiler, o.Logger, table.Options{Clock: system, OplogSize: o.OplogSize})
}

// replicaSet returns the name of the replica set. It is empty for a standalone.
func replicaSet(o *Options) string {
	switch {
	case o.Standalone:
		return ""
	case o.ReplicaSet == "":
		return command.DefaultReplicaSet
	default:
		return o.ReplicaSet
	}
}

func slowMillis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// memoryHost is the host in clientURI. It does not exist: the client's dialer ignores it.
const (
	memoryHost = "sheaf.memory:27017"
	clientURI  = "mongodb://" + memoryHost + "/?directConnection=true"
)

// Client returns the client of this process. Each call returns the same client. Close disconnects
// it; from then on, its operations fail immediately with mongo.ErrClientDisconnected.
func (db *DB) Client() *mongo.Client {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.client == nil {
		client, err := mongo.Connect(db.ClientOptions())
		if err != nil {
			panic("sheaf: the embedded client's options are invalid: " + err.Error())
		}
		if db.closed {
			_ = disconnect(context.Background(), client) // a new client has no connections, so this cannot fail
		}
		db.client = client
	}
	return db.client
}

// disconnect ends a client. It is not an error if the program has disconnected the client itself.
func disconnect(ctx context.Context, client *mongo.Client) error {
	if err := client.Disconnect(ctx); !errors.Is(err, mongo.ErrClientDisconnected) {
		return err
	}
	return nil
}

// ClientOptions returns options for a further client with connections in memory, for programs that
// need other settings, such as an encoding registry, monitors or pool sizes. The caller must
// disconnect such a client before Close.
func (db *DB) ClientOptions() *options.ClientOptions {
	// Drivers keep a connection open on which a server reports changes of its topology. An embedded
	// database has no such changes, so the client polls and saves the connection. Polling also
	// makes Disconnect fast: a driver with such a connection sometimes waits 10 s for the reply to
	// its last hello.
	return options.Client().ApplyURI(clientURI).SetDialer(db.memory).
		SetServerMonitoringMode(options.ServerMonitoringModePoll)
}

// Serve accepts connections from other programs until ctx ends or the database is closed. When ctx
// ends, accepted connections stay open; Close ends them.
func (db *DB) Serve(ctx context.Context, l net.Listener) error { return db.server.Serve(ctx, l) }

// Close waits for running commands, disconnects Client and all other connections, and syncs all
// writes.
func (db *DB) Close() error {
	ctx, cancel := clock.WithTimeout(context.Background(), system, closeTimeout)
	defer cancel()
	return db.Shutdown(ctx)
}

// Shutdown is like Close, but waits for running commands only until ctx ends. Then it interrupts
// them.
func (db *DB) Shutdown(ctx context.Context) error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	client := db.client
	db.mu.Unlock()

	// The client and the server must be shut down in parallel: each may wait for the other's last
	// reply.
	disconnected := make(chan error, 1)
	go func() {
		if client == nil {
			disconnected <- nil
			return
		}
		disconnected <- disconnect(ctx, client)
	}()
	errs := []error{db.server.Shutdown(ctx), <-disconnected}
	db.service.Close()
	db.store.Close()
	errs = append(errs, db.engine.Close())
	return errors.Join(errs...)
}
