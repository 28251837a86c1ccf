package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/server"
)

// logFile is a file to which the log is appended. It can be rotated while it is in use.
type logFile struct {
	path   string
	reopen bool // whether rotate only opens the path again, because another program has renamed the file
	clock  clock.Clock

	mu sync.Mutex
	f  *os.File
}

// The values of --log-rotate.
const (
	rotateByRename = "rename"
	rotateByReopen = "reopen"
)

// openLogFile opens a log for appending.
func openLogFile(path, rotate string, c clock.Clock) (*logFile, error) {
	if rotate != rotateByRename && rotate != rotateByReopen {
		return nil, fmt.Errorf("--log-rotate %s: it must be rename or reopen", rotate)
	}
	l := &logFile{path: path, reopen: rotate == rotateByReopen, clock: c}
	f, err := l.open()
	if err != nil {
		return nil, fmt.Errorf("--log-file: %w", err)
	}
	l.f = f
	return l, nil
}

func (l *logFile) open() (*os.File, error) {
	return os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Write implements io.Writer.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Write(p)
}

// rotate renames the current file, with the time as a suffix like mongod, and starts a new file.
func (l *logFile) rotate() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.reopen {
		old := l.path + "." + l.clock.Now().UTC().Format("2006-01-02T15-04-05")
		if _, err := os.Lstat(old); err == nil {
			return fmt.Errorf("%s exists already: %w", old, os.ErrExist)
		}
		if err := os.Rename(l.path, old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	f, err := l.open()
	if err != nil {
		return err // the old file is still open and stays in use
	}
	before := l.f
	l.f = f
	return before.Close()
}

// Close implements io.Closer.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Close()
}

// logWriter returns the writer of the log, and a function that rotates it. That function is nil for
// standard error.
func (f *serveFlags) logWriter(stderr io.Writer) (w io.Writer, rotate func() error, closeLog func(), err error) {
	if f.logFile == "" {
		return stderr, nil, func() {}, nil
	}
	l, err := openLogFile(f.logFile, f.logRotate, clock.System{})
	if err != nil {
		return nil, nil, nil, err
	}
	return l, l.rotate, func() { _ = l.Close() }, nil
}

// logger returns the logger that the flags select. By default, its format is text on a terminal,
// and otherwise JSON lines as mongod writes them.
func (f *serveFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	// This refuses values such as "info+2", which slog accepts.
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil || strings.ContainsAny(f.logLevel, "+-") {
		return nil, fmt.Errorf("--log-level %s: it must be debug, info, warn or error", f.logLevel)
	}
	if f.quiet {
		level = max(level, slog.LevelWarn)
	}
	format := f.logFormat
	if format == "" {
		format = defaultLogFormat(w)
	}
	switch format {
	case logJSON:
		return slog.New(server.NewLogHandler(w, level)), nil
	case logText:
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), nil
	default:
		return nil, fmt.Errorf("--log-format %s: it must be json or text", f.logFormat)
	}
}

// The values of --log-format.
const (
	logJSON = "json"
	logText = "text"
)

func defaultLogFormat(w io.Writer) string {
	if isTerminal(w) {
		return logText
	}
	return logJSON
}
