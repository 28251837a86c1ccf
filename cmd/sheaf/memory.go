package main

import (
	"log/slog"
	"math"
	"runtime/debug"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
)

// The served budget is a share of what the process may use. A container is the server's own, a machine is shared.
const (
	machineShare  = 4
	maxBudget     = 1 << 30
	unknownBudget = 256 << 20
)

// What a budget is divided into, in eighths: the store's caches and memtables, and what requests
// hold, which the caches use while no request needs it. The rest is for garbage, and for what
// flushes and compactions take.
const (
	storeEighths   = 2
	requestEighths = 3
	// minRequests lets a document of 16 MB in, whatever the budget.
	minRequests = 64 << 20
	// programBytes is about what the process takes outside of Go's memory, at most programShare of a
	// budget: the pages of the program that were read. The kernel counts them, the collector does not.
	programBytes = 32 << 20
	programShare = 8
)

// smallBudget is the least budget that ordinary loads keep to, up to a quarter. Below it the parts that do not shrink, such as
// the room for one document of 16 MB, take more than their share.
const smallBudget = 192 << 20

// warnOfBudget says that a server with a store on the disk will take more than a small budget.
func (f *serveFlags) warnOfBudget(log *slog.Logger, budget int64) {
	if f.memory || budget >= smallBudget {
		return
	}
	log.Warn("The memory budget is small: large documents, aggregations and messages take more than it", "c", "CONTROL",
		"budgetBytes", budget, "smallestThatHoldsBytes", int64(smallBudget))
}

// memoryBudget returns what --memory-budget gives. Where that is 0 the budget is GOMEMLIMIT, or half of the limit of the
// control group, or a quarter of the machine's memory.
func memoryBudget(given int64) int64 {
	if given > 0 {
		return given
	}
	if n := debug.SetMemoryLimit(-1); n != math.MaxInt64 {
		return max(n, minMemoryBudget)
	}
	if n := command.GroupMemory(); n > 0 {
		return max(n/2, minMemoryBudget)
	}
	available := command.AvailableMemory()
	if available <= 0 {
		return unknownBudget
	}
	return min(available/machineShare, maxBudget)
}

// limitMemory divides a budget among the parts of the server, and makes Go's collector keep to it. A store in memory only
// grows with its data: its budget is for the rest, and the collector's limit follows the data.
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
