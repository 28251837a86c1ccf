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

// Bounds of what a job collects in the course of its life.
const (
	maxErrors      = 10
	maxErrorLength = 1000
)

// Taken is a job that is held by this process for a lease. Its methods are what the holder may do;
// each is one update on the condition that it is still held, and returns ErrLost where it is not. A
// lease that has ended is no loss as long as nobody else takes the job.
type Taken struct {
	Job
	queue  *Queue
	lane   *mongo.Collection
	result any
	ended  bool
}

// Take takes the first job that is due, and holds it for a lease. It fails with ErrEmpty where
// there is none. A job whose attempts are used up because its workers died goes to the dead letters
// on the way.
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
		job.Attempt = job.MaxAttempts // the one that begins here does not take place
		q.env.Logger.Warn("the workers of a job have died", "job", job.ID, "kind", job.Kind, "attempts", job.Attempt)
		if err := job.bury(ctx, errAbandoned); err != nil && !errors.Is(err, ErrLost) {
			return nil, err
		}
	}
}

var errAbandoned = errors.New("queue: the workers died")

// change is an update on the condition that the job is held.
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

// noOwner belongs to every update by which a job is held no more.
var noOwner = bson.E{"$unset", bson.D{{"owner", ""}}}

// Extend begins the lease anew: the heartbeat. A Worker does it for its jobs.
func (t *Taken) Extend(ctx context.Context) error {
	until := bson.D{{"at", t.queue.env.Now().Add(t.queue.cfg.Lease)}}
	return t.change(ctx, "extend", bson.D{{"$set", until}})
}

// SetResult sets what Done stores as the job's result.
func (t *Taken) SetResult(v any) { t.result = v }

// Done ends the job: it has succeeded. Where another job waits for it, that one is told first; a
// second command. In a transaction it happens together with what else the transaction does: see
// DoneWith.
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

// DoneWith runs fn in a transaction that also ends the job: what fn writes with its ctx to the same
// deployment happens exactly once. fn may run several times until the transaction commits. It fails
// with ErrNoTransactions where the server has none.
func (t *Taken) DoneWith(ctx context.Context, fn func(ctx context.Context) error) error {
	session, err := t.lane.Database().Client().StartSession()
	if err != nil {
		return fmt.Errorf("queue: start a session: %w", err)
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		// the driver repeats a transaction for two minutes where no server can be reached, whatever
		// becomes of ctx
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

// illegalOperation is the code of servers that have no transactions.
const illegalOperation = 20

// ErrNoTransactions is returned by DoneWith where the server is no member of a replica set.
var ErrNoTransactions = errors.New("queue: the server has no transactions")

// Fail ends an attempt: the job is tried again after a while, or goes to the dead letters if this
// was its last attempt, or if cause is made by Discard.
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

// bury brings the job to the dead letters.
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

// failure is the part of an update that notes why an attempt has failed.
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

// snooze gives the job back for a later time; the attempt does not count.
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

// Note keeps a value with the job, for the next attempt to go on from, or for people to see how far
// it is; and extends the lease. The name is that of a field. Notes are part of the job's document,
// which may have 16 MiB.
func (t *Taken) Note(ctx context.Context, name string, v any) error {
	set := bson.D{{"notes." + name, v}, {"at", t.queue.env.Now().Add(t.queue.cfg.Lease)}}
	return t.change(ctx, "note something of", bson.D{{"$set", set}})
}

// Noted reads a value that an earlier attempt has kept, and reports whether there is one.
func (j *Job) Noted(name string, into any) (bool, error) {
	if j.Notes == nil {
		return false, nil
	}
	v, err := j.Notes.LookupErr(name)
	if err != nil {
		return false, nil //nolint:nilerr // there is no such note
	}
	if err := v.Unmarshal(into); err != nil {
		return true, fmt.Errorf("queue: the note %s of job %s: %w", name, j.ID, err)
	}
	return true, nil
}

// onceKept is how many jobs a document remembers that Once was used for.
const onceKept = 100

// Once returns the condition by which an update of another document has no effect when this job has
// made it before, and the part of the update that makes that so, without any transaction. The
// document remembers the last 100 jobs in the field.
//
//	when, remember := job.Once("jobs")
//	res, err := accounts.UpdateOne(ctx, bson.D{{"_id", id}, when}, bson.D{{"$inc", bson.D{{"balance", 5}}}, remember})
func (j *Job) Once(field string) (when, remember bson.E) {
	return bson.E{field, bson.D{{"$ne", j.ID}}},
		bson.E{"$push", bson.D{{field, bson.D{
			{"$each", bson.A{j.ID}}, {"$slice", -onceKept},
		}}}}
}
