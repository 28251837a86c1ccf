package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// pattern is a task of an application. All sides execute it in the same steps. If a side sends
// several statements, each statement commits by itself, unless the pattern is a transaction.
type pattern struct {
	Name    string
	What    string
	Clients int
	// Peer is the ratio of the rates of MongoDB 3.6 and PostgreSQL, 0 if it was not measured. It
	// was measured with a replica set, on a machine like the one in docs/performance.md. The target
	// for Sheaf is patternGain times Peer.
	Peer float64
	// Others names sides that take part in addition to Sheaf, PostgreSQL and a peer.
	Others []string
	// Reads marks a pattern that writes nothing.
	Reads bool

	// mongo is the task with MongoDB. It uses the package of patterns/ for this task if there is
	// one.
	mongo    mongoPattern
	postgres postgresPattern
	// byHand is the task with MongoDB but without the package. It is nil if mongo uses no package.
	byHand mongoPattern
}

// mongoPattern and postgresPattern fill an empty database on one side, and return the routine to
// repeat.
type (
	mongoPattern    func(ctx context.Context, db *mongo.Database) (*routine, error)
	postgresPattern func(ctx context.Context, pool *pgxpool.Pool) (*routine, error)
)

// patternGain is the ratio of a pattern's target and its Peer.
const patternGain = 2

// routine is the part of a pattern that is repeated. Its data is already loaded.
type routine struct {
	do func(ctx context.Context, w *worker) error
	// units is how much one call of do adds to the rate. 0 means 1.
	units float64
	// finish waits until the effects of all calls of do have arrived. This time is part of the
	// measurement. finish may be nil.
	finish func(ctx context.Context) error
	// end stops background work of the routine. It may be nil.
	end func() error
}

func repeat(do func(ctx context.Context, w *worker) error) *routine { return &routine{do: do} }

// patternDatabase is the database that the patterns use.
const patternDatabase = "sheaf_patterns"

// patternRunner measures patterns.
type patternRunner struct {
	*runner
	writes concern
}

// benchPatterns runs the patterns on all sides.
func benchPatterns(ctx context.Context, cfg *config, progress io.Writer) (_ *results, err error) {
	begin := time.Now()
	at, err := newWorkplace(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	r := &patternRunner{runner: newRunner(cfg, progress), writes: cfg.writes}
	res := &results{Environment: newEnvironment(ctx, r.runner), page: patternsPage}
	defer func() {
		for _, s := range r.sides {
			err = errors.Join(err, s.close())
		}
	}()
	if res.Environment.Postgres, err = r.start(ctx, cfg, at); err != nil {
		return nil, err
	}
	for i := range patterns {
		p := &patterns[i]
		if !cfg.run.MatchString(p.Name) {
			continue
		}
		row := workloadResult{workload: workload{
			Name: p.Name, Op: operation(p.What), Clients: p.Clients,
			Concern: r.concern(p),
		}, Unit: "operations"}
		if row.Sides, err = r.run(ctx, p); err != nil {
			return nil, err
		}
		res.Workloads = append(res.Workloads, row)
		printRow(progress, row)
	}
	res.Environment.end(begin)
	res.Claims = verdicts(allPatternClaims(), res)
	return res, nil
}

// start starts the sides. It returns PostgreSQL's version, or the reason why PostgreSQL is missing.
func (r *patternRunner) start(ctx context.Context, cfg *config, at *workplace) (string, error) {
	for _, label := range []string{sideSheaf, sideStandalone} {
		var flags []string
		if label == sideStandalone {
			flags = []string{"--standalone"}
		}
		p, err := startSheaf(at.binary, filepath.Join(at.dir, "served-"+label), cfg.budget, flags...)
		if err := r.addServed(label, p, r.writes, err); err != nil {
			return "", err
		}
		if label == sideSheaf && cfg.byHand {
			if err := r.add(byHandSide(p, r.writes)); err != nil {
				return "", err
			}
		}
	}
	if err := r.add(embeddedSide(filepath.Join(at.dir, "embedded"), r.writes)); err != nil {
		return "", err
	}
	if cfg.mongoURI != "" {
		if err := r.add(peerSide(ctx, cfg.mongoURI, r.writes)); err != nil {
			return "", err
		}
	}
	return r.startPostgres(ctx, cfg, at.dir)
}

// byHandSide returns a second client of the Sheaf server. It runs the patterns without their
// packages.
func byHandSide(p *process, writes concern) (*mongoSide, error) {
	s, err := newMongoSide(sideByHand, options.Client().ApplyURI(p.uri), writes)
	if err != nil {
		return nil, err
	}
	s.pids, s.limit = []int{p.pid()}, p.budget
	return s, nil
}

// takesPart reports whether a side runs the pattern.
func (p *pattern) takesPart(s side) bool {
	switch s.name() {
	case sideSheaf, sidePeer:
		return true
	case sidePostgres:
		return p.postgres != nil
	case sideByHand:
		return p.byHand != nil
	default:
		return slices.Contains(p.Others, s.name())
	}
}

// concern returns the concern of a pattern: the configured concern, or none if the pattern only
// reads.
func (r *patternRunner) concern(p *pattern) concern {
	if p.Reads {
		return concernNone
	}
	return r.writes
}

// run measures a pattern on all sides that take part.
func (r *patternRunner) run(ctx context.Context, p *pattern) (map[string]*figure, error) {
	return r.inRounds(ctx, p.Name, p.takesPart, func(s side) (sample, error) { return r.measure(ctx, p, s) })
}

// prepare empties the database of a side, and loads the pattern's data.
func (p *pattern) prepare(ctx context.Context, s side, writes concern) (*routine, error) {
	switch s := s.(type) {
	case *mongoSide:
		db := s.client.Database(patternDatabase)
		if err := db.Drop(ctx); err != nil {
			return nil, err
		}
		if s.name() == sideByHand {
			return p.byHand(ctx, db)
		}
		return p.mongo(ctx, db)
	case *postgresSide:
		if _, err := s.pool.Exec(ctx, "drop schema public cascade; create schema public"); err != nil {
			return nil, err
		}
		pool := s.pool
		if writes == concernUnsynced {
			pool = s.relaxed
		}
		pool.Reset() // the tables of prepared statements no longer exist
		rt, err := p.postgres(ctx, pool)
		if err == nil {
			_, err = s.pool.Exec(ctx, "vacuum analyze") // vacuum also completes GIN indexes
		}
		return rt, err
	default:
		return nil, fmt.Errorf("%s knows no patterns", s.name())
	}
}

// measure runs a pattern on one side for the configured time.
func (r *patternRunner) measure(ctx context.Context, p *pattern, s side) (_ sample, err error) {
	rt, err := p.prepare(ctx, s, r.writes)
	if err != nil {
		return sample{}, err
	}
	defer func() {
		if rt.end != nil {
			err = errors.Join(err, rt.end())
		}
	}()
	r.ids.Store(0)
	workers, err := r.workers(p.Clients, 7)
	if err != nil {
		return sample{}, err
	}
	for _, w := range workers {
		w.writes = r.writes
	}
	if _, _, err := r.drive(ctx, rt, workers, r.duration/warmShare); err != nil {
		return sample{}, err
	}
	r.settle(ctx)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resetPeak(peakOf(s))
	cpu, hasCPU := cpuTime(s.processes())
	ops, elapsed, err := r.drive(ctx, rt, workers, r.duration)
	if err != nil {
		return sample{}, err
	}
	cpuAfter, _ := cpuTime(s.processes())
	runtime.ReadMemStats(&after)
	units := float64(ops) * max(rt.units, 1)
	one := sample{
		rate: units / elapsed.Seconds(), hasCPU: hasCPU, cpu: micros(cpuAfter-cpu) / units,
		latencies: latenciesOf(workers), peak: peakBytes(peakOf(s)),
	}
	if s.local() {
		one.allocs = float64(after.Mallocs-before.Mallocs) / units
	}
	return one, nil
}

// drive repeats a routine, and then waits until the routine's finish returns.
func (r *patternRunner) drive(ctx context.Context, rt *routine, workers []*worker,
	d time.Duration,
) (int64, time.Duration, error) {
	begin := time.Now()
	ops, elapsed, err := drive(ctx, workers, d, rt.do)
	if err != nil || rt.finish == nil {
		return ops, elapsed, err
	}
	err = rt.finish(ctx)
	return ops, time.Since(begin), err
}
