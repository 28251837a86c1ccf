package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results holds the results of a run.
type results struct {
	Environment environment        `json:"environment"`
	Workloads   []workloadResult   `json:"workloads"`
	Resources   map[string]float64 `json:"resources"`
	Claims      []verdict          `json:"claims"`

	page page
}

// page names the files and the places in a page to which the results of a run are written.
type page struct {
	// file is the name of the written files without extension. picture is the name of the chart in
	// the page's directory. If picture is empty, the chart is named after the page.
	file, picture string
	// begin and end are the comments in the page between which the tables are written.
	begin, end string
}

var (
	resultsPage  = page{"results", "", "<!-- results: written by bench -page -->\n", "<!-- end of results -->"}
	patternsPage = page{
		"patterns", "patterns.svg",
		"<!-- patterns: written by bench -patterns -page -->\n", "<!-- end of patterns -->",
	}
)

type workloadResult struct {
	workload
	Unit  string             `json:"unit"`
	Sides map[string]*figure `json:"sides"`
}

// environment describes the machine, the versions and the settings of a run.
type environment struct {
	Date      string            `json:"date"`
	Command   []string          `json:"command"`
	Documents int               `json:"documents"`
	Duration  string            `json:"duration"`
	Rounds    int               `json:"rounds"`
	Go        string            `json:"go"`
	Platform  string            `json:"platform"`
	Cores     int               `json:"cores"`
	Cgo       string            `json:"cgo,omitempty"`
	Machine   map[string]string `json:"machine"`
	Revision  string            `json:"revision,omitempty"`
	Postgres  string            `json:"postgres"`
	LoadStart string            `json:"load_average_before,omitempty"`
	LoadEnd   string            `json:"load_average_after,omitempty"`
	Elapsed   string            `json:"elapsed"`
}

func newEnvironment(ctx context.Context, r *runner) environment {
	e := environment{
		Date:      time.Now().UTC().Format("2006-01-02 15:04 MST"),
		Command:   os.Args[1:],
		Documents: r.data.size,
		Duration:  r.duration.String(),
		Rounds:    r.rounds,
		Go:        runtime.Version(),
		Platform:  runtime.GOOS + "/" + runtime.GOARCH,
		Cores:     runtime.GOMAXPROCS(0),
		Machine:   machine(),
		LoadStart: loadAverage(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "CGO_ENABLED" {
				e.Cgo = s.Value
			}
		}
	}
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		e.Revision = strings.TrimSpace(string(out))
	}
	return e
}

// end records the duration of the run and the load of the machine at its end.
func (e *environment) end(begin time.Time) {
	e.LoadEnd = loadAverage()
	e.Elapsed = time.Since(begin).Round(time.Second).String()
}

// figure returns the figures of a workload on a side, or nil if it was not measured.
func (r *results) figure(workload, side string) *figure {
	for _, w := range r.Workloads {
		if w.Name == workload {
			return w.Sides[side]
		}
	}
	return nil
}

// sides returns the names of the sides that ran at least one workload, in the order of the columns.
func (r *results) sides() []string {
	return slices.DeleteFunc(slices.Clone(sideOrder), func(name string) bool {
		return !slices.ContainsFunc(r.Workloads, func(w workloadResult) bool { return w.Sides[name] != nil })
	})
}

// write writes the tables, the figures and the chart to a directory.
func (r *results) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	asJSON, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	var md strings.Builder
	r.markdown(&md)
	files := map[string]string{
		".json": string(asJSON) + "\n", ".md": md.String(),
		".svg": chart(r.Claims, r.Environment.Date),
	}
	for extension, text := range files {
		if err := os.WriteFile(filepath.Join(dir, r.page.file+extension), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writePage replaces the tables of a Markdown page, and the chart in the page's directory.
func (r *results) writePage(path string) error {
	var md strings.Builder
	picture := strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
	if r.page.picture != "" {
		picture = filepath.Join(filepath.Dir(path), r.page.picture)
		fmt.Fprintf(&md, "![Ratios beside their targets](%s)\n\n", r.page.picture)
	}
	r.markdown(&md)
	if err := replaceBetween(path, r.page.begin, r.page.end, md.String()); err != nil {
		return err
	}
	return os.WriteFile(picture, []byte(chart(r.Claims, r.Environment.Date)), 0o644)
}

// replaceBetween replaces the text between two marks in a file.
func replaceBetween(path, begin, end, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, okEnd := strings.Cut(rest, end)
	if !ok || !okEnd {
		return fmt.Errorf("%s lacks the marks %q and %q", path, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+text+end+after), 0o644)
}

// markdown writes the environment and the tables as Markdown.
func (r *results) markdown(w io.Writer) {
	e := r.Environment
	fmt.Fprintf(w, "%s · %s, %d cores, %s, %s · %s · Sheaf %s · PostgreSQL %s", e.Date, e.Platform, e.Cores,
		e.Machine["cpu"], e.Machine["memory"], e.Go, e.Revision, e.Postgres)
	if r.page != patternsPage {
		fmt.Fprintf(w, " · %d documents", e.Documents)
	}
	fmt.Fprintf(w, " · %d rounds of %s · load average %s before, %s after · took %s\n\n", e.Rounds, e.Duration, e.LoadStart, e.LoadEnd, e.Elapsed)
	r.claimTable(w)
	r.workloadTable(w)
	r.latencyTable(w)
	if r.page == patternsPage {
		r.explain(w)
	}
}

func (r *results) claimTable(w io.Writer) {
	fmt.Fprint(w, "| claim | target | measured | |\n|---|---|---|---|\n")
	group := ""
	for _, v := range r.Claims {
		if v.Group != group {
			group = v.Group
			fmt.Fprintf(w, "| **%s** | | | |\n", group)
		}
		sign := "≥"
		if v.AtMost {
			sign = "≤"
		}
		measured := "–"
		if v.Measured != nil {
			measured = quantity(*v.Measured, v.Unit)
		}
		fmt.Fprintf(w, "| %s | %s %s | %s | %s |\n", v.Name, sign, quantity(v.Target, v.Unit), measured, v.Verdict)
	}
	fmt.Fprintln(w)
}

// workloadTable writes a table with a row for each workload and a column for each side. A cell has
// the rate and, for servers, the processor time of an operation in µs.
func (r *results) workloadTable(w io.Writer) {
	sides := r.sides()
	fmt.Fprint(w, "| workload | writes | c |")
	rule := "|---|---|---|"
	for _, s := range sides {
		fmt.Fprintf(w, " %s /s |", s)
		rule += "---|"
	}
	fmt.Fprintf(w, "\n%s\n", rule)
	for _, row := range r.Workloads {
		fmt.Fprintf(w, "| %s | %s | %d |", row.Name, cmp.Or(row.Concern, "–"), row.Clients)
		for _, s := range sides {
			fmt.Fprintf(w, " %s |", cell(row.Sides[s]))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// latencyTable writes a row for each workload and side: the quantiles of the latency, and the peak
// memory of the side.
func (r *results) latencyTable(w io.Writer) {
	fmt.Fprint(w, "| workload | writes | side | /s | p50 µs | p99 µs | p99.9 µs | peak MB | budget MB |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, row := range r.Workloads {
		for _, name := range sideOrder {
			f := row.Sides[name]
			if f == nil || f.Error != "" {
				continue
			}
			l := f.Latencies
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", row.Name, cmp.Or(row.Concern, "–"), name,
				number(f.Rate), number(l.P50), number(l.P99), number(l.P999), known(f.PeakMB), known(f.BudgetMB))
		}
	}
	fmt.Fprintln(w)
}

// known formats a number, or a dash for 0, which means unknown.
func known(v float64) string {
	if v == 0 {
		return "–"
	}
	return number(v)
}

// explain writes a line that describes each workload.
func (r *results) explain(w io.Writer) {
	for _, row := range r.Workloads {
		fmt.Fprintf(w, "- %s: %s.\n", row.Name, row.Op)
	}
}

// printRow writes the figures of a workload in one line.
func printRow(w io.Writer, row workloadResult) {
	fmt.Fprintf(w, "%-30s", row.Name)
	for _, name := range sideOrder {
		if f := row.Sides[name]; f != nil {
			fmt.Fprintf(w, "  %s %s p99 %s", name, cell(f), number(f.Latencies.P99))
			if f.BudgetMB > 0 {
				fmt.Fprintf(w, " peak %s/%s MB", number(f.PeakMB), number(f.BudgetMB))
			}
		}
	}
	fmt.Fprintln(w)
}

func cell(f *figure) string {
	switch {
	case f == nil:
		return "–"
	case f.Error != "":
		return "failed"
	case f.CPUMicros == nil:
		return number(f.Rate)
	default:
		return fmt.Sprintf("%s (%s µs)", number(f.Rate), number(*f.CPUMicros))
	}
}

func quantity(v float64, unit string) string {
	switch unit {
	case "x":
		return fmt.Sprintf("%.2fx", v)
	case "", "/s":
		return number(v) + unit
	default:
		return number(v) + " " + unit
	}
}

// number formats a number: 1234567 as 1,234,567, and a number below 100 with a decimal.
func number(v float64) string {
	if v < 100 {
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	}
	digits := strconv.FormatInt(int64(v+0.5), 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
