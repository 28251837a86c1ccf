package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/sim/result"
)

// columns holds the column headings: first the columns of the books, then columns that show whether
// the figures are valid.
var columns = []string{
	"scenario", runtimeColumn, "mean", "std dev", "p75", "p95", "p99", "min", "max", "users",
	"ok", "failed", "errors", "check",
}

const runtimeColumn = "runtime s"

// spelling holds the functions that format the times of a table.
type spelling struct {
	// millis formats a time that is given in milliseconds, seconds a time that is given in seconds.
	millis, seconds func(float64) string
}

var (
	// fixedTimes formats numbers without units, for programs and for reports that state the units.
	fixedTimes = spelling{millis: fixed, seconds: fixed}
	// readTimes formats times for people, each with a suitable unit.
	readTimes = spelling{millis: readable, seconds: func(s float64) string { return readable(1000 * s) }}
)

// Readable formats a time like the tables for a terminal: with three digits and a unit.
func Readable(d time.Duration) string { return readable(result.Millis(d)) }

// readable formats milliseconds with three digits and a unit: 812 µs, 1.23 ms, 45.6 s, 8.5 min.
func readable(millis float64) string {
	const second, minute = 1000, 60_000
	digits := func(x float64, unit string) string {
		switch {
		case x < 10:
			return strconv.FormatFloat(x, 'f', 2, 64) + unit
		case x < 100:
			return strconv.FormatFloat(x, 'f', 1, 64) + unit
		default:
			return strconv.FormatFloat(x, 'f', 0, 64) + unit
		}
	}
	switch {
	case millis == 0:
		return "0"
	case millis < 1:
		return digits(1000*millis, " µs")
	case millis < second:
		return digits(millis, " ms")
	case millis < 2*minute:
		return digits(millis/second, " s")
	default:
		return digits(millis/minute, " min")
	}
}

// row is a line of a table: it shows a scenario, or a step of a scenario.
type row struct {
	step  bool
	cells []string
}

// rows returns the lines of a result, with cells in the order of columns. Steps follow their
// scenario.
func rows(r *result.Result, as spelling) (out []row) {
	for _, s := range r.Scenarios {
		cells := append([]string{s.Label, as.seconds(s.RuntimeSeconds)}, times(s.Latency, as)...)
		out = append(out, row{cells: append(cells,
			strconv.FormatInt(s.Started, 10), strconv.FormatInt(s.Succeeded, 10), strconv.FormatInt(s.Failed, 10),
			errorsOf(s), checkOf(s.Check))})
		for _, name := range slices.Sorted(maps.Keys(s.Steps)) {
			t := s.Steps[name]
			cells := append([]string{name, ""}, times(t, as)...)
			out = append(out, row{step: true, cells: append(cells, "", strconv.FormatInt(t.Count(), 10), "", "", "")})
		}
	}
	return out
}

// times returns the cells from mean to max.
func times(t *result.Timing, as spelling) []string {
	if t == nil || t.Count() == 0 {
		return slices.Repeat([]string{"–"}, 7)
	}
	out := []string{}
	for _, v := range timesOf(t) {
		out = append(out, as.millis(v))
	}
	return out
}

// timesOf returns the times that the books print, in milliseconds: mean, standard deviation, p75,
// p95, p99, min, max.
func timesOf(t *result.Timing) [7]float64 {
	return [7]float64{
		result.Millis(t.Mean()), result.Millis(t.StdDev()), result.Millis(t.Percentile(75)),
		result.Millis(t.Percentile(95)), result.Millis(t.Percentile(99)),
		result.Millis(t.Min()), result.Millis(t.Max()),
	}
}

func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// errorsOf lists the kinds of errors, the most frequent first.
func errorsOf(s *result.Scenario) string {
	names := slices.SortedFunc(maps.Keys(s.Errors), func(a, b string) int {
		if s.Errors[a] != s.Errors[b] {
			return int(s.Errors[b] - s.Errors[a])
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d × %s", s.Errors[name], name))
	}
	if s.Cut > 0 {
		parts = append(parts, fmt.Sprintf("%d cut", s.Cut))
	}
	return strings.Join(parts, ", ")
}

func checkOf(c result.Check) string {
	switch {
	case c.Error != "":
		return "WRONG: no check"
	case c.Total > 0:
		return fmt.Sprintf("WRONG: %d", c.Total)
	case !c.Done:
		return "not done"
	default:
		return "ok"
	}
}

// Table writes a result for a terminal: first the notes, then the columns of the books, users,
// errors and the check. Each time has its unit. The steps of a scenario are indented below it.
func Table(w io.Writer, r *result.Result) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s · %s\n", titleOf(r), strings.Join(summary(r), " · "))
	for _, n := range Notes(r) {
		fmt.Fprintf(b, "%s: %s\n", n.Level, n.Text)
	}
	b.WriteByte('\n')
	head := slices.Clone(columns)
	head[slices.Index(head, runtimeColumn)] = "runtime"
	lines := [][]string{head}
	for _, row := range rows(r, readTimes) {
		if row.step {
			row.cells[0] = "  " + row.cells[0]
		}
		lines = append(lines, row.cells)
	}
	grid(b, lines, len(columns)-2)
	if r.Limit != nil {
		fmt.Fprintf(b, "\nGreatest load: %s\n\n", limitText(r.Limit))
		grid(b, append([][]string{probeColumns}, probeLines(r.Limit)...), len(probeColumns)-1)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grid aligns cells. The first column and the columns from the index texts on hold text, which is
// aligned to the left. The others hold numbers, which are aligned to the right. Empty columns are
// left out.
func grid(b *strings.Builder, lines [][]string, texts int) {
	widths := make([]int, len(lines[0]))
	empty := make([]bool, len(widths))
	for i := range widths {
		empty[i] = true
		for n, cells := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[i]))
			empty[i] = empty[i] && (n == 0 || cells[i] == "")
		}
	}
	for _, cells := range lines {
		line := ""
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case empty[i]:
			case i == 0:
				line += cell + pad
			case i >= texts:
				line += "  " + cell + pad
			default:
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func titleOf(r *result.Result) string {
	if r.Title != "" {
		return r.Title
	}
	return "simulation"
}

// summary says in few words where and when a run took place.
func summary(r *result.Result) (out []string) {
	out = append(out, strings.TrimSpace(r.Environment.Server+" "+r.Environment.ServerVersion))
	if r.Environment.Target != "" {
		out = append(out, r.Environment.Target)
	}
	out = append(out, fmt.Sprintf("%.1f s for a schedule of %.1f s", r.RuntimeSeconds, r.ScheduleSeconds))
	if !r.Started.IsZero() {
		out = append(out, r.Started.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
