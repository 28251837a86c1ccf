package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/relief"
)

const (
	// DefaultMaxConnections is the default connection limit. It is the same as in mongod.
	DefaultMaxConnections = 1_000_000
	// DefaultReapInterval is the default interval at which idle cursors, idle sessions and old
	// transactions are ended.
	DefaultReapInterval = 4 * time.Second
	// interruptGrace is how long interrupted commands may take to end.
	interruptGrace = 2 * time.Second
)

// Options configure a Server. Service is required.
type Options struct {
	Service        *command.Service
	Logger         *slog.Logger
	MaxConnections int
	ReapInterval   time.Duration
	// Advertise is the address at which clients reach the TCP listeners. It is needed if a port is
	// forwarded. If it is empty, the address of the connection is used.
	Advertise string
	// Stall is how long a client may pause in the middle of a message. Zero means DefaultStall.
	Stall time.Duration
	// ProcessMemory is the memory in bytes that the Go runtime may use before commands are ended.
	// Zero means no limit.
	ProcessMemory int64
	// Data returns the size of an in-memory store in bytes. The server may use that memory in
	// addition to ProcessMemory. Data may be nil.
	Data func() int64
	// Beside returns how many bytes storage takes above its budget while it writes large documents.
	// A nil Beside returns 0.
	Beside func() int64
	// CollectorLimit, if not nil, sets the limit of the garbage collector. It is called with the
	// sum of ProcessMemory and Data in bytes, whenever Data has changed much.
	CollectorLimit func(bytes int64)
	// LogConnections logs the beginning and the end of each connection, as mongod does.
	LogConnections bool
}

// Server serves connections until Shutdown.
type Server struct {
	service  *command.Service
	log      *slog.Logger
	opts     Options
	buffers  bufferPool
	draining atomic.Bool
	nextID   atomic.Int64
	base     context.Context
	cancel   context.CancelFunc

	mu        sync.Mutex
	conns     map[*conn]struct{}
	listeners map[net.Listener]struct{}
	closed    bool
	refused   refusals
	running   sync.WaitGroup // connections and monitors
	watcher   watcher
	queue     queue // messages that wait for memory
}

// New returns a running server without listeners.
func New(opts Options) *Server {
	if opts.MaxConnections <= 0 {
		opts.MaxConnections = DefaultMaxConnections
	}
	if opts.ReapInterval <= 0 {
		opts.ReapInterval = DefaultReapInterval
	}
	if opts.Stall <= 0 {
		opts.Stall = DefaultStall
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		service: opts.Service, log: opts.Logger, opts: opts,
		conns: make(map[*conn]struct{}), listeners: make(map[net.Listener]struct{}),
	}
	s.watcher.woken = make(chan struct{}, 1)
	s.base, s.cancel = context.WithCancel(context.Background())
	s.service.SetMaxConnections(opts.MaxConnections)
	s.running.Go(func() { s.service.Expire(s.base) })
	if opts.ProcessMemory > 0 {
		s.running.Go(func() {
			s.service.Relief.Run(s.base, relief.Limits{
				Process: opts.ProcessMemory, Data: opts.Data, Beside: opts.Beside, Collector: opts.CollectorLimit,
			})
		})
	}
	s.running.Add(2)
	go s.monitor()
	go s.watchConnections()
	return s
}

// ErrClosed is returned by Serve after Shutdown.
var ErrClosed = errors.New("server closed")

// Serve accepts connections until Shutdown, or until ctx ends. The end of ctx closes the listener
// but no connection.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if !s.addListener(l) {
		_ = l.Close()
		return ErrClosed
	}
	defer s.removeListener(l)
	s.warnIfExposed(l)
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		s.service.SetPort(tcp.Port)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var b backoff
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			b.succeeded()
			s.establish(nc)
		case s.draining.Load():
			return ErrClosed
		case ctx.Err() != nil:
			return ctx.Err()
		case isTemporary(err):
			s.pause(ctx, &b, err)
		default:
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		}
	}
}

// pause waits after a failed accept.
func (s *Server) pause(ctx context.Context, b *backoff, cause error) {
	d, log := b.failed(s.service.Clock.Now())
	if log {
		s.log.Warn("Could not accept a connection", "c", "NETWORK", "error", cause, "failuresNotLogged", b.silent)
		b.silent = 0
	}
	over, timer := clock.NewTimer(s.service.Clock, d)
	defer timer.Stop()
	select {
	case <-over:
	case <-ctx.Done():
	case <-s.base.Done():
	}
}

func isTemporary(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && !errors.Is(err, net.ErrClosed) && !ne.Timeout()
}

// warnIfExposed logs a warning if other machines can reach a listener, because the server has no
// authentication.
func (s *Server) warnIfExposed(l net.Listener) {
	tcp, ok := l.Addr().(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return
	}
	s.log.Warn("Access control is not enabled: everyone who reaches this address can read and change all data. "+
		"Listen on 127.0.0.1, or let a firewall decide who connects", "c", "CONTROL", "id", 22120, "ctx", "listener",
		"address", l.Addr().String(), "tags", command.StartupWarning)
}

func (s *Server) addListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) removeListener(l net.Listener) {
	s.mu.Lock()
	delete(s.listeners, l)
	s.mu.Unlock()
	_ = l.Close()
}

// start runs a connection in its own goroutine.
func (s *Server) start(nc net.Conn) {
	current := s.service.ConnectionOpened()
	remote, local := address(nc.RemoteAddr()), s.reachedBy(nc)
	if current > int64(s.opts.MaxConnections) {
		s.service.ConnectionClosed()
		s.service.ConnectionRejected()
		s.logRefusal("Connection refused because there are too many open connections", remote, "connectionCount", current)
		_ = nc.Close()
		return
	}
	c := &conn{srv: s, nc: nc, buf: make([]byte, idleBuffer), request: s.service.Memory.Hold()}
	c.state = s.service.NewConn(s.nextID.Add(1), remote, local, isLocal(nc.RemoteAddr()))
	c.state.Output.Room = c.room
	c.state.Op.Looks = s.watcher.wake
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.finish(c)
		return
	}
	s.conns[c] = struct{}{}
	s.running.Add(1)
	s.mu.Unlock()
	if s.opts.LogConnections && !s.service.Quiet() {
		s.log.Info("Connection accepted", "c", "NETWORK", "id", 22943, "ctx", "listener", "remote", remote,
			"connectionId", c.state.ID, "connectionCount", current)
	}
	go func() {
		defer s.running.Done()
		c.serve(s.base)
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		left := s.finish(c)
		if s.opts.LogConnections && !s.service.Quiet() {
			s.log.Info("Connection ended", "c", "NETWORK", "id", 22944, "ctx", c.name(), "remote", remote,
				"connectionId", c.state.ID, "connectionCount", left)
		}
	}()
}

func (s *Server) finish(c *conn) (left int64) {
	_ = c.nc.Close()
	s.service.Release(c.state)
	return s.service.ConnectionClosed()
}

// Shutdown stops accepting connections, lets running commands finish until ctx ends, interrupts the
// others, and closes every connection. It may be called more than once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.mu.Lock()
	s.closed = true
	for l := range s.listeners {
		_ = l.Close()
	}
	s.mu.Unlock()
	s.cancel()
	s.service.Stop()
	s.each((*conn).wake)
	if s.wait(ctx) {
		return nil
	}
	s.service.Interrupt(ctx)
	grace, cancel := clock.WithTimeout(context.Background(), s.service.Clock, interruptGrace)
	defer cancel()
	if s.wait(grace) {
		return nil
	}
	s.each(func(c *conn) { _ = c.nc.Close() })
	s.running.Wait()
	return ctx.Err()
}

func (s *Server) each(fn func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		fn(c)
	}
}

// wait waits for the connections and monitors to end. It returns false if ctx ends first.
func (s *Server) wait(ctx context.Context) bool {
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// monitor ends idle cursors, idle sessions and old transactions, once every ReapInterval.
func (s *Server) monitor() {
	defer s.running.Done()
	ticks, stop := clock.NewTicker(s.service.Clock, s.opts.ReapInterval)
	defer stop()
	for {
		select {
		case <-ticks:
			s.service.Reap()
		case <-s.base.Done():
			return
		}
	}
}

// reachedBy returns the address of the server that the client has connected to, or
// Options.Advertise.
func (s *Server) reachedBy(nc net.Conn) string {
	if _, ok := nc.LocalAddr().(*net.TCPAddr); ok && s.opts.Advertise != "" {
		return s.opts.Advertise
	}
	if unix, ok := nc.LocalAddr().(*net.UnixAddr); ok && unix.Name != "" {
		if path, err := filepath.Abs(unix.Name); err == nil {
			return path
		}
	}
	return address(nc.LocalAddr())
}

func address(a net.Addr) string {
	switch {
	case a == nil:
		return ""
	case a.Network() == "unix" && (a.String() == "" || a.String() == "@"):
		return "anonymous unix socket"
	default:
		return a.String()
	}
}

// isLocal reports whether the peer is on this machine.
func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
