package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Get returns the job with this id, or ErrNotFound. It queries the collections of the queue one
// after the other.
func (q *Queue) Get(ctx context.Context, id string) (*Job, error) {
	for _, lane := range q.lanes {
		job := &Job{}
		err := lane.FindOne(ctx, bson.D{{"_id", id}}).Decode(job)
		if err == nil {
			return job, nil
		}
		if !errors.Is(err, mongo.ErrNoDocuments) {
			return nil, fmt.Errorf("queue: get job %s: %w", id, err)
		}
	}
	return nil, ErrNotFound
}

// Query selects jobs. The zero value selects all jobs.
type Query struct {
	State State
	Kind  string
	Batch string
}

// Jobs yields the selected jobs, sorted by state, collection, and the order in which jobs are
// taken.
func (q *Queue) Jobs(ctx context.Context, which Query) iter.Seq2[*Job, error] {
	list := states[:]
	if which.State != "" {
		list = []State{which.State}
	}
	return func(yield func(*Job, error) bool) {
		for _, state := range list {
			filter := bson.D{{"state", state}}
			if which.Kind != "" {
				filter = append(filter, bson.E{"kind", which.Kind})
			}
			if which.Batch != "" {
				filter = append(filter, bson.E{"batch", which.Batch})
			}
			for _, lane := range q.lanes {
				if !q.find(ctx, lane, filter, yield) {
					return
				}
			}
		}
	}
}

// find yields the jobs of one collection. It reports whether the iteration shall continue.
func (q *Queue) find(ctx context.Context, lane *mongo.Collection, filter bson.D, yield func(*Job, error) bool) bool {
	found, err := lane.Find(ctx, filter, options.Find().SetSort(q.order()))
	if err != nil {
		yield(nil, fmt.Errorf("queue: find jobs: %w", err))
		return false
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	for found.Next(ctx) {
		job := &Job{}
		if err := found.Decode(job); err != nil {
			yield(nil, fmt.Errorf("queue: decode a job of %s: %w", lane.Name(), err))
			return false
		}
		if !yield(job, nil) {
			return false
		}
	}
	if err := found.Err(); err != nil {
		yield(nil, fmt.Errorf("queue: read %s: %w", lane.Name(), err))
		return false
	}
	return true
}

// cancelling returns the update that cancels a job.
func (q *Queue) cancelling() bson.D {
	now := q.env.Now()
	set := bson.D{{"state", Cancelled}, {"ended", now}, {"expires", now.Add(q.cfg.KeepDone)}}
	return bson.D{{"$set", set}, noOwner}
}

// Cancel cancels a job that has not ended. If a worker holds the job, the worker's later writes to
// the job have no effect, and the handler's context ends at the next heartbeat.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	filter := bson.D{{"_id", id}, {"state", bson.D{{"$in", bson.A{Open, Held}}}}}
	return q.update(ctx, "cancel", id, filter, q.cancelling())
}

// Requeue opens an ended job again, with a full number of attempts. The job keeps its errors and
// notes. Requeue fails with ErrExists if another open job has the same Unique by now.
func (q *Queue) Requeue(ctx context.Context, id string) error {
	filter := bson.D{{"_id", id}, {"state", bson.D{{"$in", bson.A{Done, Dead, Cancelled}}}}}
	gone := bson.D{{"ended", ""}, {"expires", ""}, {"result", ""}, {"waits", ""}}
	return q.update(ctx, "requeue", id, filter, bson.D{
		{"$set", bson.D{{"state", Open}, {"at", q.env.Now()}, {"attempt", 0}}},
		{"$unset", gone},
	})
}

// RequeueDead opens all dead letters again and returns their number. If kind is not empty, it opens
// only jobs of that kind. It skips jobs whose Unique another open job has by now.
func (q *Queue) RequeueDead(ctx context.Context, kind string) (n int, err error) {
	for job, err := range q.Jobs(ctx, Query{State: Dead, Kind: kind}) {
		if err != nil {
			return n, err
		}
		err = q.Requeue(ctx, job.ID)
		if err == nil {
			n++
		} else if !errors.Is(err, ErrExists) && !errors.Is(err, ErrNotFound) {
			return n, err
		}
	}
	return n, nil
}

// update changes a job in the collection that contains it.
func (q *Queue) update(ctx context.Context, what, id string, filter, change bson.D) error {
	for _, lane := range q.lanes {
		res, err := lane.UpdateOne(ctx, filter, change)
		if mongo.IsDuplicateKeyError(err) {
			return ErrExists
		}
		if err != nil {
			return fmt.Errorf("queue: %s job %s: %w", what, id, err)
		}
		if res.MatchedCount > 0 {
			return nil
		}
	}
	return ErrNotFound
}

// Purge removes the jobs in a state that ended before a time, for example old dead letters, and
// returns their number. The state must not be Open or Held.
func (q *Queue) Purge(ctx context.Context, state State, before time.Time) (n int64, err error) {
	if state == Open || state == Held {
		return 0, fmt.Errorf("queue: jobs that are %s have not ended", state)
	}
	filter := bson.D{{"state", state}, {"ended", bson.D{{"$lt", before}}}}
	for _, lane := range q.lanes {
		res, err := lane.DeleteMany(ctx, filter)
		if err != nil {
			return n, fmt.Errorf("queue: purge %s: %w", lane.Name(), err)
		}
		n += res.DeletedCount
	}
	return n, nil
}

// Stats holds the number of jobs in each state.
type Stats struct {
	Waiting int64 // due, and not held by a worker with a valid lease
	Delayed int64 // not due yet
	Running int64 // held by a worker
	Held    int64
	Done    int64
	Dead    int64
	// Cancelled is the number of cancelled jobs.
	Cancelled int64
	// Oldest is the time for which the first waiting job has been due.
	Oldest time.Duration
}

// Stats counts the jobs with two commands for each collection. The first command reads only the
// index. The second reads the open jobs that are not due.
func (q *Queue) Stats(ctx context.Context) (*Stats, error) {
	out, now := &Stats{}, q.env.Now()
	for _, lane := range q.lanes {
		if err := out.count(ctx, lane, now); err != nil {
			return nil, fmt.Errorf("queue: count the jobs of %s: %w", lane.Name(), err)
		}
	}
	return out, nil
}

func (s *Stats) count(ctx context.Context, lane *mongo.Collection, now time.Time) error {
	due := bson.D{{"$lte", bson.A{"$at", now}}}
	found, err := lane.Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{{"state", bson.D{{"$in", states[:]}}}}}},
		{{"$group", bson.D{
			{"_id", bson.D{{"state", "$state"}, {"due", due}}},
			{"n", bson.D{{"$sum", 1}}},
			{"first", bson.D{{"$min", "$at"}}},
		}}},
	})
	if err != nil {
		return err
	}
	var groups []struct {
		ID struct {
			State State
			Due   bool
		} `bson:"_id"`
		N     int64
		First time.Time
	}
	if err := found.All(ctx, &groups); err != nil {
		return err
	}
	running, err := lane.CountDocuments(ctx, bson.D{
		{"state", Open}, {"at", bson.D{{"$gt", now}}}, {"owner", bson.D{{"$exists", true}}},
	})
	if err != nil {
		return err
	}
	s.Running += running
	s.Delayed -= running
	fields := map[State]*int64{Open: &s.Delayed, Held: &s.Held, Done: &s.Done, Dead: &s.Dead, Cancelled: &s.Cancelled}
	for _, g := range groups {
		if g.ID.State == Open && g.ID.Due {
			s.Waiting += g.N
			s.Oldest = max(s.Oldest, now.Sub(g.First))
			continue
		}
		*fields[g.ID.State] += g.N
	}
	s.Delayed = max(s.Delayed, 0) // workers may have taken jobs between the two counts
	return nil
}
