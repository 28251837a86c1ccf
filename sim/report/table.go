package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/sim/result"
)

// columns are those of the books, and what tells whether the figures count.
var columns = []string{
	"scenario", "runtime s", "mean", "std dev", "p75", "p95", "p99", "min", "max", "users", "ok", "failed", "errors", "check",
}

// row is a line of a table: a scenario, or a step of one.
type row struct {
	step  bool
	cells []string
}

// rows are the lines of a result in the order of columns. Times are milliseconds. Steps follow their scenario.
func rows(r *result.Result) (out []row) {
	for _, s := range r.Scenarios {
		cells := append([]string{s.Label, fixed(s.RuntimeSeconds)}, times(s.Latency)...)
		out = append(out, row{cells: append(cells,
			strconv.FormatInt(s.Started, 10), strconv.FormatInt(s.Succeeded, 10), strconv.FormatInt(s.Failed, 10), errorsOf(s), checkOf(s.Check))})
		for _, name := range slices.Sorted(maps.Keys(s.Steps)) {
			t := s.Steps[name]
			cells := append([]string{name, ""}, times(t)...)
			out = append(out, row{step: true, cells: append(cells, "", strconv.FormatInt(t.Count(), 10), "", "", "")})
		}
	}
	return out
}

// times are mean to max, in milliseconds.
func times(t *result.Timing) []string {
	if t == nil || t.Count() == 0 {
		return slices.Repeat([]string{"–"}, 7)
	}
	out := []string{}
	for _, v := range timesOf(t) {
		out = append(out, fixed(v))
	}
	return out
}

// timesOf are the times that the books tell, in milliseconds: mean, deviation, p75, p95, p99, min, max.
func timesOf(t *result.Timing) [7]float64 {
	return [7]float64{
		result.Millis(t.Mean()), result.Millis(t.StdDev()), result.Millis(t.Percentile(75)), result.Millis(t.Percentile(95)), result.Millis(t.Percentile(99)),
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

// Table writes a result for a terminal: what must be known first, then the columns of the books (runtime in seconds, all else in milliseconds), users,
// errors and the check. Steps of a scenario stand below it, indented.
func Table(w io.Writer, r *result.Result) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s · %s\n", titleOf(r), strings.Join(summary(r), " · "))
	for _, n := range Notes(r) {
		fmt.Fprintf(b, "%s: %s\n", n.Level, n.Text)
	}
	b.WriteByte('\n')
	lines := [][]string{columns}
	for _, row := range rows(r) {
		if row.step {
			row.cells[0] = "  " + row.cells[0]
		}
		lines = append(lines, row.cells)
	}
	grid(b, lines, len(columns)-2)
	b.WriteString("\nRuntime in seconds, all other times in milliseconds.\n")
	if r.Limit != nil {
		fmt.Fprintf(b, "\nGreatest load: %s\n\n", limitText(r.Limit))
		grid(b, append([][]string{probeColumns}, probeLines(r.Limit)...), len(probeColumns)-1)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grid aligns cells: the first column and those from the column texts on to the left, numbers to the right. Columns in which there is nothing are left out.
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

// summary is where and when a run took place, in few words.
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
