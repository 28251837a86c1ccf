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

// State is how far a job has come.
type State string

const (
	// Open jobs wait for their time or for a worker, or are being worked on.
	Open State = "open"
	// Held jobs wait for other jobs: they follow a batch.
	Held State = "held"
	// Done jobs have succeeded.
	Done State = "done"
	// Dead jobs have failed as often as they may, or in a way that no repetition helps.
	Dead State = "dead"
	// Cancelled jobs were taken back.
	Cancelled State = "cancelled"
)

// states are all of them.
var states = [...]State{Open, Held, Done, Dead, Cancelled}

// Spec is a job that somebody wants to be done. All fields may be empty.
type Spec struct {
	// ID is made up if empty. A job of an ID that exists already is refused: who gives the ID may
	// put a job again when it is not known whether it was put.
	ID string
	// Kind is what there is to do, Payload what it is to be done with: any value that BSON has.
	Kind    string
	Payload any
	// Priority is higher for what is more urgent.
	Priority int
	// At is from when on the job may be taken; at once if zero.
	At time.Time
	// MaxAttempts is how often it is tried; Config.MaxAttempts if zero.
	MaxAttempts int
	// Unique is of one open job at most. If empty, the job may stand beside any other.
	Unique string
}

// Job is a job as it is stored.
type Job struct {
	ID          string        `bson:"_id"`
	Kind        string        `bson:"kind"`
	State       State         `bson:"state"`
	Priority    int           `bson:"priority"`
	At          time.Time     `bson:"at"` // from when on it may be taken; of a job that is held by a worker, the end of the lease
	Created     time.Time     `bson:"created"`
	Started     time.Time     `bson:"started,omitempty"` // when it was taken last
	Ended       time.Time     `bson:"ended,omitempty"`
	Expires     time.Time     `bson:"expires,omitempty"` // when it is removed
	Attempt     int           `bson:"attempt"`           // how often it was taken, without what does not count
	MaxAttempts int           `bson:"max"`
	Token       int64         `bson:"token"`           // how often it was taken in all
	Owner       string        `bson:"owner,omitempty"` // who has it
	Unique      string        `bson:"unique,omitempty"`
	Batch       string        `bson:"batch,omitempty"`
	Next        string        `bson:"next,omitempty"`  // the job that waits for it
	Waits       []string      `bson:"waits,omitempty"` // the jobs that it waits for
	Payload     bson.RawValue `bson:"payload"`
	Notes       bson.Raw      `bson:"notes,omitempty"`
	Errors      []Failure     `bson:"errors,omitempty"` // the last ones
	Result      bson.RawValue `bson:"result,omitempty"`
}

// Failure is why an attempt has failed.
type Failure struct {
	Attempt int       `bson:"attempt"`
	At      time.Time `bson:"at"`
	Error   string    `bson:"error"`
}

// Decode reads the payload.
func (j *Job) Decode(into any) error {
	if err := j.Payload.Unmarshal(into); err != nil {
		return fmt.Errorf("queue: the payload of job %s: %w", j.ID, err)
	}
	return nil
}

// job makes a job of its description, whose ID it fills in.
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

// laneOf returns where a job is put: jobs that exclude each other are in one collection, whose
// index tells.
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

// Put puts a job into the queue and returns its ID. It fails with ErrExists where there is such a
// job already. In a transaction, whose session ctx brings, the job is put when the transaction
// commits.
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

// PutMany puts several jobs into the queue with one command for each collection that they belong
// to, and returns how many are new: jobs that exist already are left as they are. IDs that are not
// given are filled in, so that it may be called again with the same specs when it is not known
// which of them were put.
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

// insert puts jobs that belong to one collection.
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
