package main

import (
	"bytes"
	"log/slog"
	"testing"
)

// TestSmallBudgetIsWarnedOf warns below the budget that docs/server.md names, and not of a store in memory.
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
