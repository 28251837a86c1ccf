package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// aggTimeout ends a question that a side takes too long for.
	aggTimeout = 3 * time.Minute
	// memoryInterval is how often memory is read while a question runs.
	memoryInterval = 20 * time.Millisecond
	megabytes      = 1 << 20
)

// aggFigure is what a side needed for a question.
type aggFigure struct {
	// Rate is the median of the rounds, in documents per second.
	Rate   float64   `json:"documents_per_second,omitempty"`
	Rounds []float64 `json:"rounds,omitempty"`
	// PeakMB is the most private memory of the side's processes while it worked.
	PeakMB float64 `json:"peak_mb,omitempty"`
	// Allocs are the allocations of the process per document, of sides in this process.
	Allocs float64 `json:"allocs_per_document,omitempty"`
	Error  string  `json:"error,omitempty"`

	first answer
}

// aggRow is a line of the table.
type aggRow struct {
	aggWorkload
	Sides map[string]*aggFigure `json:"sides"`
}

// aggResults are everything that a run of the aggregation benchmark found.
type aggResults struct {
	Environment environment `json:"environment"`
	Rows        []aggRow    `json:"workloads"`
}

// aggRunner asks every side the same questions.
type aggRunner struct {
	data     orders
	rounds   int
	settler  *runner // waits between questions
	sides    []aggSide
	progress io.Writer
}

// benchAgg does the whole run.
func benchAgg(ctx context.Context, cfg *config, progress io.Writer) (_ *aggResults, err error) {
	begin := time.Now()
	temp, err := os.MkdirTemp(cfg.temp, "sheaf-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	// PostgreSQL runs as another user and must get through to its directory.
	if err := os.Chmod(temp, 0o755); err != nil {
		return nil, err
	}
	binary, err := buildSheaf(ctx, temp)
	if err != nil {
		return nil, err
	}
	settler := &runner{data: dataset{size: cfg.documents}, rounds: cfg.rounds, patience: cfg.patience, progress: progress}
	res := &aggResults{Environment: newEnvironment(ctx, settler)}
	r := &aggRunner{data: orders{cfg.documents}, rounds: cfg.rounds, settler: settler, progress: progress}
	defer func() {
		for _, s := range r.sides {
			err = errors.Join(err, s.close())
		}
	}()
	if res.Environment.Postgres, err = r.start(ctx, cfg, binary, temp); err != nil {
		return nil, err
	}
	for _, s := range r.sides {
		loading := time.Now()
		if err := s.loadOrders(ctx, r.data); err != nil {
			return nil, fmt.Errorf("load %s: %w", s.name(), err)
		}
		fmt.Fprintf(progress, "loaded %-12s %6.1f s\n", s.name(), time.Since(loading).Seconds())
	}
	for _, w := range aggWorkloads {
		if !cfg.run.MatchString(w.Name) {
			continue
		}
		row := r.run(ctx, w)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		res.Rows = append(res.Rows, row)
		fmt.Fprintln(progress, row.line())
	}
	res.Environment.LoadEnd = loadAverage()
	res.Environment.Elapsed = time.Since(begin).Round(time.Second).String()
	return res, nil
}

// start adds the sides and returns PostgreSQL's version, or why there is none.
func (r *aggRunner) start(ctx context.Context, cfg *config, binary, temp string) (string, error) {
	p, err := startSheaf(binary, filepath.Join(temp, "served"))
	if err != nil {
		return "", err
	}
	served, err := servedSide(sideSheaf, p)
	if err != nil {
		return "", err
	}
	r.sides = append(r.sides, served)
	embedded, err := embeddedSide(filepath.Join(temp, "embedded"))
	if err != nil {
		return "", err
	}
	r.sides = append(r.sides, embedded)
	r.settler.sides = []side{served, embedded}
	version, err := r.settler.startPostgres(ctx, cfg, temp)
	if err != nil {
		return version, err
	}
	if postgres, ok := r.settler.sides[len(r.settler.sides)-1].(*postgresSide); ok {
		r.sides = append(r.sides, postgres)
	}
	return version, nil
}

// run asks all sides a question, so many times after once to warm up, each round beginning with another side.
func (r *aggRunner) run(ctx context.Context, w aggWorkload) aggRow {
	row := aggRow{aggWorkload: w, Sides: map[string]*aggFigure{}}
	for round := range r.rounds + 1 {
		for i := range r.sides {
			s := r.sides[(i+round)%len(r.sides)]
			f := row.Sides[s.name()]
			if f == nil {
				f = &aggFigure{}
				row.Sides[s.name()] = f
			}
			if f.Error != "" || ctx.Err() != nil {
				continue
			}
			if err := r.measure(ctx, w, s, f, round > 0); err != nil {
				f.Error = err.Error()
				fmt.Fprintf(r.progress, "%s, %s: %v\n", w.Name, s.name(), err)
			}
		}
	}
	for _, f := range row.Sides {
		f.Rate = median(f.Rounds)
	}
	row.compareAnswers()
	return row
}

// measure asks one side once.
func (r *aggRunner) measure(ctx context.Context, w aggWorkload, s aggSide, f *aggFigure, counts bool) error {
	ctx, cancel := context.WithTimeout(ctx, aggTimeout)
	defer cancel()
	r.settler.settle(ctx)
	stop := watchMemory(s.processes(), &f.PeakMB)
	var before, after runtime.MemStats
	if s.local() {
		runtime.ReadMemStats(&before)
	}
	begin := time.Now()
	got, err := s.ask(ctx, w)
	elapsed := time.Since(begin)
	if s.local() {
		runtime.ReadMemStats(&after)
	}
	stop()
	if err != nil {
		return err
	}
	if w.rows != 0 && got.rows != w.rows {
		return fmt.Errorf("%d rows, not %d", got.rows, w.rows)
	}
	documents := float64(r.data.size) * w.Share
	f.first = got
	if counts {
		f.Rounds = append(f.Rounds, documents/elapsed.Seconds())
		f.Allocs = float64(after.Mallocs-before.Mallocs) / documents
	}
	return nil
}

// watchMemory raises peak to what the processes take, until the function that it returns is called.
func watchMemory(pids []int, peak *float64) func() {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(memoryInterval)
		defer tick.Stop()
		for len(pids) > 0 {
			*peak = max(*peak, float64(privateBytes(pids))/megabytes)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// compareAnswers marks every side whose answer differs from that of the first one.
func (row *aggRow) compareAnswers() {
	first := row.Sides[sidePostgres]
	if first == nil || first.Error != "" {
		return
	}
	for _, f := range row.Sides {
		a, b := f.first, first.first
		if f.Error == "" && (a.rows != b.rows || math.Abs(a.total-b.total) > 1e-9*math.Abs(b.total)) {
			f.Error = fmt.Sprintf("wrong answer: %d rows, total %v, not %d and %v", a.rows, a.total, b.rows, b.total)
		}
	}
}

// write puts aggregation.md and aggregation.json into a directory.
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
	)
}

// The marks between which a page keeps the table of the aggregation benchmark.
const (
	aggPageBegin = "<!-- aggregation: written by bench -agg -page -->\n"
	aggPageEnd   = "<!-- end of aggregation -->"
)

// writePage replaces the table of a Markdown page.
func (res *aggResults) writePage(path string) error {
	var md strings.Builder
	res.markdown(&md)
	return replaceBetween(path, aggPageBegin, aggPageEnd, md.String())
}

// markdown writes the table.
func (res *aggResults) markdown(w io.Writer) {
	e := res.Environment
	fmt.Fprintf(w, "%s · %s, %d cores, %s, %s · %s · Sheaf %s · PostgreSQL %s · %s orders, median of %d · load average %s before, %s after · took %s\n\n",
		e.Date, e.Platform, e.Cores, e.Machine["cpu"], e.Machine["memory"], e.Go, e.Revision, e.Postgres,
		number(float64(e.Documents)), e.Rounds, e.LoadStart, e.LoadEnd, e.Elapsed)
	fmt.Fprint(w, "| workload | Sheaf docs/s | PostgreSQL docs/s | ratio | embedded docs/s | allocations/doc | Sheaf peak MB | PostgreSQL peak MB |\n|---|---|---|---|---|---|---|---|\n")
	for i := range res.Rows {
		fmt.Fprintln(w, res.Rows[i].line())
	}
	fmt.Fprintln(w)
	for i := range res.Rows {
		fmt.Fprintf(w, "- %s: %s.\n", res.Rows[i].Name, res.Rows[i].What)
	}
}

// line is the row of the table. A question that the side answers with an error is missing.
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
	}, " | ") + " |"
}

func (f *aggFigure) ok() bool { return f != nil && f.Error == "" && f.Rate > 0 }
