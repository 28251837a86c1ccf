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
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/server"
)

// shutdownPatience is how long running commands may take to finish after a signal.
const shutdownPatience = command.ShutdownPatience

// serveFlags are the settings of sheaf serve.
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
	testCommands   bool
	noScripting    bool
	standalone     bool
	replSet        string
	oplogSize      string
	advertise      string
	config         string
}

func newServe() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Run the server until it is interrupted.\n\nEvery flag can also be set in the environment (SHEAF_PORT for --port)" +
			" and in a YAML file\n(--config) whose keys are the flags' names. The command line wins over the environment, and that" +
			" over the file.",
		Example: "  sheaf serve --dir ~/data --port 27018\n  sheaf serve --memory-budget 256MiB --bind 0.0.0.0",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := applyConfig(cmd); err != nil {
				return err
			}
			return serve(cmd.Context(), &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *serveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "sheaf-data", "directory of the data, made where there is none")
	flags.StringVar(&f.bind, "bind", "127.0.0.1", "addresses to listen on, separated by commas; 0.0.0.0 for all")
	flags.IntVar(&f.port, "port", 27017, "TCP port; 0 for a free one, -1 for none")
	flags.StringVar(&f.unixSocket, "unix-socket", "", "path of a Unix socket to listen on too")
	flags.BoolVar(&f.memory, "memory", false, "keep the data in memory only and lose it at the end")
	flags.StringVar(&f.memoryBudget, "memory-budget", "",
		"memory for cache and writes, such as 512MiB (default: a quarter of the available memory, at most 1 GiB)")
	flags.BoolVar(&f.readyJSON, "ready-json", false, "print one line of JSON with address and uri when ready")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "json", "json (mongod's lines) or text")
	flags.StringVar(&f.logFile, "log-file", "", "file to append the log to (default: standard error)")
	flags.StringVar(&f.logRotate, "log-rotate", rotateByRename, "what the command logRotate does with the log file: rename it, or reopen its path")
	flags.IntVar(&f.maxConnections, "max-connections", server.DefaultMaxConnections, "largest number of connections")
	flags.IntVar(&f.slowMillis, "slow-ms", 100, "log operations that take at least so many milliseconds; -1 for none")
	flags.StringVar(&f.sync, "sync", "on-request", "which writes wait for the disk: on-request (j: true or w: majority), always, never")
	flags.BoolVar(&f.testCommands, "enable-test-commands", false, "enable commands for tests of drivers, such as configureFailPoint")
	flags.BoolVar(&f.noScripting, "no-scripting", false, "refuse JavaScript: $where, $function, $accumulator and mapReduce")
	flags.StringVar(&f.replSet, "replSet", command.DefaultReplicaSet, "name of the replica set whose only member the server is")
	flags.StringVar(&f.oplogSize, "oplog-size", "",
		"size of the log of changes of a directory that is made now, such as 2GiB (default: 512MiB); later, replSetResizeOplog changes it")
	flags.BoolVar(&f.standalone, "standalone", false, "be no replica set: no transactions, retryable writes and change streams")
	flags.StringVar(&f.advertise, "advertise", "",
		"host:port by which clients reach the server, where it is not the address that their connections come to")
	flags.StringVar(&f.config, "config", "", "YAML file with settings")
}

// serve opens the store, listens, and returns after a graceful shutdown.
func serve(ctx context.Context, f *serveFlags, stdout, stderr io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
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
		stop()
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
				stop()
			}
		})
	}
	f.announce(listeners, opts.Logger, stdout, stderr)
	<-ctx.Done()
	opts.Logger.Info("Shutting down; running commands may finish", "c", "CONTROL", "id", 23377)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(patience.Load()))
	defer cancel()
	err = db.Shutdown(ending)
	wg.Wait()
	close(failed)
	return errors.Join(err, <-failed)
}

func (f *serveFlags) directory() string {
	if f.memory {
		return sheaf.Memory
	}
	return f.dir
}

// options turns the flags into the library's options.
func (f *serveFlags) options(logTo io.Writer) (*sheaf.Options, error) {
	log, err := newLogger(logTo, f.logLevel, f.logFormat)
	if err != nil {
		return nil, err
	}
	budget, err := memoryBudget(f.memoryBudget)
	if err != nil {
		return nil, err
	}
	o := &sheaf.Options{
		MemoryBudget: budget, Logger: log, MaxConnections: f.maxConnections, TestCommands: f.testCommands,
		NoScripting: f.noScripting, Standalone: f.standalone, ReplicaSet: f.replSet, Advertise: f.advertise,
		SlowOperation: time.Duration(f.slowMillis) * time.Millisecond,
	}
	if f.oplogSize != "" {
		if o.OplogSize, err = parseSize(f.oplogSize); err != nil {
			return nil, fmt.Errorf("--oplog-size %s: %w", f.oplogSize, err)
		}
	}
	switch f.sync {
	case "on-request":
	case "always":
		o.Sync = sheaf.SyncAlways
	case "never":
		o.Sync = sheaf.SyncNever
	default:
		return nil, fmt.Errorf("--sync %s: it must be on-request, always or never", f.sync)
	}
	return o, nil
}

func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %s: it must be debug, info, warn or error", level)
	}
	switch format {
	case "json":
		return slog.New(server.NewLogHandler(w, l)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
	default:
		return nil, fmt.Errorf("--log-format %s: it must be json or text", format)
	}
}

// The served budget is a share of what the process may use, within bounds.
const (
	budgetShare   = 4
	maxBudget     = 1 << 30
	unknownBudget = 256 << 20
)

// memoryBudget parses --memory-budget; without it the budget is a quarter of the memory that the process may use.
func memoryBudget(text string) (int64, error) {
	if text == "" {
		available := command.AvailableMemory()
		if available <= 0 {
			return unknownBudget, nil
		}
		return min(available/budgetShare, maxBudget), nil
	}
	n, err := parseSize(text)
	if err != nil {
		return 0, fmt.Errorf("--memory-budget %s: %w", text, err)
	}
	return n, nil
}

// parseSize reads a number of bytes with an optional unit.
func parseSize(text string) (int64, error) {
	units := []struct {
		suffix string
		factor int64
	}{
		{"kib", 1 << 10},
		{"mib", 1 << 20},
		{"gib", 1 << 30},
		{"kb", 1000},
		{"mb", 1000_000},
		{"gb", 1000_000_000},
		{"k", 1 << 10},
		{"m", 1 << 20},
		{"g", 1 << 30},
		{"b", 1},
		{"", 1},
	}
	lower := strings.ToLower(strings.TrimSpace(text))
	for _, u := range units {
		digits, ok := strings.CutSuffix(lower, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || n <= 0 || n*float64(u.factor) > 1<<50 {
			break
		}
		return int64(n * float64(u.factor)), nil
	}
	return 0, errors.New("it must be a size such as 512MiB or 1GB")
}

// listen opens all listeners, before the store is opened: a port that is taken costs nothing.
func (f *serveFlags) listen(ctx context.Context) ([]net.Listener, error) {
	var out []net.Listener
	var lc net.ListenConfig
	if f.port >= 0 {
		port := f.port
		for host := range strings.SplitSeq(f.bind, ",") {
			l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(strings.Trim(strings.TrimSpace(host), "[]"), strconv.Itoa(port)))
			if err != nil {
				closeAll(out)
				return nil, explainListen(host, f.port, err)
			}
			if tcp, ok := l.Addr().(*net.TCPAddr); ok {
				port = tcp.Port // a free port is the same one on every address
			}
			out = append(out, l)
		}
	}
	if f.unixSocket != "" {
		l, err := listenUnix(ctx, f.unixSocket)
		if err != nil {
			closeAll(out)
			return nil, err
		}
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil, errors.New("nothing to listen on: give a --port or a --unix-socket")
	}
	return out, nil
}

// listenUnix listens on a socket file; one that a dead server left behind is replaced.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	var d net.Dialer
	if c, dialErr := d.DialContext(ctx, "unix", path); dialErr == nil {
		_ = c.Close()
		return nil, fmt.Errorf("another server listens on %s; give another --unix-socket", path)
	}
	if err := os.Remove(path); err != nil {
		return nil, fmt.Errorf("cannot remove the old socket: %w", err)
	}
	return lc.Listen(ctx, "unix", path)
}

func closeAll(ls []net.Listener) {
	for _, l := range ls {
		_ = l.Close()
	}
}

// ready is the line of --ready-json.
type ready struct {
	Address   string   `json:"address"`
	URI       string   `json:"uri"`
	Addresses []string `json:"addresses"`
	PID       int      `json:"pid"`
}

// announce tells where the server can be reached.
func (f *serveFlags) announce(ls []net.Listener, log *slog.Logger, stdout, stderr io.Writer) {
	r := ready{PID: os.Getpid(), URI: uriOf(ls[0].Addr()), Address: ls[0].Addr().String()}
	for _, l := range ls {
		r.Addresses = append(r.Addresses, l.Addr().String())
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			log.Info("Waiting for connections", "c", "NETWORK", "id", 23016, "ctx", "listener", "port", tcp.Port, "ssl", "off")
		}
	}
	if f.readyJSON {
		_ = json.NewEncoder(stdout).Encode(r)
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

// uriOf returns a connection string; an address of all interfaces becomes the loopback address.
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

// explainListen says what to do about an address that cannot be had.
func explainListen(host string, port int, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d on %s is in use, perhaps by another server; give another --port (0 picks a free one)", port, host)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("no permission to listen on port %d; give a --port above 1023", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("this machine has no address %s; give another --bind", host)
	default:
		return fmt.Errorf("cannot listen on %s: %w", host, err)
	}
}

// explainOpen says what to do about a store that cannot be opened.
func explainOpen(dir string, err error) error {
	switch {
	case errors.Is(err, sheaf.ErrLocked):
		return fmt.Errorf("%s is in use by another process: stop that one, or give another --dir", dir)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("no permission to use %s: give another --dir (%w)", dir, err)
	default:
		return err
	}
}
