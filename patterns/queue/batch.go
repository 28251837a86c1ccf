package queue

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// MaxBatch is how many jobs a batch has at most, which bounds the document of the job that follows
// it.
const MaxBatch = 1000

// Batch is several jobs that belong together.
type Batch struct {
	// ID names the batch. Its jobs have the IDs ID/0, ID/1 and so on, the one that follows ID/then.
	ID   string
	Jobs []Spec
	// Then is a job that is held until all the others have succeeded. It may be nil.
	Then *Spec
}

// PutBatch puts the jobs of a batch and the one that follows them, by one insert: all of them or
// none, as far as one process can tell. It may be called again with the same ID when it is not
// known whether they were put; those that exist are left as they are.
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

// tell lets the job that follows a batch know that one of the batch's jobs has succeeded. The last
// one opens it. It comes before the job itself is ended: if the process dies in between, the job is
// done again, and telling twice is telling once.
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

// Progress returns how many jobs of a batch are in each state, with the one that follows.
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

// CancelBatch cancels what has not ended of a batch, as Cancel does, and returns how many jobs
// those were.
func (q *Queue) CancelBatch(ctx context.Context, batch string) (int64, error) {
	filter := bson.D{{"batch", batch}, {"state", bson.D{{"$in", bson.A{Open, Held}}}}}
	res, err := q.lane(batch).UpdateMany(ctx, filter, q.cancelling())
	if err != nil {
		return 0, fmt.Errorf("queue: cancel batch %s: %w", batch, err)
	}
	return res.ModifiedCount, nil
}
