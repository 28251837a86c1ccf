package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// State is the progress of a job.
type State string

const (
	// Open jobs wait for their time or for a worker, or a worker executes them.
	Open State = "open"
	// Held jobs wait for the jobs of a batch.
	Held State = "held"
	// Done jobs have succeeded.
	Done State = "done"
	// Dead jobs have used all their attempts, or failed with an error that no retry can fix.
	Dead State = "dead"
	// Cancelled jobs were cancelled before they ended.
	Cancelled State = "cancelled"
)

// states lists all states.
var states = [...]State{Open, Held, Done, Dead, Cancelled}

// Spec describes a job to put. All fields may be empty.
type Spec struct {
	// ID is generated if empty. Put refuses a job whose ID already exists. A caller that sets the
	// ID can therefore put the job again if it does not know whether the first Put succeeded.
	ID string
	// Kind selects the handler of the job. Payload is the input of the job: any value that BSON can
	// encode.
	Kind    string
	Payload any
	// Priority is higher for more urgent jobs.
	Priority int
	// At is the time from which the job may be taken; now if zero.
	At time.Time
	// MaxAttempts is the largest number of attempts; Config.MaxAttempts if zero.
	MaxAttempts int
	// Unique is a key that only one open job may have. If empty, the job does not exclude other
	// jobs.
	Unique string
}

// Job is a job as it is stored.
type Job struct {
	ID       string `bson:"_id"`
	Kind     string `bson:"kind"`
	State    State  `bson:"state"`
	Priority int    `bson:"priority"`
	// At is the time from which the job may be taken. For a job that a worker holds, it is the end
	// of the lease.
	At          time.Time     `bson:"at"`
	Created     time.Time     `bson:"created"`
	Started     time.Time     `bson:"started,omitempty"` // when the job was last taken
	Ended       time.Time     `bson:"ended,omitempty"`
	Expires     time.Time     `bson:"expires,omitempty"` // when the job will be removed
	Attempt     int           `bson:"attempt"`           // attempts; Release and Snooze take one back
	MaxAttempts int           `bson:"max"`
	Token       int64         `bson:"token"`           // number of times taken
	Owner       string        `bson:"owner,omitempty"` // the process that holds the job
	Unique      string        `bson:"unique,omitempty"`
	Batch       string        `bson:"batch,omitempty"`
	Next        string        `bson:"next,omitempty"`  // the follow-up job that waits for this job
	Waits       []string      `bson:"waits,omitempty"` // the jobs for which this job waits
	Payload     bson.RawValue `bson:"payload"`
	Notes       bson.Raw      `bson:"notes,omitempty"`
	Errors      []Failure     `bson:"errors,omitempty"` // the last 10 failures
	Result      bson.RawValue `bson:"result,omitempty"`
}

// Failure is the error of a failed attempt.
type Failure struct {
	Attempt int       `bson:"attempt"`
	At      time.Time `bson:"at"`
	Error   string    `bson:"error"`
}

// Decode decodes the payload.
func (j *Job) Decode(into any) error {
	if err := j.Payload.Unmarshal(into); err != nil {
		return fmt.Errorf("queue: the payload of job %s: %w", j.ID, err)
	}
	return nil
}

// job makes a job from its Spec, and generates the ID of the Spec if it is empty.
func (q *Queue) job(s *Spec) (*Job, error) {
	payload := bson.RawValue{Type: bson.TypeNull}
	if s.Payload != nil {
		kind, data, err := bson.MarshalValue(s.Payload)
		if err != nil {
			return nil, fmt.Errorf("queue: the payload of a job: %w", err)
		}
		payload = bson.RawValue{Type: kind, Value: data}
	}
	if s.ID == "" {
		s.ID = bson.NewObjectID().Hex()
	}
	now := q.env.Now()
	job := &Job{
		ID: s.ID, Kind: s.Kind, State: Open, Priority: s.Priority, At: s.At, Created: now,
		MaxAttempts: s.MaxAttempts, Unique: s.Unique,
		Payload: payload,
	}
	if job.At.IsZero() {
		job.At = now
	}
	if job.MaxAttempts <= 0 {
		job.MaxAttempts = q.cfg.MaxAttempts
	}
	return job, nil
}

// laneOf returns the collection for a job. Jobs that exclude each other belong to the same
// collection, because its unique index keeps them apart.
func (q *Queue) laneOf(job *Job) *mongo.Collection {
	switch {
	case job.Batch != "":
		return q.lane(job.Batch)
	case job.Unique != "":
		return q.lane(job.Unique)
	default:
		return q.lane(job.ID)
	}
}

// Put stores a job and returns its ID. It fails with ErrExists if a job with the same ID, or an
// open job with the same Unique, exists. If ctx carries a session with a transaction, the job
// becomes visible when the transaction commits.
func (q *Queue) Put(ctx context.Context, s Spec) (string, error) {
	job, err := q.job(&s)
	if err != nil {
		return "", err
	}
	if err := q.ready(ctx); err != nil {
		return "", err
	}
	_, err = q.laneOf(job).InsertOne(ctx, job)
	if mongo.IsDuplicateKeyError(err) {
		return "", ErrExists
	}
	if err != nil {
		return "", fmt.Errorf("queue: put job %s: %w", job.ID, err)
	}
	q.env.Metrics.Add("queue.put", 1)
	return job.ID, nil
}

// PutMany stores several jobs with one command for each collection, and returns the number of new
// jobs. It leaves existing jobs as they are. It generates the missing IDs and stores them in specs,
// so a caller that does not know which jobs were stored can call it again with the same specs.
func (q *Queue) PutMany(ctx context.Context, specs []Spec) (int, error) {
	jobs := make(map[*mongo.Collection][]*Job)
	for i := range specs {
		job, err := q.job(&specs[i])
		if err != nil {
			return 0, err
		}
		lane := q.laneOf(job)
		jobs[lane] = append(jobs[lane], job)
	}
	put := 0
	for lane, some := range jobs {
		n, err := q.insert(ctx, lane, some)
		put += n
		if err != nil {
			return put, err
		}
	}
	return put, nil
}

// insert stores jobs of one collection and returns the number of new jobs.
func (q *Queue) insert(ctx context.Context, lane *mongo.Collection, jobs []*Job) (int, error) {
	if err := q.ready(ctx); err != nil {
		return 0, err
	}
	_, err := lane.InsertMany(ctx, jobs, options.InsertMany().SetOrdered(false))
	put := len(jobs)
	var refused mongo.BulkWriteException
	if errors.As(err, &refused) && refused.WriteConcernError == nil {
		put -= len(refused.WriteErrors)
		if onlyDuplicates(refused) {
			err = nil
		}
	}
	if err != nil {
		return 0, fmt.Errorf("queue: put %d jobs: %w", len(jobs), err)
	}
	q.env.Metrics.Add("queue.put", int64(put))
	return put, nil
}

func onlyDuplicates(e mongo.BulkWriteException) bool {
	for _, w := range e.WriteErrors {
		if !mongo.IsDuplicateKeyError(w.WriteError) {
			return false
		}
	}
	return true
}
