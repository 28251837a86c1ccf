package schema

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
)

// ErrNotLeader is returned by RunDue if another process is executing the jobs.
var ErrNotLeader = errors.New("schema: another process runs the jobs")

// The defaults of a JobsConfig.
const (
	DefaultJobs  = "jobs"
	DefaultPace  = 10 * time.Second
	DefaultLease = lock.DefaultLease
)

// Task is the work of a job. It may be executed any number of times, also by two processes at the
// same time. It may be interrupted: the next execution continues.
type Task interface {
	Run(ctx context.Context, db *mongo.Database, env patterns.Env) (Report, error)
}

// TaskFunc is a function that implements Task.
type TaskFunc func(ctx context.Context, db *mongo.Database, env patterns.Env) (Report, error)

// Run implements Task.
func (f TaskFunc) Run(ctx context.Context, db *mongo.Database, env patterns.Env) (Report, error) {
	return f(ctx, db, env)
}

// MaxReported is the largest number of violations in a Report.
const MaxReported = 100

// Report is the result of a task.
type Report struct {
	// Found is the number of problems that the task found and could not correct. Changed is the
	// number of documents that it wrote.
	Found, Changed int64
	// Violations describes the first MaxReported problems.
	Violations []patterns.Violation
}

func (r *Report) violate(v patterns.Violation) {
	r.Found++
	if len(r.Violations) < MaxReported {
		r.Violations = append(r.Violations, v)
	}
}

// Job is a task and its schedule.
type Job struct {
	// Name is unique among the jobs of a collection.
	Name string
	// Every is the time between the starts of two executions.
	Every time.Duration
	Task  Task
}

// JobsConfig configures Jobs. The zero value works, but has no jobs.
type JobsConfig struct {
	patterns.Env
	// Collection stores the state of the jobs; DefaultJobs if empty. The lock is in
	// "<Collection>.locks".
	Collection string
	Jobs       []Job
	// Pace is the interval at which a process looks for due jobs, or tries to take over from a
	// process that has died; DefaultPace if zero.
	Pace time.Duration
	// Lease is the time after which another process takes over the jobs of a process that has died;
	// DefaultLease if zero.
	Lease time.Duration
	// Notify, if not nil, is called with the report of each execution of a job.
	Notify func(ctx context.Context, job string, r Report)
}

// Jobs executes jobs. Several processes may have the same Jobs; one process at a time executes
// them. Jobs is safe for concurrent use.
type Jobs struct {
	env   patterns.Env
	cfg   JobsConfig
	db    *mongo.Database
	coll  *mongo.Collection
	locks *lock.Locks
}

// leader is the name of the lock that the process holds while it executes the jobs.
const leader = "leader"

// NewJobs returns jobs that store their state in db. It fails if two jobs have the same name, or if
// a job has no name, no period or no task.
func NewJobs(db *mongo.Database, cfg JobsConfig) (*Jobs, error) {
	names := map[string]bool{}
	for _, j := range cfg.Jobs {
		if j.Name == "" || names[j.Name] || j.Every <= 0 || j.Task == nil {
			return nil, fmt.Errorf("schema: job %q every %v", j.Name, j.Every)
		}
		names[j.Name] = true
	}
	if cfg.Pace < 0 {
		return nil, fmt.Errorf("schema: a pace of %v", cfg.Pace)
	}
	if cfg.Collection == "" {
		cfg.Collection = DefaultJobs
	}
	if cfg.Pace == 0 {
		cfg.Pace = DefaultPace
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	cfg.Env = cfg.WithDefaults()
	locks, err := lock.New(db, lock.Config{Env: cfg.Env, Collection: cfg.Collection + ".locks", Lease: cfg.Lease})
	if err != nil {
		return nil, err
	}
	return &Jobs{env: cfg.Env, cfg: cfg, db: db, coll: db.Collection(cfg.Collection), locks: locks}, nil
}

// Status is the stored state of a job.
type Status struct {
	Name string `bson:"_id"`
	// Due is the time of the next execution.
	Due time.Time `bson:"due"`
	// Started and Ended are the times of the last execution that finished. Found and Changed are
	// from its report, and Error is its error.
	Started time.Time `bson:"started"`
	Ended   time.Time `bson:"ended"`
	Found   int64     `bson:"found"`
	Changed int64     `bson:"changed"`
	Error   string    `bson:"error,omitempty"`
}

// Status returns a map from the name of each job that has been executed to its stored state.
func (j *Jobs) Status(ctx context.Context) (map[string]Status, error) {
	names := make(bson.A, len(j.cfg.Jobs))
	for i, job := range j.cfg.Jobs {
		names[i] = job.Name
	}
	cur, err := j.coll.Find(ctx, bson.D{{"_id", bson.D{{"$in", names}}}})
	if err != nil {
		return nil, fmt.Errorf("schema: read the jobs: %w", err)
	}
	var list []Status
	if err := cur.All(ctx, &list); err != nil {
		return nil, fmt.Errorf("schema: read the jobs: %w", err)
	}
	out := make(map[string]Status, len(list))
	for _, s := range list {
		out[s.Name] = s
	}
	return out, nil
}

// Run executes due jobs until ctx ends. While another process executes the jobs, it waits for that
// process to stop or die.
func (j *Jobs) Run(ctx context.Context) error {
	for {
		err := j.locks.Do(ctx, leader, func(ctx context.Context, lease *lock.Lease) error {
			for {
				if _, err := j.due(ctx, lease); err != nil {
					return err
				}
				if err := j.env.Clock.Sleep(ctx, j.cfg.Pace); err != nil {
					return err
				}
			}
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, lock.ErrHeld) {
			j.env.Logger.Warn("the jobs are no longer run by this process", "error", err)
		}
		if err := j.env.Clock.Sleep(ctx, j.cfg.Pace); err != nil {
			return err
		}
	}
}

// RunDue executes the jobs that are due now, in their order, and returns their number. It is for
// programs that a timer starts. It returns ErrNotLeader if another process is executing the jobs.
func (j *Jobs) RunDue(ctx context.Context) (ran int, err error) {
	leads := false
	err = j.locks.Do(ctx, leader, func(ctx context.Context, lease *lock.Lease) (err error) {
		leads = true
		ran, err = j.due(ctx, lease)
		return err
	})
	if !leads && errors.Is(err, lock.ErrHeld) {
		return 0, ErrNotLeader
	}
	return ran, err
}

func (j *Jobs) due(ctx context.Context, lease *lock.Lease) (ran int, err error) {
	known, err := j.Status(ctx)
	if err != nil {
		return 0, err
	}
	for _, job := range j.cfg.Jobs {
		if known[job.Name].Due.After(j.env.Now()) {
			continue
		}
		if err := j.execute(ctx, job, lease); err != nil {
			return ran, err
		}
		ran++
	}
	return ran, nil
}

// execute executes a job and stores its result. An error of the task is stored, and not returned:
// the task is tried again when the job is next due.
func (j *Jobs) execute(ctx context.Context, job Job, lease *lock.Lease) error {
	started := j.env.Now()
	report, err := job.Task.Run(ctx, j.db, j.env)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ended := j.env.Now()
	j.env.Metrics.Add("schema.jobs", 1)
	j.env.Metrics.Observe("schema.job."+job.Name, ended.Sub(started))
	when, set := lease.Guard("fence")
	set = append(set,
		bson.E{"due", started.Add(job.Every)}, bson.E{"started", started}, bson.E{"ended", ended},
		bson.E{"found", report.Found}, bson.E{"changed", report.Changed})
	change := bson.D{{"$unset", bson.D{{"error", ""}}}}
	if err != nil {
		j.env.Logger.Error("a job has failed", "job", job.Name, "error", err)
		set, change = append(set, bson.E{"error", err.Error()}), nil
	}
	if report.Found+report.Changed > 0 {
		j.env.Logger.Warn("a job has found something", "job", job.Name, "found",
			report.Found, "changed", report.Changed)
	}
	if j.cfg.Notify != nil {
		j.cfg.Notify(ctx, job.Name, report)
	}
	change = append(change, bson.E{"$set", set})
	filter := append(bson.D{{"_id", job.Name}}, when...)
	_, err = j.coll.UpdateOne(ctx, filter, change, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		return lock.ErrLost // a later holder of the lease has stored its own execution
	}
	if err != nil {
		return fmt.Errorf("schema: note the job %s: %w", job.Name, err)
	}
	return nil
}

// These are the rules whose violations Jobs.Check lists.
const (
	RuleDue    = "jobs are executed when they are due"
	RuleFailed = "jobs do not fail"
)

// Check lists the jobs whose last execution failed, and the jobs that are late by more than their
// period and a lease.
func (j *Jobs) Check(ctx context.Context) ([]patterns.Violation, error) {
	known, err := j.Status(ctx)
	if err != nil {
		return nil, err
	}
	var out []patterns.Violation
	for _, job := range j.cfg.Jobs {
		s, ok := known[job.Name]
		if !ok {
			continue // the job has not been executed yet
		}
		violate := func(rule, detail string) {
			out = append(out, patterns.Violation{Rule: rule, Collection: j.coll.Name(), ID: job.Name, Detail: detail})
		}
		if late := j.env.Now().Sub(s.Due); late > job.Every+j.cfg.Lease {
			violate(RuleDue, fmt.Sprintf("it is late by %v", late))
		}
		if s.Error != "" {
			violate(RuleFailed, s.Error)
		}
	}
	return out, nil
}

// Indexes returns nil: jobs are found by their _id.
func (j *Jobs) Indexes() []patterns.Index { return nil }

// EnsureIndexes does nothing.
func (j *Jobs) EnsureIndexes(context.Context) error { return nil }

// ShardKeys returns nil: there are only a few jobs.
func (j *Jobs) ShardKeys() []patterns.ShardKey { return nil }

// Shard enables sharding for the database, and shards no collection. It returns
// patterns.ErrNotSharded if the server is not a mongos.
func (j *Jobs) Shard(ctx context.Context) error { return patterns.Shard(ctx, j.db, nil) }
