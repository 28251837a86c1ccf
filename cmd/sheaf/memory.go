package main

import (
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/relief"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
)

// The default memory budget of the server is a share of the memory that the process can use. The
// share of a machine is smaller than the share of a container, because other programs use the
// machine, too.
const (
	machineShare  = 4
	maxBudget     = 1 << 30
	unknownBudget = 256 << 20
)

// These are the parts of the memory budget in eighths: the store's caches and memtables, and the
// requests. The caches also use the requests' part while no request needs it. The rest is for
// garbage, flushes and compactions.
const (
	storeEighths   = 2
	requestEighths = 3
	// minRequests is the smallest part for requests. It has room for a document of 16 MB.
	minRequests = 64 << 20
	// programBytes is about the memory of the process outside of Go's memory: the pages of the
	// program that were read. The kernel counts these pages, but the garbage collector does not. At
	// most 1/programShare of a budget is reserved for them.
	programBytes = 32 << 20
	programShare = 8
)

// smallBudget is the smallest budget that ordinary loads keep, or exceed by at most a quarter. In a
// smaller budget, parts of fixed size take more than their share, such as the room for one document
// of 16 MB.
const smallBudget = 192 << 20

// warnOfBudget warns that a server with a store on disk will exceed a small budget.
func (f *serveFlags) warnOfBudget(log *slog.Logger, budget int64) {
	if f.memory || budget >= smallBudget {
		return
	}
	log.Warn("The memory budget is small: large documents, aggregations and messages will exceed it", "c", "CONTROL",
		"budgetBytes", budget, "smallestThatHoldsBytes", int64(smallBudget))
}

// memoryBudget returns the value of --memory-budget. If that is 0, it returns the first of these
// that is known: GOMEMLIMIT, half of the limit of the control group, a quarter of the machine's
// memory.
func memoryBudget(given int64) int64 {
	if given > 0 {
		return given
	}
	if n := debug.SetMemoryLimit(-1); n != math.MaxInt64 {
		return max(n, minMemoryBudget)
	}
	if n := relief.GroupMemory(); n > 0 {
		return max(n/2, minMemoryBudget)
	}
	available := relief.AvailableMemory()
	if available <= 0 {
		return unknownBudget
	}
	return min(available/machineShare, maxBudget)
}

// limitMemory divides a budget among the parts of the server, and sets the memory limit of Go's
// garbage collector. With a store in memory, the budget does not include the data, so the
// collector's limit grows with the data.
func (f *serveFlags) limitMemory(o *sheaf.Options, budget int64) {
	o.MemoryBudget = budget / 8 * storeEighths
	o.RequestMemory = max(budget/8*requestEighths, minRequests)
	given := debug.SetMemoryLimit(-1)
	limit := budget - min(programBytes, budget/programShare)
	if f.memory {
		o.ProcessMemory = limit
		o.CollectorLimit = func(n int64) { debug.SetMemoryLimit(min(n, given)) }
		o.CollectorLimit(limit)
		return
	}
	o.ProcessMemory = min(limit, given)
	if pebble.OutsideGo {
		limit -= o.MemoryBudget
		pebble.ReturnFreed()
	}
	debug.SetMemoryLimit(min(limit, given))
}
