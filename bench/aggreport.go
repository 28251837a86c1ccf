package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// These are the targets of the aggregation benchmark.
const (
	aggTarget = 1.0 // for every query, the least ratio of the rates of Sheaf and PostgreSQL
	// groupName is the query whose rate also has a target. groupTarget is that target in documents
	// per second.
	groupName   = "group"
	groupTarget = 1_500_000.0
)

const groupAgg = "Pipelines beside PostgreSQL"

// judgeAgg compares the measured rates with the targets.
func judgeAgg(rows []aggRow) []verdict {
	var verdicts []verdict
	add := func(name string, target, measured float64, unit string) {
		v := verdict{
			Name: name, Group: groupAgg, Target: target, Unit: unit,
			Measured: &measured, Verdict: verdictShort,
		}
		if measured >= target {
			v.Verdict = verdictOK
		}
		verdicts = append(verdicts, v)
	}
	for _, row := range rows {
		sheaf, postgres := row.Sides[sideSheaf], row.Sides[sidePostgres]
		if sheaf.ok() && postgres.ok() {
			add(row.Name+" ÷ PostgreSQL", aggTarget, sheaf.Rate/postgres.Rate, "x")
		}
		if row.Name == groupName && sheaf.ok() {
			add("plain group", groupTarget, sheaf.Rate, "/s")
		}
	}
	return verdicts
}

// write writes aggregation.md, aggregation.json and aggregation.svg to a directory.
func (res *aggResults) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	asJSON, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	var md strings.Builder
	res.markdown(&md)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "aggregation.json"), append(asJSON, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "aggregation.md"), []byte(md.String()), 0o644),
		res.draw(dir),
	)
}

// aggPageBegin and aggPageEnd are the comments in a Markdown page between which the
// aggregation table is written.
const (
	aggPageBegin = "<!-- aggregation: written by bench -agg -page -->\n"
	aggPageEnd   = "<!-- end of aggregation -->"
)

// aggPicture is the file name of the chart.
const aggPicture = "aggregation.svg"

// draw writes the chart to a directory.
func (res *aggResults) draw(dir string) error {
	return os.WriteFile(filepath.Join(dir, aggPicture), []byte(chart(res.Claims, res.Environment.Date)), 0o644)
}

// writePage replaces the aggregation table in a Markdown page, and the picture of the chart in the
// same directory.
func (res *aggResults) writePage(path string) error {
	var md strings.Builder
	fmt.Fprintf(&md, "![Pipelines beside SQL](%s)\n\n", aggPicture)
	res.markdown(&md)
	return errors.Join(replaceBetween(path, aggPageBegin, aggPageEnd, md.String()), res.draw(filepath.Dir(path)))
}

// markdown writes the environment, the tables and the targets as Markdown.
func (res *aggResults) markdown(w io.Writer) {
	e := res.Environment
	fmt.Fprintf(w, "%s · %s, %d cores, %s, %s · %s · Sheaf %s · PostgreSQL %s · %s orders, median of %d · load average %s before, %s after · took %s\n\n",
		e.Date, e.Platform, e.Cores, e.Machine["cpu"], e.Machine["memory"], e.Go, e.Revision, e.Postgres,
		number(float64(e.Documents)), e.Rounds, e.LoadStart, e.LoadEnd, e.Elapsed)
	fmt.Fprint(w, "| workload | Sheaf documents/s | PostgreSQL documents/s | ratio | embedded documents/s | allocations/doc | Sheaf peak MB | PostgreSQL peak MB | embedded peak MB |\n|---|---|---|---|---|---|---|---|---|\n")
	for i := range res.Rows {
		fmt.Fprintln(w, res.Rows[i].line())
	}
	fmt.Fprintf(w, "\nHow long a question takes, p50 / p99 / p99.9 of %d rounds in ms:\n\n", e.Rounds)
	fmt.Fprint(w, "| workload | Sheaf | PostgreSQL | embedded |\n|---|---|---|---|\n")
	for i := range res.Rows {
		fmt.Fprintln(w, res.Rows[i].latencies())
	}
	fmt.Fprintln(w)
	for _, v := range res.Claims {
		if v.Unit != "x" {
			fmt.Fprintf(w, "Goal for the %s: at least %s. Measured: %s (%s).\n\n", v.Name, quantity(v.Target, v.Unit),
				quantity(*v.Measured, v.Unit), v.Verdict)
		}
	}
	for i := range res.Rows {
		fmt.Fprintf(w, "- %s: %s.\n", res.Rows[i].Name, res.Rows[i].What)
	}
}

// line returns the row of a query in the table of rates. The cells of a side that failed say
// "missing".
func (row *aggRow) line() string {
	sheaf, postgres, embedded := row.Sides[sideSheaf], row.Sides[sidePostgres], row.Sides[sideEmbedded]
	ratio := "–"
	if sheaf.ok() && postgres.ok() {
		ratio = quantity(sheaf.Rate/postgres.Rate, "x")
	}
	value := func(f *aggFigure, v func() float64) string {
		switch {
		case f == nil:
			return "–"
		case f.Error != "":
			return "missing"
		}
		return number(v())
	}
	return "| " + strings.Join([]string{
		row.Name,
		value(sheaf, func() float64 { return sheaf.Rate }),
		value(postgres, func() float64 { return postgres.Rate }),
		ratio,
		value(embedded, func() float64 { return embedded.Rate }),
		value(embedded, func() float64 { return embedded.Allocs }),
		value(sheaf, func() float64 { return sheaf.PeakMB }),
		value(postgres, func() float64 { return postgres.PeakMB }),
		value(embedded, func() float64 { return embedded.PeakMB }),
	}, " | ") + " |"
}

// latencies returns the row of a query in the table of times.
func (row *aggRow) latencies() string {
	cells := []string{row.Name}
	for _, side := range []string{sideSheaf, sidePostgres, sideEmbedded} {
		f := row.Sides[side]
		if !f.ok() || len(f.Took) == 0 {
			cells = append(cells, "–")
			continue
		}
		sorted := slices.Sorted(slices.Values(f.Took))
		at := func(q float64) string { return number(sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]) }
		cells = append(cells, at(0.5)+" / "+at(0.99)+" / "+at(0.999))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

func (f *aggFigure) ok() bool { return f != nil && f.Error == "" && f.Rate > 0 }
