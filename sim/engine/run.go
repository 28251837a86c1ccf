package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// ErrWrong is returned if invariants are broken after the run. The design is then wrong, whatever
// the figures are.
var ErrWrong = errors.New("the run is wrong")

// checkTime is the longest time for the Check of a scenario. It also bounds the removal of all
// databases.
const checkTime = 5 * time.Minute

// DefaultSilence is how long a server may not answer before the run ends.
const DefaultSilence = 15 * time.Second

// MaxViolations is how many violations a result keeps.
const MaxViolations = 100

// Job is the work of a load generator: of this process, or of an agent.
type Job struct {
	Settings Settings      `json:"settings"`
	Parts    []JobPart     `json:"parts"`
	WarmUp   int           `json:"warmUp"`
	CoolDown int           `json:"coolDown"`
	Grace    time.Duration `json:"grace"`
	// MaxInFlight bounds the active users of a part in one process.
	MaxInFlight int    `json:"maxInFlight"`
	Seed        uint64 `json:"seed"`
	// Share and Shares are explained at load.Config.
	Share  int `json:"share"`
	Shares int `json:"shares"`
}

// JobPart is a scenario of a job.
type JobPart struct {
	Scenario string            `json:"scenario"`
	Label    string            `json:"label"`
	Database string            `json:"database"`
	Params   map[string]string `json:"params"`
	Load     load.Load         `json:"load"`
}

// Driven holds the measurements of the load generators.
type Driven struct {
	Parts []*result.Measured // in the order of the job's parts
	// Partial says why the load generators did not do the whole job. It is empty if they did.
	Partial    string
	CPUSeconds float64
	Agents     []result.Agent
	// Unheard is, for each part, the number of users that lost agents may have started without
	// reporting them. Their work is unknown. Nil means that there are no such users.
	Unheard []int64
}

// Driver runs a job. When ctx ends, it returns the measurements so far. The client is the client of
// this process.
type Driver interface {
	Drive(ctx context.Context, client *mongo.Client, job Job, report func(load.Progress)) (Driven, error)
}

// Preparer is a Driver that can refuse a job before anything happens.
type Preparer interface {
	Prepare(ctx context.Context, job Job) error
}

// Runner runs plans. The zero value with a Set works.
type Runner struct {
	Set scenario.Set
	// Driver is Local if nil.
	Driver Driver
	// Note, if not nil, is called with a line about each step. Progress, if not nil, is called with
	// the progress of the load.
	Note     func(line string)
	Progress func(load.Progress)
	Clock    patterns.Clock
	Env      patterns.Env
	// Silence is how long a server may not answer before the run ends. Zero means DefaultSilence.
	Silence time.Duration
}

func (r Runner) withDefaults() Runner {
	if r.Silence == 0 {
		r.Silence = DefaultSilence
	}
	if r.Clock == nil {
		r.Clock = patterns.SystemClock{}
	}
	if r.Driver == nil {
		r.Driver = &Local{Set: r.Set, Clock: r.Clock, Env: r.Env}
	}
	if r.Note == nil {
		r.Note = func(string) {}
	}
	if r.Progress == nil {
		r.Progress = func(load.Progress) {}
	}
	return r
}

// Run runs a plan. If ctx ends during the load, the result has the measurements so far, and says
// that it is partial. If ctx ends earlier, Run returns an error.
func (r Runner) Run(ctx context.Context, p *Plan) (res *result.Result, err error) {
	r = r.withDefaults()
	entries, err := p.resolve(r.Set)
	if err != nil {
		return nil, err
	}
	run := &running{Runner: r, plan: p, entries: entries, settings: p.Settings()}
	if d, ok := r.Driver.(Preparer); ok {
		if err := d.Prepare(ctx, run.job()); err != nil {
			return nil, err
		}
	}
	target, err := run.settings.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.close()) }()
	run.client, run.watcher = target.client, target.watcher
	if err := run.prepare(ctx); err != nil {
		return nil, err
	}
	res, err = run.measure(ctx)
	return res, errors.Join(err, run.clear(context.WithoutCancel(ctx)))
}

// running is the state of a run.
type running struct {
	Runner
	plan     *Plan
	entries  []resolved
	settings Settings
	// client is the users' client. watcher has its own connections, to check that the server
	// answers.
	client, watcher *mongo.Client
	scenarios       []scenario.Scenario
}

// prepare empties the databases and sets the scenarios up.
func (r *running) prepare(ctx context.Context) error {
	claimed := map[string]bool{}
	for _, e := range r.entries {
		db := r.client.Database(e.Database)
		fresh := !claimed[e.Database]
		if fresh {
			if err := claim(ctx, db, r.plan.Force); err != nil {
				return err
			}
			claimed[e.Database] = true
		}
		s, err := e.definition.New(scenario.Env{DB: db, Params: e.values, Seed: r.plan.Seed, Patterns: r.Env})
		if err != nil {
			return fmt.Errorf("sim: make %s: %w", e.Label, err)
		}
		r.scenarios = append(r.scenarios, s)
		if !fresh {
			continue
		}
		r.Note("set up " + e.Label)
		if err := s.Setup(ctx); err != nil {
			return fmt.Errorf("sim: set up %s: %w", e.Label, err)
		}
	}
	return nil
}

// measure runs the load, and then checks the invariants.
func (r *running) measure(ctx context.Context) (*result.Result, error) {
	res := r.empty(ctx)
	watch := r.watch(ctx)
	schedule := time.Duration(res.ScheduleSeconds * float64(time.Second))
	r.Note("drive the load: " + schedule.Round(time.Millisecond).String())
	driven, err := r.Driver.Drive(watch.ctx, r.client, r.job(), r.Progress)
	res.Server = watch.end()
	if err != nil {
		return nil, err
	}
	res.Agents, res.ClientCPUSeconds, res.Partial = driven.Agents, driven.CPUSeconds, driven.Partial
	if cause := context.Cause(watch.ctx); cause != nil && res.Partial == "" && !errors.Is(cause, errEnded) {
		res.Partial = partialText(cause)
	}
	for i, m := range driven.Parts {
		s := res.Scenarios[i]
		s.Measured = *m
		res.RuntimeSeconds = max(res.RuntimeSeconds, m.RuntimeSeconds)
	}
	for i := range r.entries {
		r.Note("check " + r.entries[i].Label)
		res.Scenarios[i].Check = r.check(context.WithoutCancel(ctx), i, res, driven.Unheard)
	}
	return res, nil
}

func partialText(cause error) string {
	if errors.Is(cause, context.Canceled) {
		return "interrupted"
	}
	return cause.Error()
}

// empty returns a result with the facts about the run and without measurements.
func (r *running) empty(ctx context.Context) *result.Result {
	res := &result.Result{
		Format: result.Format, Title: r.plan.Title, Started: r.Clock.Now().UTC(),
		Environment: environment(ctx, r.client, r.settings),
		Options: result.Options{
			PoolSize: r.settings.PoolSize, WriteConcern: r.settings.WriteConcern, ReadConcern: r.settings.ReadConcern,
			ReadPreference: r.settings.ReadPreference,
			WarmUp:         r.plan.WarmUp, CoolDown: r.plan.CoolDown, Seed: r.plan.Seed, MaxInFlight: r.plan.MaxInFlight,
		},
	}
	for _, e := range r.entries {
		res.ScheduleSeconds = max(res.ScheduleSeconds, e.Schedule().Seconds())
		res.Scenarios = append(res.Scenarios, &result.Scenario{
			Name: e.definition.Name, Label: e.Label, Title: e.definition.Title, Group: e.definition.Group,
			Params: e.given, Database: e.Database,
			Load: result.Load{
				Iterations: e.Iterations, ResolutionMillis: e.Resolution.Milliseconds(), Users: e.Users,
				Shape: e.Shape, From: e.From, Steps: e.Steps,
				Spread: e.Spread, DelayMillis: e.Delay.Milliseconds(), Resident: e.definition.Resident,
				MeasuredIteration: e.Iterations - r.plan.WarmUp - r.plan.CoolDown,
			},
			Measured: *result.NewMeasured(),
		})
	}
	return res
}

func (r *running) job() Job {
	j := Job{
		Settings: r.settings, WarmUp: r.plan.WarmUp, CoolDown: r.plan.CoolDown, Grace: r.plan.Grace,
		MaxInFlight: r.plan.MaxInFlight, Seed: r.plan.Seed, Shares: 1,
	}
	for _, e := range r.entries {
		j.Parts = append(j.Parts,
			JobPart{Scenario: e.definition.Name, Label: e.Label, Database: e.Database, Params: e.given, Load: e.Load})
	}
	return j
}

// check asks scenario i whether its invariants hold. Unheard users count as cut, because they too
// may have done all, half or nothing of their work.
func (r *running) check(ctx context.Context, i int, res *result.Result, unheard []int64) result.Check {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	s, together := res.Scenarios[i], map[string]int64{}
	for _, other := range res.Scenarios {
		if other.Database != s.Database {
			continue
		}
		for name, n := range other.Counts {
			together[name] += n
		}
	}
	cut := s.Cut
	if i < len(unheard) {
		cut += unheard[i]
	}
	violations, err := r.scenarios[i].Check(ctx, scenario.Tally{
		Started: s.Started, Succeeded: s.Succeeded, Failed: s.Failed, Cut: cut, Counts: s.Counts,
		Together: together, Params: r.entries[i].values,
	})
	if err != nil {
		return result.Check{Error: err.Error()}
	}
	c := result.Check{Done: true, Total: len(violations)}
	for _, v := range violations[:min(len(violations), MaxViolations)] {
		c.Violations = append(c.Violations, v.String())
	}
	return c
}

// clear ends the scenarios and removes their databases.
func (r *running) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var errs []error
	for _, s := range r.scenarios {
		errs = append(errs, s.Teardown(ctx))
	}
	dropped := map[string]bool{}
	for _, e := range r.entries {
		if r.plan.Keep || dropped[e.Database] {
			continue
		}
		dropped[e.Database] = true
		errs = append(errs, r.client.Database(e.Database).Drop(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sim: clear: %w", err)
	}
	return nil
}
