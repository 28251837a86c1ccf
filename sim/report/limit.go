package report

import (
	"fmt"
	"strings"

	"github.com/sheafdb/sheaf/sim/result"
)

var probeColumns = []string{"users", "runtime s", "p99 ms", "kept up"}

// limitText describes the result of a search for the greatest load.
func limitText(l *result.Limit) string {
	var out []string
	switch {
	case l.Users == 0:
		out = append(out, fmt.Sprintf("Even %d users for each iteration were too many", l.Over))
	case l.Over == 0:
		out = append(out, fmt.Sprintf("%d users for each iteration were kept up with; more were not tried", l.Users))
	default:
		out = append(out, fmt.Sprintf("%d users for each iteration were kept up with, %d were too many", l.Users, l.Over))
	}
	if l.Repeats > 0 {
		out = append(out, fmt.Sprintf("%d of %d repeats confirm it", l.Confirmed, l.Repeats))
	}
	if l.P99Millis > 0 {
		out = append(out, fmt.Sprintf("the bound was a p99 of %s", milliText(l.P99Millis)))
	}
	if l.Generator {
		out = append(out, "it was the LOAD GENERATOR that could not do more, not the server")
	}
	return strings.Join(out, "; ") + "."
}

// probeLines returns the runs of a search as the rows of a table.
func probeLines(l *result.Limit) (out [][]string) {
	for _, p := range l.Probes {
		kept := "yes"
		if !p.KeptUp {
			kept = "no: " + p.Why
		}
		out = append(out, []string{fmt.Sprint(p.Users), fixed(p.RuntimeSeconds), fixed(p.P99Millis), kept})
	}
	return out
}
