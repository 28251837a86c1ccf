package queue

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// MaxBatch is the largest number of jobs in a batch. It limits the size of the follow-up job's
// document, which lists the jobs of the batch.
const MaxBatch = 1000

// Batch is a set of jobs that belong together.
type Batch struct {
	// ID names the batch. Its jobs get the IDs ID/0, ID/1 and so on, and the job Then gets ID/then.
	ID   string
	Jobs []Spec
	// Then is a follow-up job that is held until all jobs of the batch have succeeded. It may be
	// nil.
	Then *Spec
}

// PutBatch puts the jobs of a batch and its follow-up job with one insert. If the process dies,
// either all jobs are stored or none. A caller that does not know whether the batch was stored may
// call PutBatch again with the same ID; it leaves existing jobs as they are.
func (q *Queue) PutBatch(ctx context.Context, b Batch) error {
	if b.ID == "" || len(b.Jobs) == 0 || len(b.Jobs) > MaxBatch {
		return fmt.Errorf("queue: a batch has an ID and 1 to %d jobs, not %q and %d", MaxBatch, b.ID, len(b.Jobs))
	}
	var jobs []*Job
	add := func(s Spec, name string) (*Job, error) {
		if s.ID != "" || s.Unique != "" {
			return nil, errors.New("queue: a job of a batch has neither an ID of its own nor Unique")
		}
		s.ID = b.ID + "/" + name
		job, err := q.job(&s)
		if err != nil {
			return nil, err
		}
		job.Batch = b.ID
		jobs = append(jobs, job)
		return job, nil
	}
	for i, s := range b.Jobs {
		if _, err := add(s, fmt.Sprint(i)); err != nil {
			return err
		}
	}
	if b.Then != nil {
		members := jobs
		then, err := add(*b.Then, "then")
		if err != nil {
			return err
		}
		then.State = Held
		for _, job := range members {
			then.Waits, job.Next = append(then.Waits, job.ID), then.ID
		}
	}
	_, err := q.insert(ctx, q.lane(b.ID), jobs)
	return err
}

// tell removes a job that has succeeded from the waiting list of its follow-up job. The last job of
// the batch opens the follow-up job. Done calls tell before it ends the job itself: if the process
// dies in between, the job runs again, and the second call of tell changes nothing.
func (q *Queue) tell(ctx context.Context, t *Taken) error {
	others := bson.D{{"$filter", bson.D{
		{"input", "$waits"},
		{"cond", bson.D{{"$ne", bson.A{"$$this", bson.D{{"$literal", t.ID}}}}}},
	}}}
	last := bson.D{{"$eq", bson.A{bson.D{{"$size", "$waits"}}, 0}}}
	_, err := t.lane.UpdateOne(ctx, bson.D{{"_id", t.Next}, {"state", Held}}, mongo.Pipeline{
		{{"$set", bson.D{{"waits", others}}}},
		{{"$set", bson.D{{"state", bson.D{{"$cond", bson.A{last, Open, Held}}}}}}},
	})
	if err != nil {
		return fmt.Errorf("queue: tell job %s that %s is done: %w", t.Next, t.ID, err)
	}
	return nil
}

// Progress returns the number of jobs of a batch in each state. The follow-up job counts too.
func (q *Queue) Progress(ctx context.Context, batch string) (map[State]int, error) {
	found, err := q.lane(batch).Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{{"batch", batch}}}},
		{{"$group", bson.D{{"_id", "$state"}, {"n", bson.D{{"$sum", 1}}}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("queue: count batch %s: %w", batch, err)
	}
	var groups []struct {
		State State `bson:"_id"`
		N     int   `bson:"n"`
	}
	if err := found.All(ctx, &groups); err != nil {
		return nil, fmt.Errorf("queue: count batch %s: %w", batch, err)
	}
	out := make(map[State]int)
	for _, g := range groups {
		out[g.State] = g.N
	}
	return out, nil
}

// CancelBatch cancels the jobs of a batch that have not ended, as Cancel does, and returns their
// number.
func (q *Queue) CancelBatch(ctx context.Context, batch string) (int64, error) {
	filter := bson.D{{"batch", batch}, {"state", bson.D{{"$in", bson.A{Open, Held}}}}}
	res, err := q.lane(batch).UpdateMany(ctx, filter, q.cancelling())
	if err != nil {
		return 0, fmt.Errorf("queue: cancel batch %s: %w", batch, err)
	}
	return res.ModifiedCount, nil
}
