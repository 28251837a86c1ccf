package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/admin"
	"github.com/sheafdb/sheaf/internal/server"
	_ "github.com/sheafdb/sheaf/js" // registers JavaScript, which a server has by default
)

// shutdownPatience is how long running commands may take to finish after a signal.
const shutdownPatience = admin.ShutdownPatience

// serveFlags holds the settings of sheaf serve.
type serveFlags struct {
	dir            string
	bind           string
	port           int
	unixSocket     string
	memory         bool
	memoryBudget   string
	readyJSON      bool
	logLevel       string
	logFormat      string
	logFile        string
	logRotate      string
	maxConnections int
	slowMillis     int
	sync           string
	salvage        bool
	testCommands   bool
	noScripting    bool
	standalone     bool
	replSet        string
	oplogSize      string
	// budget and oplogBytes are the values of memoryBudget and oplogSize in bytes. They are set by
	// check. Zero means the default.
	budget, oplogBytes int64
	advertise          string
	config             string
	quiet              bool

	settings bson.D // the settings that the command getCmdLineOpts shows
	stray    []strayVariable
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server until it is interrupted.\n\nEvery flag can also be set in the environment (SHEAF_PORT for --port)" +
			" and in a YAML file\n(--config), whose keys are the names of the flags. The command line overrides the environment, and the" +
			" environment\noverrides the file.",
		Example: "  sheaf serve --dir ~/data --port 27018\n  sheaf serve --memory-budget 256MiB --bind '*'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := applyConfig(cmd); err != nil {
				return err
			}
			if err := f.check(cmd.Flags().Changed); err != nil {
				return err
			}
			// The reader of the log may end before the server, for example tee in "sheaf serve |
			// tee log". If SIGPIPE were not ignored, the next log line would end the process during
			// its shutdown.
			signal.Ignore(syscall.SIGPIPE)
			f.settings = parsedOptions(cmd.Flags())
			f.stray = strayVariables(cmd.Flags(), os.Environ())
			return serve(cmd.Context(), &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *serveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "sheaf-data", "data directory; created if it does not exist")
	flags.StringVar(&f.bind, "bind", "127.0.0.1", "addresses to listen on, separated by commas; * for all")
	flags.IntVar(&f.port, "port", 27017, "TCP port; 0 for a free one, -1 for none")
	flags.StringVar(&f.unixSocket, "unix-socket", "", "path of a Unix socket on which to listen as well")
	flags.BoolVar(&f.memory, "memory", false, "keep the data only in memory, and lose it at the end")
	flags.StringVar(&f.memoryBudget, "memory-budget", "",
		"memory for caches, writes and requests together, such as 512MiB (default: GOMEMLIMIT, or half of a container's"+
			" memory, or a quarter of the machine's, at most 1 GiB)")
	flags.BoolVar(&f.readyJSON, "ready-json", false, "print one line of JSON with address and uri when ready")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "", "json (lines like mongod's) or text (default: text on a terminal, else json)")
	flags.StringVar(&f.logFile, "log-file", "", "file to append the log to (default: standard error)")
	flags.StringVar(&f.logRotate, "log-rotate", rotateByRename, "effect of the command logRotate on the log file: rename it, or reopen its path")
	flags.IntVar(&f.maxConnections, "max-connections", server.DefaultMaxConnections, "maximum number of connections")
	flags.IntVar(&f.slowMillis, "slow-ms", 100, "log operations that take at least this many milliseconds; -1 for none")
	flags.StringVar(&f.sync, "sync", "default",
		"which writes wait for the disk: default (no write concern, j: true or w: majority), on-request (j: true or w: majority), "+
			"always, never")
	flags.BoolVar(&f.salvage, "salvage", false, "open a damaged store up to the damage, and lose later writes")
	flags.BoolVar(&f.testCommands, "enable-test-commands", false, "enable commands for tests of drivers, such as configureFailPoint")
	flags.BoolVar(&f.noScripting, "no-scripting", false, "refuse JavaScript: $where, $function, $accumulator and mapReduce")
	flags.StringVar(&f.replSet, "replSet", command.DefaultReplicaSet,
		"name of the replica set; the server is its only member")
	flags.StringVar(&f.oplogSize, "oplog-size", "",
		"size of the oplog of a new directory, such as 2GiB (default: 512MiB); later, replSetResizeOplog changes it")
	flags.BoolVar(&f.standalone, "standalone", false, "do not be a replica set: no transactions, retryable writes or change streams")
	flags.StringVar(&f.advertise, "advertise", "",
		"host:port at which clients reach the server, if connections arrive at another address")
	flags.StringVar(&f.config, "config", "", "YAML file with settings")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print no greeting, and log warnings and errors only")
}

// serve opens the store and listens. It returns after a graceful shutdown.
func serve(ctx context.Context, f *serveFlags, stdout, stderr io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	log, rotate, closeLog, err := f.logWriter(stderr)
	if err != nil {
		return err
	}
	defer closeLog()
	opts, err := f.options(log)
	if err != nil {
		return err
	}
	var patience atomic.Int64
	patience.Store(int64(shutdownPatience))
	opts.RotateLog = rotate
	opts.OnShutdown = func(d time.Duration) {
		patience.Store(int64(d))
		stop(errShutdownCommand)
	}
	listeners, err := f.listen(ctx)
	if err != nil {
		return err
	}
	db, err := sheaf.Open(f.directory(), opts)
	if err != nil {
		closeAll(listeners)
		return explainOpen(f.dir, err)
	}
	var wg sync.WaitGroup
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		wg.Go(func() {
			if err := db.Serve(ctx, l); err != nil && ctx.Err() == nil && !errors.Is(err, sheaf.ErrClosed) {
				failed <- err
				stop(err)
			}
		})
	}
	f.announce(listeners, opts.Logger, stdout, stderr)
	<-ctx.Done()
	opts.Logger.Info("Shutting down; running commands may finish", "c", "CONTROL", "id", 23377, "reason", reasonOf(ctx))
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(patience.Load()))
	defer cancel()
	err = db.Shutdown(ending)
	wg.Wait()
	close(failed)
	err = errors.Join(err, <-failed)
	f.farewell(opts.Logger, stderr, reasonOf(ctx), err)
	return err
}

// errShutdownCommand is the cause of the context's end if a client stopped the server.
var errShutdownCommand = errors.New("a client sent the shutdown command")

// reasonOf returns why a server stops: a signal, a client's command, or a failure.
func reasonOf(ctx context.Context) string {
	cause := context.Cause(ctx)
	if cause == context.Canceled { //nolint:errorlint // the cause that names a signal is also a context.Canceled
		return "its caller ended it"
	}
	return cause.Error()
}

// farewell logs the last line, which says why the server stopped and whether its data is complete.
func (f *serveFlags) farewell(log *slog.Logger, stderr io.Writer, reason string, err error) {
	if err != nil {
		log.Error("Now exiting", "c", "CONTROL", "id", 23138, "exitCode", exitFailure, "reason", reason, "error", err)
		return
	}
	log.Info("Now exiting", "c", "CONTROL", "id", 23138, "exitCode", 0, "reason", reason)
	if !f.quiet && !f.readyJSON {
		what := "All data is on disk."
		if f.memory {
			what = "The data was in memory only and is gone."
		}
		fmt.Fprintf(stderr, "Sheaf stopped (%s). %s\n", reason, what)
	}
}

func (f *serveFlags) directory() string {
	if f.memory {
		return sheaf.Memory
	}
	return f.dir
}

// options converts the flags to the library's options.
func (f *serveFlags) options(logTo io.Writer) (*sheaf.Options, error) {
	log, err := f.logger(logTo)
	if err != nil {
		return nil, err
	}
	o := &sheaf.Options{
		Logger: log, MaxConnections: f.maxConnections, TestCommands: f.testCommands,
		NoScripting: f.noScripting, Salvage: f.salvage, Standalone: f.standalone,
		ReplicaSet: f.replSet, Advertise: f.advertise,
		SlowOperation: time.Duration(f.slowMillis) * time.Millisecond, CommandLine: os.Args, Settings: f.settings,
		OplogSize: f.oplogBytes,
	}
	budget := memoryBudget(f.budget)
	f.limitMemory(o, budget)
	f.warnOfBudget(log, budget)
	f.warnOfVariables(log)
	if err := limitFiles(o, fileLimit()); err != nil {
		return nil, err
	}
	policy, err := syncPolicy(f.sync)
	o.Sync = policy
	return o, err
}

// ready is the line that --ready-json prints when the server accepts connections.
type ready struct {
	Address   string   `json:"address"`
	URI       string   `json:"uri"`
	Addresses []string `json:"addresses"`
	PID       int      `json:"pid"`
}

// announce prints and logs the addresses of the server.
func (f *serveFlags) announce(ls []net.Listener, log *slog.Logger, stdout, stderr io.Writer) {
	r := ready{PID: os.Getpid(), URI: uriOf(ls[0].Addr()), Address: ls[0].Addr().String()}
	for _, l := range ls {
		r.Addresses = append(r.Addresses, l.Addr().String())
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			log.Info("Waiting for connections", "c", "NETWORK", "id", 23016, "ctx", "listener",
				"port", tcp.Port, "ssl", "off")
		}
	}
	if f.readyJSON {
		_ = json.NewEncoder(stdout).Encode(r)
		return
	}
	if f.quiet {
		return
	}
	where := f.dir
	if abs, err := filepath.Abs(f.dir); err == nil {
		where = abs
	}
	if f.memory {
		where = "memory only: the data is lost when the server stops"
	}
	fmt.Fprintf(stderr, "Sheaf %s is ready. Connect with\n\n    mongosh \"%s\"\n\nData: %s. Stop with Ctrl-C.\n", sheaf.Version, r.URI, where)
}

// uriOf returns a connection string for a listener. For a listener on all interfaces, it contains
// the loopback address.
func uriOf(a net.Addr) string {
	host := a.String()
	switch a := a.(type) {
	case *net.UnixAddr:
		host = url.PathEscape(a.Name)
	case *net.TCPAddr:
		if a.IP.IsUnspecified() {
			host = net.JoinHostPort("127.0.0.1", strconv.Itoa(a.Port))
		}
	}
	return "mongodb://" + host + "/?directConnection=true"
}

// explainOpen adds to an error what the user can do if a store cannot be opened.
func explainOpen(dir string, err error) error {
	err = libraryError{err}
	switch {
	case errors.Is(err, sheaf.ErrLocked):
		return fmt.Errorf("%w; or give another --dir", err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("--dir %s: it is not a directory, or is below a file (%w)", dir, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("no permission to use %s: give another --dir (%w)", dir, err)
	default:
		return err
	}
}
