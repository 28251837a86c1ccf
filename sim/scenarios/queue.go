package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/queue"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// queueDoc describes the documents of all queue scenarios.
const queueDoc = `

  jobs: {_id: "6632…", kind: "sim", state: "open", priority: 7, at: ISODate("…"), payload: {by: 17, text: "…"}, …}

The queue has the indexes of both orders, so readers by time and by priority can run with the same publishers.`

func queueScenarios() []*scenario.Definition {
	params := func(more ...scenario.Param) []scenario.Param {
		return append([]scenario.Param{
			whole("priorityRange", "jobs have a priority from 0 to one less", 10, 1, 1000),
			whole("payloadSize", "how many bytes of text a job has", 128, 0, 1<<20),
			whole("jobs", "how many jobs the queue has at the beginning", 0, 0, 1_000_000),
			whole("spread", "how many collections hold the jobs", 1, 1, 64),
		}, more...)
	}
	fetch := func(name, alias, how string, order queue.Order) *scenario.Definition {
		return &scenario.Definition{
			Name: name, Aliases: []string{alias}, Group: "queue", Users: 300,
			Companion: []string{"queue-publish"}, Params: params(),
			Title: "Take a job from a queue by " + how + ", and end it",
			Doc: "A reader takes the first job by " + how + ` (step "take": 1 findAndModify) and ends it (step "done": 1 update). An empty queue is not
an error: the reader gives up, and is counted as "empty".` + queueDoc,
			New: func(env scenario.Env) (scenario.Scenario, error) { return newFetch(env, name, order) },
		}
	}
	return []*scenario.Definition{
		{
			Name: "queue-publish", Aliases: []string{"publish_to_queues"}, Group: "queue",
			Users: 1000, Params: params(),
			Title: "Put a job into a queue",
			Doc:   `A publisher puts one job with a random priority into the queue: 1 insert.` + queueDoc,
			New: func(env scenario.Env) (scenario.Scenario, error) {
				j, err := newJobs(env, queue.Config{Order: queue.ByTime})
				return &publish{j}, err
			},
		},
		fetch("queue-fetch-fifo", "fetch_from_queue_by_fifo", "time", queue.ByTime),
		fetch("queue-fetch-priority", "fetch_from_queue_by_priority", "priority", queue.ByPriority),
		{
			Name: "queue-work", Group: "queue", Users: 8, Resident: true, Companion: []string{"queue-publish"},
			Title: "Work on the jobs of a queue as long as the run lasts",
			Doc: `A worker takes one job after the other. It extends the lease of the job while it works, and then ends the job. Some attempts may fail: the job is
tried again. Without jobs, a worker waits until a change stream or an occasional check finds one. The step "waited" is the time from adding a job
to the start of its work.` + queueDoc,
			Params: params(
				choice("order", "which job is taken first", "fifo", "priority"),
				scenario.Param{Name: "work", Doc: "how long a job takes", Default: time.Duration(0), Max: 3600},
				scenario.Param{
					Name: "lease", Doc: "how long a worker holds a job without extending",
					Default: queue.DefaultLease, Min: 0.01, Max: 3600,
				},
				whole("failing", "how many of 100 attempts fail", 0, 0, 90),
			),
			New: newWork,
		},
	}
}

// jobs is the part that all queue scenarios share.
type jobs struct {
	still
	*queue.Queue
	db                               *mongo.Database
	patterns                         patterns.Env
	priorities, payload, at0, spread int
}

// kindSetup is the kind of the jobs that Setup creates, kindUser the kind of the jobs that users
// publish.
const (
	kindSetup = "setup"
	kindUser  = "sim"
)

func newJobs(env scenario.Env, cfg queue.Config) (*jobs, error) {
	p := env.Params
	cfg.Env, cfg.Spread = env.Patterns, p.Int("spread")
	cfg.Backoff = queue.Exponential(10*time.Millisecond, time.Second) // shorter than usual, because a run is short
	q, err := queue.New(env.DB, cfg)
	return &jobs{
		Queue: q, db: env.DB, patterns: env.Patterns.WithDefaults(),
		priorities: p.Int("priorityRange"), payload: p.Int("payloadSize"), at0: p.Int("jobs"), spread: p.Int("spread"),
	}, err
}

// Setup implements scenario.Scenario.
func (j *jobs) Setup(ctx context.Context) error {
	for _, order := range []queue.Order{queue.ByTime, queue.ByPriority} {
		q, err := queue.New(j.db, queue.Config{Spread: j.spread, Order: order})
		if err != nil {
			return err
		}
		if err := q.EnsureIndexes(ctx); err != nil {
			return err
		}
	}
	for from := 0; from < j.at0; from += fillBatch {
		specs := make([]queue.Spec, min(fillBatch, j.at0-from))
		for i := range specs {
			specs[i] = queue.Spec{
				Kind: kindSetup, Priority: (from + i) % j.priorities,
				Payload: bson.D{{"n", from + i}},
			}
		}
		if _, err := j.PutMany(ctx, specs); err != nil {
			return err
		}
	}
	return nil
}

// lanes returns the collections that hold the jobs.
func (j *jobs) lanes() []*mongo.Collection {
	var out []*mongo.Collection
	for _, ix := range j.Indexes() {
		if len(out) == 0 || out[len(out)-1].Name() != ix.Collection {
			out = append(out, j.db.Collection(ix.Collection))
		}
	}
	return out
}

// count counts jobs in all collections.
func (j *jobs) count(ctx context.Context, filter bson.D) (n int64, err error) {
	for _, lane := range j.lanes() {
		found, err := countOf(ctx, lane, filter)
		if err != nil {
			return 0, err
		}
		n += found
	}
	return n, nil
}

// publish implements the scenario queue-publish.
type publish struct{ *jobs }

// Run implements scenario.Scenario.
func (s *publish) Run(ctx context.Context, u *scenario.User) error {
	_, err := s.Put(ctx, queue.Spec{
		Kind: kindUser, Priority: u.Rand.IntN(s.priorities),
		Payload: bson.D{{"by", u.Number}, {"text", letters(u.Rand, s.payload)}},
	})
	if err == nil {
		u.Count("published", 1)
	}
	return err
}

// Check implements scenario.Scenario.
func (s *publish) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Queue.Check(ctx)
	if err != nil {
		return nil, err
	}
	n, err := s.count(ctx, bson.D{{"kind", kindUser}})
	return append(out, counted("a job that was put is there", queue.DefaultName, n,
		t.Together["published"], unsure(t, 1))...), err
}

// fetch implements the scenarios in which each user takes one job.
type fetch struct {
	*jobs
	name string
}

func newFetch(env scenario.Env, name string, order queue.Order) (scenario.Scenario, error) {
	j, err := newJobs(env, queue.Config{Order: order})
	return &fetch{j, name}, err
}

// ending is the result that a user stores with a job. It identifies the user who has done the job.
type ending struct {
	Scenario string `bson:"scenario"`
	User     int64  `bson:"user"`
}

// Run implements scenario.Scenario.
func (s *fetch) Run(ctx context.Context, u *scenario.User) error {
	var job *queue.Taken
	err := u.Time("take", func() (err error) {
		job, err = s.Take(ctx)
		return err
	})
	if errors.Is(err, queue.ErrEmpty) {
		u.Count("empty", 1)
		return nil
	}
	if err != nil {
		return err
	}
	job.SetResult(ending{s.name, u.Number})
	if err := u.Time("done", func() error { return job.Done(ctx) }); err != nil {
		return err
	}
	u.Count("fetched", 1)
	return nil
}

// Check implements scenario.Scenario.
func (s *fetch) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Queue.Check(ctx)
	if err != nil {
		return nil, err
	}
	readers, found := map[int64]any{}, int64(0)
	for _, lane := range s.lanes() {
		err := patterns.Each(ctx, lane,
			bson.D{
				{"state", queue.Done},
				{"result.scenario", s.name},
			}, func(job *queue.Job) error {
				var by ending
				if err := job.Result.Unmarshal(&by); err != nil {
					return fmt.Errorf("the result of job %s: %w", job.ID, err)
				}
				if other, twice := readers[by.User]; twice {
					detail := fmt.Sprintf("reader %d has also %v", by.User, other)
					out = append(out, patterns.Violation{
						Rule:       "a reader has one job",
						Collection: lane.Name(), ID: job.ID, Detail: detail,
					})
				}
				readers[by.User] = job.ID
				found++
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return append(out, counted("a job that was fetched is done", queue.DefaultName, found,
		t.Counts["fetched"], unsure(t, 1))...), nil
}

// work implements the scenario queue-work.
type work struct {
	*jobs
	takes   time.Duration
	failing int
}

func newWork(env scenario.Env) (scenario.Scenario, error) {
	cfg := queue.Config{Lease: env.Params.Duration("lease"), MaxAttempts: 1000}
	if env.Params.String("order") == "fifo" {
		cfg.Order = queue.ByTime
	}
	j, err := newJobs(env, cfg)
	return &work{j, env.Params.Duration("work"), env.Params.Int("failing")}, err
}

var errAttempt = errors.New("this attempt is one that fails")

// Run implements scenario.Scenario.
func (s *work) Run(ctx context.Context, u *scenario.User) error {
	handle := func(ctx context.Context, job *queue.Taken) error {
		if job.Attempt == 1 {
			u.Record("waited", u.Now().Sub(job.Created))
		}
		if s.takes > 0 {
			if err := s.patterns.Clock.Sleep(ctx, s.takes); err != nil {
				return err
			}
		}
		if u.Rand.IntN(100) < s.failing {
			u.Count("failed attempts", 1)
			return errAttempt
		}
		job.SetResult(ending{"queue-work", u.Number})
		u.Count("worked", 1)
		return nil
	}
	err := s.NewWorker(handle, queue.WorkerConfig{Concurrency: 1, Poll: 250 * time.Millisecond}).Run(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Check implements scenario.Scenario. A job whose lease has expired during the work is processed
// twice, but marked as done once.
func (s *work) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Queue.Check(ctx)
	if err != nil || len(out) > 0 { // reading would fail on the jobs that are wrong
		return out, err
	}
	var done, again int64
	for _, lane := range s.lanes() {
		err := patterns.EachOf(ctx, lane, func(job *queue.Job) {
			by := ending{}
			if job.State == queue.Done && job.Result.Unmarshal(&by) == nil && by.Scenario == "queue-work" {
				done++
			}
			again += max(job.Token-1, 0)
		})
		if err != nil {
			return nil, err
		}
	}
	held, err := s.count(ctx,
		bson.D{{"state", queue.Open}, {"owner", bson.D{{"$exists", true}}}})
	if err != nil {
		return nil, err
	}
	sure := max(t.Counts["worked"]-again-held, 0)
	return append(out, counted("a job that was worked on is done", queue.DefaultName, done, sure,
		t.Counts["worked"]-sure)...), nil
}
