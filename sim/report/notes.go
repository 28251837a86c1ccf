package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/sim/result"
)

// Level is the severity of a Note.
type Level string

// The levels, the worst first.
const (
	Wrong      Level = "WRONG"      // invariants are broken: the figures mean nothing
	Partial    Level = "PARTIAL"    // the run is not complete
	Unchecked  Level = "UNCHECKED"  // the invariants were not checked
	Overloaded Level = "OVERLOADED" // the server did not keep up
	Late       Level = "LATE"       // the load generator did not keep up
	Failures   Level = "FAILURES"   // users failed; latencies exclude them
)

// Note is a warning that a reader needs before the figures.
type Note struct {
	Level Level
	Text  string
}

// lateness bounds the p99 of the time by which users start late: a greater p99 is reported.
// Measured without a server, the generator stays below this value.
const lateness = time.Millisecond

// Notes returns the warnings that a reader needs before the figures of a run, the worst first.
func Notes(r *result.Result) (out []Note) {
	add := func(level Level, format string, a ...any) { out = append(out, Note{level, fmt.Sprintf(format, a...)}) }
	for _, text := range r.Wrong() {
		add(Wrong, "%s", text)
	}
	if r.Partial != "" {
		add(Partial, "%s", r.Partial)
	}
	for _, a := range r.Agents {
		if a.Lost != "" {
			add(Partial, "agent %s: %s", a.Address, a.Lost)
		}
	}
	for _, s := range r.Scenarios {
		if !s.Check.Done && s.Check.Error == "" {
			add(Unchecked, "%s: the invariants were not checked", s.Label)
		}
	}
	for _, s := range r.Scenarios {
		if IsOverloaded(s) {
			after := endedAfter(s)
			add(Overloaded, "%s took %.1f s for a schedule of %.1f s; %d of %d users (%s) ended after it. The server can sustain a load whose two times are equal: use fewer users",
				s.Label, s.RuntimeSeconds, Schedule(s).Seconds(), after, s.Started, percent(after, s.Started))
		}
	}
	if late := lateText(r); late != "" {
		add(Late, "users started later than intended: at p99 %s. Latencies include this. Use a separate machine for the load generator, or several agents", late)
	}
	for _, s := range r.Scenarios {
		if s.Failed > 0 {
			add(Failures, "%s: %d of %d users (%s) failed. Latencies include only the users who succeeded", s.Label, s.Failed, s.Started, percent(s.Failed, s.Started))
		}
	}
	return out
}

// lateText names the scenarios whose users started late, and says how late. It is empty if all
// users were on time.
func lateText(r *result.Result) string {
	var out []string
	for _, s := range r.Scenarios {
		if late := s.Lateness.Percentile(99); late > lateness {
			out = append(out, fmt.Sprintf("%s by %s (%s at most)", s.Label, span(late), span(s.Lateness.Max())))
		}
	}
	return strings.Join(out, ", ")
}

// Schedule returns how long the load of a scenario takes if the server keeps up.
func Schedule(s *result.Scenario) time.Duration {
	return time.Duration(s.Load.DelayMillis+int64(s.Load.Iterations)*s.Load.ResolutionMillis) * time.Millisecond
}

// IsOverloaded reports whether the server did not keep up with a scenario: the last user ended too
// long after the schedule. A twentieth of the schedule and the median latency are tolerated,
// because the last user starts at the end of the schedule.
func IsOverloaded(s *result.Scenario) bool {
	schedule := Schedule(s).Seconds()
	return !s.Load.Resident && s.RuntimeSeconds > 1.05*schedule+s.Latency.Percentile(50).Seconds()
}

// endedAfter returns how many users ended after the schedule.
func endedAfter(s *result.Scenario) (n int64) {
	for i, slot := range s.Series {
		if i >= s.Load.Iterations {
			n += slot.Ended
		}
	}
	return n
}

func percent(n, of int64) string {
	if of == 0 {
		return "0 %"
	}
	p := 100 * float64(n) / float64(of)
	if n > 0 && p < 0.1 {
		return "under 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", p)
}

// span formats a duration for people, with three digits and a unit.
func span(d time.Duration) string {
	switch {
	case d == 0:
		return "0 ms"
	case d < time.Millisecond:
		return digits3(float64(d)/1e3) + " µs"
	case d < time.Second:
		return digits3(float64(d)/1e6) + " ms"
	case d < 10*time.Minute:
		return digits3(d.Seconds()) + " s"
	default:
		return digits3(d.Minutes()) + " min"
	}
}

// digits3 formats a number with three digits. It keeps all digits before the decimal point, and at
// most two after it.
func digits3(x float64) string {
	switch {
	case x >= 99.95 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
