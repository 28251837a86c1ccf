package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"time"
)

const (
	// aggTimeout is the longest time that a side may take for one query.
	aggTimeout = 3 * time.Minute
	// memoryInterval is the time between two readings of the memory while a query runs.
	memoryInterval = 20 * time.Millisecond
	megabytes      = 1 << 20
)

// aggFigure holds the measurements of one query on one side.
type aggFigure struct {
	// Rate is the median of Rounds, in documents per second.
	Rate   float64   `json:"documents_per_second,omitempty"`
	Rounds []float64 `json:"rounds,omitempty"`
	// Took holds the time from query to answer for each round, in milliseconds.
	Took []float64 `json:"took_ms,omitempty"`
	// PeakMB is the largest private memory of the side's processes during the query. The embedded
	// side runs in this process, so its figure includes the drivers of all sides and the generated
	// orders.
	PeakMB float64 `json:"peak_mb,omitempty"`
	// Allocs is the number of allocations per document. It is measured only for sides in this
	// process.
	Allocs float64 `json:"allocs_per_document,omitempty"`
	Error  string  `json:"error,omitempty"`

	first answer
}

// aggRow is a row of the table: a query with its figures on all sides.
type aggRow struct {
	aggWorkload
	Sides map[string]*aggFigure `json:"sides"`
}

// aggResults holds the results of a run of the aggregation benchmark.
type aggResults struct {
	Environment environment `json:"environment"`
	Rows        []aggRow    `json:"workloads"`
	Claims      []verdict   `json:"claims"`
}

// aggRunner runs the same queries on all sides.
type aggRunner struct {
	data     orders
	rounds   int
	settler  *runner // used only for its method settle, which waits between queries
	sides    []aggSide
	progress io.Writer
}

// benchAgg runs the aggregation benchmark: it starts the sides, loads the orders and runs the
// queries.
func benchAgg(ctx context.Context, cfg *config, progress io.Writer) (_ *aggResults, err error) {
	begin := time.Now()
	at, err := newWorkplace(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	settler := &runner{
		data: dataset{size: cfg.documents}, rounds: cfg.rounds,
		patience: cfg.patience, progress: progress,
	}
	res := &aggResults{Environment: newEnvironment(ctx, settler)}
	r := &aggRunner{data: orders{cfg.documents}, rounds: cfg.rounds, settler: settler, progress: progress}
	defer func() {
		for _, s := range r.sides {
			err = errors.Join(err, s.close())
		}
	}()
	if res.Environment.Postgres, err = r.start(ctx, cfg, at); err != nil {
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
	res.Environment.end(begin)
	res.Claims = judgeAgg(res.Rows)
	return res, nil
}

// start starts the sides. It returns PostgreSQL's version, or the reason why PostgreSQL is missing.
func (r *aggRunner) start(ctx context.Context, cfg *config, at *workplace) (string, error) {
	p, err := startSheaf(at.binary, filepath.Join(at.dir, "served"), cfg.budget)
	if err != nil {
		return "", err
	}
	served, err := servedSide(sideSheaf, p, concernUnsynced)
	if err != nil {
		return "", err
	}
	r.sides = append(r.sides, served)
	embedded, err := embeddedSide(filepath.Join(at.dir, "embedded"), concernUnsynced)
	if err != nil {
		return "", err
	}
	r.sides = append(r.sides, embedded)
	r.settler.sides = []side{served, embedded}
	version, err := r.settler.startPostgres(ctx, cfg, at.dir)
	if err != nil {
		return version, err
	}
	if postgres, ok := r.settler.sides[len(r.settler.sides)-1].(*postgresSide); ok {
		r.sides = append(r.sides, postgres)
	}
	return version, nil
}

// run runs a query on all sides: first in one round to warm up, and then in r.rounds measured
// rounds. Each round begins with another side.
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

// measure runs a query once on one side. It always updates the peak memory in f, but the other
// figures only if counts is true.
func (r *aggRunner) measure(ctx context.Context, w aggWorkload, s aggSide, f *aggFigure, counts bool) error {
	ctx, cancel := context.WithTimeout(ctx, aggTimeout)
	defer cancel()
	r.settler.settle(ctx)
	stop := watchMemory(peakOf(s), &f.PeakMB)
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
		f.Took = append(f.Took, float64(elapsed.Microseconds())/1000)
		f.Allocs = float64(after.Mallocs-before.Mallocs) / documents
	}
	return nil
}

// watchMemory raises peak whenever the memory of the processes is greater, until the returned
// function is called.
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

// compareAnswers sets an error for every side whose answer differs from PostgreSQL's answer.
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
