package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"unicode"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/relief"
)

const (
	maxPort = 1<<16 - 1
	// minMemoryBudget is the smallest budget with which caches and memtables work.
	minMemoryBudget = 16 << 20
	// minOplogSize is the smallest oplog. It has room for a few of the largest entries.
	minOplogSize = 64 << 20
	// maxConnections is a bound against typing errors. No system allows a process so many
	// connections.
	maxConnections = 10_000_000
	// maxSlowMillis is the greatest value of --slow-ms, about 24 days.
	maxSlowMillis = math.MaxInt32
	// maxReplSet is the greatest length of a replica set's name. It is longer than any name in use,
	// but short enough for every reply to hello.
	maxReplSet = 128
)

// check returns an error for values of flags with which no server can run. given reports whether a
// flag was set on the command line, in the environment or in the configuration file.
func (f *serveFlags) check(given func(flag string) bool) error {
	switch {
	case f.port < -1 || f.port > maxPort:
		return fmt.Errorf("--port %d: it must be between 1 and %d, 0 for a free one, or -1 for none", f.port, maxPort)
	case f.maxConnections < 1 || f.maxConnections > maxConnections:
		return fmt.Errorf("--max-connections %d: it must be between 1 and %d", f.maxConnections, maxConnections)
	case f.slowMillis < -1 || f.slowMillis > maxSlowMillis:
		return fmt.Errorf("--slow-ms %d: it must be between 0 and %d milliseconds, or -1 for none", f.slowMillis, maxSlowMillis)
	case f.memory && f.salvage:
		return errors.New("--salvage opens a damaged directory, but --memory uses no directory: leave out one of them")
	case f.memory && given("dir"):
		return errors.New("--memory stores nothing in a directory: leave out --memory or --dir")
	case !f.memory && f.dir == "":
		return errors.New("--dir is empty: name a directory, or use --memory")
	case f.standalone && given("replSet"):
		return errors.New("--standalone means no replica set: leave out --standalone or --replSet")
	case f.standalone && given("oplog-size"):
		return errors.New("--standalone has no oplog: leave out --standalone or --oplog-size")
	case f.replSet == "":
		return errors.New("--replSet is empty: name the set, or use --standalone")
	case len(f.replSet) > maxReplSet || strings.ContainsFunc(f.replSet, notInSetName):
		return fmt.Errorf("--replSet %s: it must be at most %d characters, without spaces, commas and slashes", f.replSet, maxReplSet)
	case given("log-rotate") && f.logFile == "":
		return errors.New("--log-rotate needs a --log-file")
	}
	var errs [2]error
	f.budget, errs[0] = sizeOf("memory-budget", f.memoryBudget, minMemoryBudget)
	f.oplogBytes, errs[1] = sizeOf("oplog-size", f.oplogSize, minOplogSize)
	_, syncErr := syncPolicy(f.sync)
	return errors.Join(errs[0], f.checkBudget(), errs[1], syncErr, checkAdvertise(f.advertise))
}

// checkBudget refuses a budget above the memory of the control group or the machine. The kernel
// would kill such a server before the server noticed a lack of memory.
func (f *serveFlags) checkBudget() error {
	if available := relief.AvailableMemory(); available > 0 && f.budget > available {
		return fmt.Errorf("--memory-budget %s: this machine or container has only %dMiB of memory", f.memoryBudget, available>>20)
	}
	return nil
}

// notInSetName reports whether a character cannot be in the name of a replica set, because the name
// is a part of URIs and of the form NAME/HOST,HOST.
func notInSetName(r rune) bool {
	return strings.ContainsRune(`,/\?&#`, r) || unicode.IsSpace(r) || !unicode.IsPrint(r)
}

// syncPolicy parses the value of --sync.
func syncPolicy(text string) (sheaf.SyncPolicy, error) {
	switch text {
	case "default":
		return sheaf.SyncDefault, nil
	case "on-request":
		return sheaf.SyncOnRequest, nil
	case "always":
		return sheaf.SyncAlways, nil
	case "never":
		return sheaf.SyncNever, nil
	default:
		return 0, fmt.Errorf("--sync %s: it must be default, on-request, always or never", text)
	}
}

// sizeOf parses the value of a flag that is a size in bytes. It returns 0 for an empty text, and an
// error for a size below least.
func sizeOf(flag, text string, least int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := parseSize(text)
	if err != nil {
		return 0, fmt.Errorf("--%s %s: %w", flag, text, err)
	}
	if n < least {
		return 0, fmt.Errorf("--%s %s: it must be at least %dMiB", flag, text, least>>20)
	}
	return n, nil
}

func checkAdvertise(address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	n, portErr := strconv.Atoi(port)
	if err != nil || host == "" || strings.ContainsFunc(host, unicode.IsSpace) ||
		portErr != nil || n < 1 || n > maxPort {
		return fmt.Errorf("--advertise %s: it must be a host and a port, such as db.example.com:27017", address)
	}
	return nil
}
