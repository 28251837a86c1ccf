package main

import (
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/relief"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
)

// The server's budget is a share of the memory that the process can use. A container belongs to the
// server alone; a machine is shared.
const (
	machineShare  = 4
	maxBudget     = 1 << 30
	unknownBudget = 256 << 20
)

// The budget is divided in eighths between the caches and memtables of the store, and the requests.
// The caches also use the requests' part while no request needs it. The rest is for garbage,
// flushes and compactions.
const (
	storeEighths   = 2
	requestEighths = 3
	// minRequests has room for a document of 16 MB, whatever the budget.
	minRequests = 64 << 20
	// programBytes is about the memory of the process outside of Go's memory: the pages of the
	// program that were read. The kernel counts them, but the garbage collector does not. It is at
	// most 1/programShare of a budget.
	programBytes = 32 << 20
	programShare = 8
)

// smallBudget is the smallest budget that ordinary loads keep, or exceed by at most a quarter.
// Below it, parts of fixed size take more than their share, such as the room for one document of 16
// MB.
const smallBudget = 192 << 20

// warnOfBudget warns that a server with a store on disk will exceed a small budget.
func (f *serveFlags) warnOfBudget(log *slog.Logger, budget int64) {
	if f.memory || budget >= smallBudget {
		return
	}
	log.Warn("The memory budget is small: large documents, aggregations and messages will exceed it", "c", "CONTROL",
		"budgetBytes", budget, "smallestThatHoldsBytes", int64(smallBudget))
}

// memoryBudget returns the value of --memory-budget. If that is 0, it returns GOMEMLIMIT, half of
// the limit of the control group, or a quarter of the machine's memory.
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
// garbage collector. A store in memory grows with its data. Then the budget is for the rest, and
// the collector's limit follows the data.
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
