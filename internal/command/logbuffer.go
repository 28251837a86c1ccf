package command

import (
	"bytes"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// CommandLine is how the server was started, for getCmdLineOpts.
type CommandLine struct {
	Args   []string
	Parsed bsonx.Doc
	// Port is the TCP port that is served, 0 where there is none.
	Port int
}

// Build identifies the program, for buildInfo and the logs.
type Build struct {
	Version  string
	Revision string
}

// logLines is how many lines getLog returns at most.
const logLines = 1024

// LogBuffer keeps the newest log lines for getLog. It is an io.Writer that a log handler writes whole lines to.
type LogBuffer struct {
	mu    sync.Mutex
	lines []string
	next  int
	total int
}

// Write implements io.Writer.
func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := string(bytes.TrimSuffix(p, []byte("\n")))
	if len(l.lines) < logLines {
		l.lines = append(l.lines, line)
	} else {
		l.lines[l.next] = line
	}
	l.next = (l.next + 1) % logLines
	l.total++
	return len(p), nil
}

// Lines returns the lines that are kept, oldest first, and how many were ever written. A nil LogBuffer is empty.
func (l *LogBuffer) Lines() ([]string, int) {
	if l == nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) < logLines {
		return append([]string(nil), l.lines...), l.total
	}
	return append(append([]string(nil), l.lines[l.next:]...), l.lines[:l.next]...), l.total
}
