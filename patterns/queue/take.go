package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Limits of the errors that a job stores.
const (
	maxErrors      = 10
	maxErrorLength = 1000
)

// Taken is a job that this process holds for the time of a lease. Each of its methods is one update
// on the condition that the process still holds the job, and returns ErrLost otherwise. After the
// end of the lease the process still holds the job until another worker takes it.
type Taken struct {
	Job
	queue  *Queue
	lane   *mongo.Collection
	result any
	ended  bool
}

// Take takes the first due job and holds it for a lease. It fails with ErrEmpty if no job is due.
// If a job has used all its attempts because its workers died, Take moves it to the dead letters
// and continues with the next job.
func (q *Queue) Take(ctx context.Context) (*Taken, error) {
	if err := q.ready(ctx); err != nil {
		return nil, err
	}
	first := q.turn.Add(1)
	for i := range uint64(len(q.lanes)) {
		lane := q.lanes[(first+i)%uint64(len(q.lanes))]
		job, err := q.takeFrom(ctx, lane)
		if !errors.Is(err, ErrEmpty) {
			return job, err
		}
	}
	return nil, ErrEmpty
}

func (q *Queue) takeFrom(ctx context.Context, lane *mongo.Collection) (*Taken, error) {
	opts := options.FindOneAndUpdate().SetSort(q.order()).SetReturnDocument(options.After)
	for {
		now := q.env.Now()
		due := bson.D{{"state", Open}, {"at", bson.D{{"$lte", now}}}}
		take := bson.D{
			{"$set", bson.D{{"at", now.Add(q.cfg.Lease)}, {"owner", q.owner}, {"started", now}}},
			{"$inc", bson.D{{"attempt", 1}, {"token", int64(1)}}},
		}
		job := &Taken{queue: q, lane: lane}
		err := lane.FindOneAndUpdate(ctx, due, take, opts).Decode(&job.Job)
		if errors.Is(err, mongo.ErrNoDocuments) {
			return nil, ErrEmpty
		}
		if err != nil {
			return nil, fmt.Errorf("queue: take from %s: %w", lane.Name(), err)
		}
		if job.Attempt <= job.MaxAttempts {
			q.env.Metrics.Add("queue.taken", 1)
			return job, nil
		}
		job.Attempt = job.MaxAttempts // the attempt that Take has just counted does not happen
		q.env.Logger.Warn("the workers of a job have died", "job", job.ID, "kind", job.Kind, "attempts", job.Attempt)
		if err := job.bury(ctx, errAbandoned); err != nil && !errors.Is(err, ErrLost) {
			return nil, err
		}
	}
}

var errAbandoned = errors.New("queue: the workers died")

// change updates the job on the condition that this process still holds it.
func (t *Taken) change(ctx context.Context, what string, update bson.D) error {
	mine := bson.D{{"_id", t.ID}, {"token", t.Token}, {"state", Open}, {"owner", t.Owner}}
	res, err := t.lane.UpdateOne(ctx, mine, update)
	if err != nil {
		return fmt.Errorf("queue: %s job %s: %w", what, t.ID, err)
	}
	if res.MatchedCount == 0 {
		return ErrLost
	}
	return nil
}

// noOwner is part of every update after which no worker holds the job.
var noOwner = bson.E{"$unset", bson.D{{"owner", ""}}}

// Extend starts the lease again from now. A Worker calls it for its jobs as a heartbeat.
func (t *Taken) Extend(ctx context.Context) error {
	until := bson.D{{"at", t.queue.env.Now().Add(t.queue.cfg.Lease)}}
	return t.change(ctx, "extend", bson.D{{"$set", until}})
}

// SetResult sets the value that Done stores as the result of the job.
func (t *Taken) SetResult(v any) { t.result = v }

// Done ends the job as successful. If a follow-up job waits for it, Done first updates the
// follow-up job with a second command. In a transaction, Done takes effect when the transaction
// commits: see DoneWith.
func (t *Taken) Done(ctx context.Context) error {
	if t.Next != "" {
		if err := t.queue.tell(ctx, t); err != nil {
			return err
		}
	}
	now := t.queue.env.Now()
	set := bson.D{{"state", Done}, {"ended", now}, {"expires", now.Add(t.queue.cfg.KeepDone)}}
	if t.result != nil {
		set = append(set, bson.E{"result", t.result})
	}
	if err := t.change(ctx, "end", bson.D{{"$set", set}, noOwner}); err != nil {
		return err
	}
	t.ended = true
	t.queue.env.Metrics.Add("queue.done", 1)
	return nil
}

// DoneWith runs fn in a transaction that also ends the job. The writes that fn makes with its ctx
// in the same deployment therefore happen exactly once. fn may run several times until the
// transaction commits. DoneWith fails with ErrNoTransactions if the server does not support
// transactions.
func (t *Taken) DoneWith(ctx context.Context, fn func(ctx context.Context) error) error {
	session, err := t.lane.Database().Client().StartSession()
	if err != nil {
		return fmt.Errorf("queue: start a session: %w", err)
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		// If no server is reachable, the driver retries a transaction for two minutes and ignores
		// the end of ctx.
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := fn(ctx); err != nil {
			return nil, err
		}
		return nil, t.Done(ctx)
	})
	if err == nil {
		return nil
	}
	t.ended = false
	var server mongo.ServerError
	if errors.As(err, &server) && server.HasErrorCode(illegalOperation) {
		return errors.Join(ErrNoTransactions, err)
	}
	return err
}

// illegalOperation is the error code of servers without transactions.
const illegalOperation = 20

// ErrNoTransactions is returned by DoneWith if the server is not a member of a replica set.
var ErrNoTransactions = errors.New("queue: the server has no transactions")

// Fail ends the attempt as failed. The job is tried again after its backoff. It becomes a dead
// letter if this was its last attempt, or if cause comes from Discard.
func (t *Taken) Fail(ctx context.Context, cause error) error {
	var discard *discardError
	if t.Attempt >= t.MaxAttempts || errors.As(cause, &discard) {
		return t.bury(ctx, cause)
	}
	at := t.queue.env.Now().Add(t.queue.cfg.Backoff(t.Attempt))
	again := bson.D{{"$set", bson.D{{"at", at}}}, noOwner, t.failure(cause)}
	if err := t.change(ctx, "fail", again); err != nil {
		return err
	}
	t.ended = true
	t.queue.env.Metrics.Add("queue.failed", 1)
	return nil
}

// bury makes the job a dead letter.
func (t *Taken) bury(ctx context.Context, cause error) error {
	now := t.queue.env.Now()
	set := bson.D{{"state", Dead}, {"ended", now}, {"attempt", t.Attempt}}
	if keep := t.queue.cfg.KeepDead; keep > 0 {
		set = append(set, bson.E{"expires", now.Add(keep)})
	}
	if err := t.change(ctx, "bury", bson.D{{"$set", set}, noOwner, t.failure(cause)}); err != nil {
		return err
	}
	t.ended = true
	t.queue.env.Metrics.Add("queue.dead", 1)
	t.queue.env.Logger.Warn("a job is dead", "job", t.ID, "kind", t.Kind, "attempts", t.Attempt, "error", cause)
	return nil
}

// failure returns the part of an update that stores the error of an attempt.
func (t *Taken) failure(cause error) bson.E {
	text := "unknown"
	if cause != nil {
		text = cause.Error()
	}
	if len(text) > maxErrorLength {
		text = text[:maxErrorLength]
	}
	f := Failure{Attempt: t.Attempt, At: t.queue.env.Now(), Error: strings.ToValidUTF8(text, "?")}
	return bson.E{"$push", bson.D{{"errors", bson.D{
		{"$each", bson.A{f}}, {"$slice", -maxErrors},
	}}}}
}

// Release gives the job back as if it had not been taken: the attempt does not count.
func (t *Taken) Release(ctx context.Context) error {
	return t.putBack(ctx, bson.E{"at", t.queue.env.Now()})
}

// snooze gives the job back for a later time. The attempt does not count.
func (t *Taken) snooze(ctx context.Context, d time.Duration) error {
	return t.putBack(ctx, bson.E{"at", t.queue.env.Now().Add(d)})
}

// putBack ends an attempt that does not count.
func (t *Taken) putBack(ctx context.Context, at bson.E) error {
	err := t.change(ctx, "release", bson.D{
		{"$set", bson.D{at}}, noOwner, {"$inc", bson.D{{"attempt", -1}}},
	})
	if err == nil {
		t.ended = true
	}
	return err
}

// Note stores a value with the job under a field name, and extends the lease. The next attempt can
// continue from the value, and people can see the job's progress. Notes are part of the job's
// document, which may have 16 MiB.
func (t *Taken) Note(ctx context.Context, name string, v any) error {
	set := bson.D{{"notes." + name, v}, {"at", t.queue.env.Now().Add(t.queue.cfg.Lease)}}
	return t.change(ctx, "note something of", bson.D{{"$set", set}})
}

// Noted decodes a value that an earlier attempt has stored with Note. It reports whether the value
// exists.
func (j *Job) Noted(name string, into any) (bool, error) {
	if j.Notes == nil {
		return false, nil
	}
	v, err := j.Notes.LookupErr(name)
	if err != nil {
		return false, nil //nolint:nilerr // the note does not exist
	}
	if err := v.Unmarshal(into); err != nil {
		return true, fmt.Errorf("queue: the note %s of job %s: %w", name, j.ID, err)
	}
	return true, nil
}

// onceKept is the number of jobs that a document remembers for Once.
const onceKept = 100

// Once makes an update of another document take effect only once for this job, without a
// transaction. when is a condition for the update's filter: it does not match if the job has
// already made the update. remember is a part of the update that records the job in the field. The
// document remembers the last 100 jobs.
func (j *Job) Once(field string) (when, remember bson.E) {
	return bson.E{field, bson.D{{"$ne", j.ID}}},
		bson.E{"$push", bson.D{{field, bson.D{
			{"$each", bson.A{j.ID}}, {"$slice", -onceKept},
		}}}}
}
