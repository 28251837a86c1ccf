// Package sheaf is a document database that speaks MongoDB, to embed in a Go program.
//
//	db, err := sheaf.Open("data", nil)
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	people := db.Client().Database("app").Collection("people")
//
// Client is an ordinary client of MongoDB's official driver whose connections are in memory: no port is opened. The same
// store can be served to other programs with Serve. Several databases may be open in one process, each in a directory of
// its own; sheaf.Memory stands for a store in memory that ends with Close.
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

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/server"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/tempfile"
	"github.com/sheafdb/sheaf/internal/write"
)

// Memory is the directory that stands for a store in memory.
const Memory = ":memory:"

// DefaultMemoryBudget is what an embedded store takes for its cache and unsorted writes.
const DefaultMemoryBudget = 64 << 20

// DefaultRequestMemory is what all requests of a database may hold together.
const DefaultRequestMemory = 512 << 20

// closeTimeout is how long Close lets running commands finish.
const closeTimeout = 30 * time.Second

// ErrLocked is returned by Open where the directory is open already, in this or another process.
var ErrLocked = storage.ErrLocked

// ErrClosed is returned by Serve after Close.
var ErrClosed = server.ErrClosed

// SyncPolicy says which writes wait until they are safe from a loss of power. All acknowledged writes survive the death
// of the process.
type SyncPolicy int

const (
	// SyncDefault waits for writes without a write concern, and for those with j: true or w: "majority", as MongoDB's default does. With
	// Standalone it is SyncOnRequest.
	SyncDefault SyncPolicy = iota
	// SyncOnRequest waits for writes with j: true or w: "majority" only: w: 1 is the write concern of those without one.
	SyncOnRequest
	// SyncAlways waits for every write.
	SyncAlways
	// SyncNever waits for none.
	SyncNever
)

// Options configure a DB. The zero value is what Open takes for nil.
type Options struct {
	// MemoryBudget bounds cache and memtables in bytes; DefaultMemoryBudget if zero.
	MemoryBudget int64
	// RequestMemory bounds what all requests hold together in bytes: messages, replies, sorts, cursors, transactions and the like.
	// One that finds no room fails with ExceededMemoryLimit. DefaultRequestMemory if zero, no bound if negative.
	RequestMemory int64
	// ProcessMemory is for a process that does nothing but serve the database: where Go's memory
	// comes to exceed it, in bytes, requests are ended, but not below the 80 MiB that one large
	// request needs. The data of a store in memory come on top. Zero is no bound. It does not set
	// the collector's limit, which is the program's (debug.SetMemoryLimit).
	ProcessMemory int64
	// CollectorLimit, unless nil, is called with the sum of ProcessMemory and the data of a store in memory when it changes by much:
	// debug.SetMemoryLimit, say.
	CollectorLimit func(bytes int64)
	// Logger gets what happens; nil discards it.
	Logger *slog.Logger
	// Sync says which writes wait for the disk.
	Sync SyncPolicy
	// Salvage opens a store whose log of writes is damaged up to the damage, where Open returns an error otherwise. What comes after
	// is lost; the damaged files are kept, with the ending ".damaged", and the Logger says what was cut.
	Salvage bool
	// MaxConnections bounds the connections of Serve; 1,000,000 if zero.
	MaxConnections int
	// MaxOpenFiles is how many data files are kept open, 1,000 if zero. Connections need descriptors beside them.
	MaxOpenFiles int
	// SlowOperation is from when on an operation is logged as slow; 100 ms if zero, none if negative.
	SlowOperation time.Duration
	// Standalone lets the server present itself without a replica set: it has no log of changes, and refuses what needs one, such
	// as transactions, retryable writes and change streams.
	Standalone bool
	// OplogSize is how many bytes of changes are kept for those who follow them, in a database that is made now; 512 MiB if zero. The
	// command replSetResizeOplog changes it later.
	OplogSize int64
	// TestCommands enables commands that make others fail, for tests of drivers.
	TestCommands bool
	// NoScripting refuses JavaScript: $where, $function, $accumulator and mapReduce. A program that does not import
	// github.com/sheafdb/sheaf/js has no JavaScript to refuse.
	NoScripting bool
	// ReplicaSet is the name of the replica set that the server presents itself as the only member of; "rs0" if empty.
	ReplicaSet string
	// Advertise is the host and port by which other programs reach what Serve listens on, where they cannot by the address that
	// their connections come to: behind a forwarded port, unless they connect with directConnection=true.
	Advertise string
	// OnShutdown is called when a client on this machine runs the shutdown command, with the time that running commands have to
	// finish; without it the command is refused.
	OnShutdown func(patience time.Duration)
	// RotateLog begins the log anew for the command logRotate; without it the command does nothing.
	RotateLog func() error
	// CommandLine and Settings are what the command getCmdLineOpts shows: the program's arguments, and what they say by the names
	// of MongoDB's configuration. Without them it shows nothing, because an embedding program's arguments are not for clients.
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

// Open opens the database in a directory and makes it where there is none. It fails with ErrOptions if an option is out of its bounds.
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

// tempName is the directory, inside of a store's own, of what operations write because their memory has no room for it.
const tempName = "_tmp"

// prepareTemp returns the directory for temporary files, without those of a killed process: beside the data, since the system's
// is a part of the memory on many machines. A store in memory has the system's.
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

// logger also keeps the newest lines for getLog.
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
		MemoryBudget: o.MemoryBudget, SpareMemory: spareMemory(o), Frugal: o.ProcessMemory > 0, Keep: keyspace.IsRecord, MaxOpenFiles: o.MaxOpenFiles, Logger: o.Logger,
		Salvage: o.Salvage,
	})
	if err != nil {
		return nil, fmt.Errorf("sheaf: open %s: %w", dir, err)
	}
	return withSync(engine, o.Sync), nil
}

func open(engine storage.Engine, o *Options, tempDir string, lines *command.LogBuffer, verbosity *command.Verbosity) (*DB, error) {
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
	planner := plan.New(plan.Options{Memory: budget, TempDir: tempDir})
	service, err := commands.NewService(command.Deps{
		Data:         command.Data{Store: store, Planner: planner, Writes: write.New(store, planner)},
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
			Service: service, Logger: o.Logger, ProcessMemory: reliefLimit(o, command.GroupMemory()),
			Data: dataMemory(engine), Beside: besideMemory(engine), CollectorLimit: o.CollectorLimit,
			MaxConnections: o.MaxConnections, Advertise: o.Advertise, LogConnections: true,
		}),
		memory: server.NewMemoryListener(memoryHost),
	}
	go func() { _ = db.server.Serve(context.Background(), db.memory) }()
	return db, nil
}

// requestMemory returns what bounds the requests, negative for nothing.
func requestMemory(o *Options) int64 {
	if o.RequestMemory == 0 {
		return DefaultRequestMemory
	}
	return o.RequestMemory
}

// requestBudget returns the budget of the requests, nil for none.
func requestBudget(o *Options) *memory.Budget {
	if limit := requestMemory(o); limit > 0 {
		return memory.New(limit)
	}
	return nil
}

// sharedEighths is how much of a process's memory the store and the requests have together; the
// rest is for garbage.
const sharedEighths = 5

// spareMemory returns how much of the requests' memory the store's caches use as long as no request
// needs it. Only what the collector counts can go from one to the other: memory outside of Go stays
// with the process when it is freed.
func spareMemory(o *Options) int64 {
	if pebble.OutsideGo || o.ProcessMemory <= 0 {
		return 0
	}
	return max(0, min(requestMemory(o), o.ProcessMemory/8*sharedEighths-o.MemoryBudget))
}

const (
	// bareMemory is what Go's memory takes, at most, while no request runs.
	bareMemory = 16 << 20
	// largeRequest is what one request with a document of 16 MB takes.
	largeRequest = 64 << 20
)

// reliefLimit returns where Go's memory makes the server end requests, 0 for nowhere. It is not
// below what one large request needs, if RequestMemory admits that request and the container's
// memory, group, has room for it. A group of 0 is no container.
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

// dataMemory returns what tells the memory of a store in memory, nil for one on the disk.
func dataMemory(engine storage.Engine) func() int64 {
	if !inMemory(engine) {
		return nil
	}
	return func() int64 { return engine.Stats().DataBytes }
}

// besideMemory returns the function for server.Options.Beside. It is nil for a store in memory.
func besideMemory(engine storage.Engine) func() int64 {
	if disk, ok := engine.(*pebble.Engine); ok {
		return disk.Beside
	}
	return nil
}

func openStore(engine storage.Engine, o *Options) (*table.Store, error) {
	compiler := command.Compiler{Order: engine.Order(), Warn: func(err error) {
		o.Logger.Warn("Document would fail validation", "c", "STORAGE", "error", err)
	}}
	if o.Standalone {
		return schema.Open(engine, compiler, o.Logger)
	}
	return schema.OpenLogged(engine, compiler, o.Logger, table.OplogOptions{Size: o.OplogSize})
}

// replicaSet returns the name of the set, empty for none.
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

// memoryHost is no host that exists: the client's dialer ignores it.
const (
	memoryHost = "sheaf.memory:27017"
	clientURI  = "mongodb://" + memoryHost + "/?directConnection=true"
)

// Client returns the client of this process: the same one at each call. Close disconnects it. From then on its operations
// fail at once with mongo.ErrClientDisconnected.
func (db *DB) Client() *mongo.Client {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.client == nil {
		client, err := mongo.Connect(db.ClientOptions())
		if err != nil {
			panic("sheaf: the embedded client's options are invalid: " + err.Error())
		}
		if db.closed {
			_ = disconnect(context.Background(), client) // it has no connection that could fail to close
		}
		db.client = client
	}
	return db.client
}

// disconnect ends a client. A client that the program has disconnected itself is no error.
func disconnect(ctx context.Context, client *mongo.Client) error {
	if err := client.Disconnect(ctx); !errors.Is(err, mongo.ErrClientDisconnected) {
		return err
	}
	return nil
}

// ClientOptions returns options for a further client over connections in memory, for programs that need other settings
// (an encoding registry, monitors, pool sizes). The caller disconnects such a client before Close.
func (db *DB) ClientOptions() *options.ClientOptions {
	// Polling saves the connections that drivers keep for news of the server, of which an embedded database has none. It
	// also lets Disconnect end at once: a driver that streams sometimes waits 10 s for the answer to its last question.
	return options.Client().ApplyURI(clientURI).SetDialer(db.memory).SetServerMonitoringMode(options.ServerMonitoringModePoll)
}

// Serve accepts connections from other programs until ctx ends or the database is closed. Connections that were accepted
// live on after ctx; Close ends them.
func (db *DB) Serve(ctx context.Context, l net.Listener) error { return db.server.Serve(ctx, l) }

// Close lets running commands finish, disconnects Client and every other connection, and makes all writes durable.
func (db *DB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return db.Shutdown(ctx)
}

// Shutdown is Close with the caller's patience: commands that still run when ctx ends are interrupted.
func (db *DB) Shutdown(ctx context.Context) error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	client := db.client
	db.mu.Unlock()

	// The client ends beside the server: each may wait for the other's last answer.
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
