package main

import (
	"bytes"
	"log/slog"
	"math"
	"runtime/debug"
	"testing"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
)

// TestSmallBudgetIsWarnedOf: the server warns of a budget below the one that docs/server.md names,
// but not if its store is in memory.
func TestSmallBudgetIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		memory bool
		budget int64
		warns  bool
	}{{false, smallBudget - 1, true}, {false, smallBudget, false}, {true, minMemoryBudget, false}} {
		var out bytes.Buffer
		f := &serveFlags{memory: test.memory}
		f.warnOfBudget(slog.New(slog.NewTextHandler(&out, nil)), test.budget)
		if warned := out.Len() > 0; warned != test.warns {
			t.Errorf("%+v: warned %v: %s", test, warned, out.String())
		}
	}
}

// TestProgramIsInTheBudget: the limit of Go's garbage collector is smaller than the budget, because
// the collector does not count all memory of the process.
func TestProgramIsInTheBudget(t *testing.T) {
	given := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(given)
	const mib = 1 << 20
	for budget, want := range map[int64]int64{64 * mib: 56 * mib, 256 * mib: 224 * mib, 1024 * mib: 992 * mib} {
		for _, inMemory := range []bool{false, true} {
			debug.SetMemoryLimit(math.MaxInt64)
			var o sheaf.Options
			(&serveFlags{memory: inMemory}).limitMemory(&o, budget)
			outside := int64(0)
			if pebble.OutsideGo && !inMemory {
				outside = o.MemoryBudget
			}
			if limit := debug.SetMemoryLimit(-1); o.ProcessMemory != want || limit != want-outside {
				t.Errorf("a budget of %d MiB, memory %v: the process may take %d bytes, want %d; the collector's limit is %d, want %d",
					budget/mib, inMemory, o.ProcessMemory, want, limit, want-outside)
			}
		}
	}
}
