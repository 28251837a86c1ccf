package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// settleWindow is the time over which settle measures the processor time of the processes.
	settleWindow = 100 * time.Millisecond
	// settleShare is the part of one processor that the processes use at most when they count as
	// quiet.
	settleShare = 0.15
	// warmShare is the ratio of the measured time to the time for warming up.
	warmShare = 10
)

// sample holds the figures of one measurement.
type sample struct {
	rate float64
	// cpu is the server's processor time per unit in µs, during the measurement. settled also
	// includes the work of the server after the measurement, until the server is quiet.
	cpu, settled float64
	hasCPU       bool
	allocs       float64
	latencies    latencies
	// peak is the peak resident memory of the side's processes in bytes. It is 0 if it is unknown.
	peak int64
}

// figure holds the results of a workload on a side. Its numbers are medians over the rounds, except
// for the peak of memory.
type figure struct {
	Rate float64 `json:"per_second"`
	// Rates holds the rate of each round.
	Rates []float64 `json:"rounds"`
	// CPUMicros is the server's processor time per document or operation. It is nil if it is
	// unknown.
	CPUMicros *float64 `json:"server_cpu_us,omitempty"`
	// SettledCPUMicros is CPUMicros with the server's work after the measurement, until the server
	// is quiet.
	SettledCPUMicros *float64 `json:"server_cpu_us_settled,omitempty"`
	// Allocs is the number of allocations of this process per operation. It is nil for sides in
	// other processes.
	Allocs *float64 `json:"allocs,omitempty"`
	// Latencies holds for each quantile the median over the rounds.
	Latencies latencies `json:"latencies"`
	// PeakMB is the peak of resident memory in the worst round, in megabytes. BudgetMB is the
	// memory budget of the server.
	PeakMB   float64 `json:"peak_mb,omitempty"`
	BudgetMB float64 `json:"budget_mb,omitempty"`
	Error    string  `json:"error,omitempty"`
}

// runner measures workloads on sides.
type runner struct {
	data     dataset
	sides    []side
	duration time.Duration
	rounds   int
	// patience is the longest time for which settle waits.
	patience time.Duration
	progress io.Writer
	ids      atomic.Int64
	popular  *zipf
}

func newRunner(cfg *config, progress io.Writer) *runner {
	return &runner{
		data: dataset{size: cfg.documents}, duration: cfg.duration, rounds: cfg.rounds,
		patience: cfg.patience, progress: progress,
		popular: newZipf(cfg.documents),
	}
}

// load loads the documents into all sides, one after the other.
func (r *runner) load(ctx context.Context) error {
	for _, s := range r.sides {
		begin := time.Now()
		if err := s.load(ctx, r.data); err != nil {
			return fmt.Errorf("load %s: %w", s.name(), err)
		}
		fmt.Fprintf(r.progress, "loaded %-12s %6.1f s\n", s.name(), time.Since(begin).Seconds())
	}
	return nil
}

// run measures a workload on all sides that support the workload.
func (r *runner) run(ctx context.Context, w workload) (map[string]*figure, error) {
	takesPart := func(s side) bool { return s.do(w.Op) != nil && (!s.local() || w.Embedded) }
	return r.inRounds(ctx, w.Name, takesPart, func(s side) (sample, error) { return r.measure(ctx, w, s, s.do(w.Op)) })
}

// inRounds calls measure in each round for each side that takes part. After an error of a side it
// skips that side in later rounds. name is only for messages.
func (r *runner) inRounds(ctx context.Context, name string, takesPart func(side) bool,
	measure func(side) (sample, error),
) (map[string]*figure, error) {
	samples := map[string][]sample{}
	figures := map[string]*figure{}
	budgets := map[string]int64{}
	for round := range r.rounds {
		for i := range r.sides {
			// Each round begins with another side, because the first side has the coldest caches.
			s := r.sides[(i+round)%len(r.sides)]
			if f := figures[s.name()]; !takesPart(s) || (f != nil && f.Error != "") {
				continue
			}
			one, err := measure(s)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				figures[s.name()] = &figure{Error: err.Error()}
				fmt.Fprintf(r.progress, "%s, %s: %v\n", name, s.name(), err)
				continue
			}
			figures[s.name()] = &figure{}
			samples[s.name()] = append(samples[s.name()], one)
			budgets[s.name()] = s.budget()
		}
	}
	for name, f := range figures {
		if f.Error == "" {
			summarise(f, samples[name])
			f.BudgetMB = float64(budgets[name]) / megabyte
		}
	}
	return figures, nil
}

// summarise sets the figures to the medians of the samples.
func summarise(f *figure, samples []sample) {
	var cpus, settled, allocs []float64
	for _, s := range samples {
		f.Rates = append(f.Rates, s.rate)
		if s.hasCPU {
			cpus = append(cpus, s.cpu)
			settled = append(settled, s.settled)
		}
		if s.allocs > 0 {
			allocs = append(allocs, s.allocs)
		}
		f.PeakMB = max(f.PeakMB, float64(s.peak)/megabyte)
	}
	f.Rate = median(f.Rates)
	f.Latencies = medianLatencies(samples)
	f.CPUMicros, f.SettledCPUMicros, f.Allocs = medianOf(cpus), medianOf(settled), medianOf(allocs)
}

func medianOf(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	m := median(v)
	return &m
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// measure runs a workload on one side for the configured time.
func (r *runner) measure(ctx context.Context, w workload, s side,
	do func(context.Context, *worker) error,
) (sample, error) {
	if err := s.prepare(ctx, w.Op); err != nil {
		return sample{}, err
	}
	workers, err := r.workers(w.Clients, uint64(r.ids.Load()))
	if err != nil {
		return sample{}, err
	}
	if _, _, err := drive(ctx, workers, r.duration/warmShare, do); err != nil {
		return sample{}, err
	}
	r.settle(ctx)

	var before, after runtime.MemStats
	if s.local() {
		runtime.ReadMemStats(&before)
	}
	resetPeak(peakOf(s))
	cpu, hasCPU := cpuTime(s.processes())
	ops, elapsed, err := drive(ctx, workers, r.duration, do)
	if err != nil {
		return sample{}, err
	}
	cpuAfter, _ := cpuTime(s.processes())
	taken := latenciesOf(workers)
	if s.local() {
		runtime.ReadMemStats(&after)
	}
	r.settle(ctx)
	cpuSettled, _ := cpuTime(s.processes())
	units := float64(ops) * w.units(r.data)
	return sample{
		rate:    units / elapsed.Seconds(),
		hasCPU:  hasCPU,
		cpu:     micros(cpuAfter-cpu) / units,
		settled: micros(cpuSettled-cpu) / units,
		allocs:  float64(after.Mallocs-before.Mallocs) / float64(ops),

		latencies: taken,
		peak:      peakBytes(peakOf(s)),
	}, nil
}

// workers returns n clients for a measurement.
func (r *runner) workers(n int, seed uint64) ([]*worker, error) {
	workers := make([]*worker, n)
	for i := range workers {
		doc, err := r.data.document(i)
		if err != nil {
			return nil, err
		}
		text, err := r.data.json(i)
		if err != nil {
			return nil, err
		}
		workers[i] = &worker{
			data: r.data, rng: rand.New(rand.NewPCG(uint64(i), seed)), ids: &r.ids, doc: doc,
			json: text, popular: r.popular,
		}
		if workers[i].scanDoc, err = scanDocument(i, scanKey(0)); err != nil {
			return nil, err
		}
		if workers[i].scanJSON, err = scanJSON(i); err != nil {
			return nil, err
		}
	}
	return workers, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// drive lets all workers repeat an operation for the time d. Each worker runs it at least once.
// drive returns the number of operations and the time that they took. Each worker holds its
// latencies.
func drive(ctx context.Context, workers []*worker, d time.Duration,
	do func(context.Context, *worker) error,
) (int64, time.Duration, error) {
	var (
		wg     sync.WaitGroup
		total  atomic.Int64
		failed atomic.Pointer[error]
	)
	begin := time.Now()
	for _, w := range workers {
		wg.Go(func() {
			var n int64
			defer func() { total.Add(n) }()
			w.taken = histogram{}
			for last := begin; failed.Load() == nil; {
				if err := do(ctx, w); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				n++
				now := time.Now()
				w.taken.record(now.Sub(last))
				if last = now; now.Sub(begin) >= d {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return total.Load(), time.Since(begin), nil
}

// settle waits until this program and the servers are quiet, but not longer than r.patience.
// Otherwise the work that one side still does would slow down the next measurement.
func (r *runner) settle(ctx context.Context) {
	var pids []int
	for _, s := range r.sides {
		pids = append(pids, s.processes()...)
	}
	busy := func() time.Duration {
		cpu, _ := cpuTime(pids)
		return cpu + selfTime()
	}
	deadline := time.Now().Add(r.patience)
	for last := busy(); time.Now().Before(deadline) && ctx.Err() == nil; {
		time.Sleep(settleWindow)
		now := busy()
		if now-last < time.Duration(settleShare*float64(settleWindow)) {
			return
		}
		last = now
	}
}
