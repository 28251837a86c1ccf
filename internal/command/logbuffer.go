package command

import (
	"bytes"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// CommandLine is how the server was started, for getCmdLineOpts.
type CommandLine struct {
	Args   []string
	Parsed bsonx.Doc
}

// Build identifies the program, for buildInfo and the logs.
type Build struct {
	Version  string
	Revision string
}

// logLines is how many lines getLog returns at most.
const logLines = 1024

// StartupWarning is the tag of the log lines that getLog also returns as startupWarnings. mongosh prints them when it connects.
const StartupWarning = "startupWarnings"

// endOfWarning ends the line of a startup warning. A client cannot make up such a line: what it sends stands in the attributes,
// which close before the tags.
const endOfWarning = `,"tags":["` + StartupWarning + `"]}`

// maxStartupWarnings bounds what is kept.
const maxStartupWarnings = 100

// LogBuffer keeps the newest log lines for getLog, and the first startup warnings. It is an io.Writer that a log handler writes whole lines to.
type LogBuffer struct {
	mu    sync.Mutex
	lines []string
	next  int
	total int

	warnings      []string
	totalWarnings int
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
	if strings.HasSuffix(line, endOfWarning) {
		l.addWarning(line)
	}
	return len(p), nil
}

func (l *LogBuffer) addWarning(line string) {
	l.totalWarnings++
	if len(l.warnings) < maxStartupWarnings {
		l.warnings = append(l.warnings, line)
	}
}

// StartupWarnings returns the startup warnings that are kept, oldest first, and how many there were. A nil LogBuffer has none.
func (l *LogBuffer) StartupWarnings() ([]string, int) {
	if l == nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.warnings...), l.totalWarnings
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
