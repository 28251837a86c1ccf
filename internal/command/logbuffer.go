package command

import (
	"bytes"
	"strings"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// CommandLine holds the arguments that the server was started with, for getCmdLineOpts.
type CommandLine struct {
	Args   []string
	Parsed bsonx.Doc
}

// Build holds the version and the revision of the program, for buildInfo, explain and
// local.startup_log.
type Build struct {
	Version  string
	Revision string
}

// logLines is the largest number of lines that getLog returns.
const logLines = 1024

// StartupWarning is the tag of log lines that getLog also returns as startupWarnings. mongosh
// prints these when it connects.
const StartupWarning = "startupWarnings"

// endOfWarning is the end of the line of a startup warning. A client cannot forge such a line: its
// data is in the attributes, which end before the tags.
const endOfWarning = `,"tags":["` + StartupWarning + `"]}`

// maxStartupWarnings is the largest number of startup warnings that a LogBuffer keeps.
const maxStartupWarnings = 100

// LogBuffer keeps the newest log lines for getLog, and the first startup warnings. It is an
// io.Writer: each Write must have one whole line.
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

// StartupWarnings returns the kept startup warnings, oldest first, and the number of all startup
// warnings. A nil LogBuffer has none.
func (l *LogBuffer) StartupWarnings() ([]string, int) {
	if l == nil {
		return nil, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.warnings...), l.totalWarnings
}

// Lines returns the kept lines, oldest first, and the number of lines ever written. A nil LogBuffer
// is empty.
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
