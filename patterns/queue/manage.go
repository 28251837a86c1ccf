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

// Get returns a job. It asks the collections of the queue one after the other.
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

// Query says which jobs somebody wants to see. The zero value is all.
type Query struct {
	State State
	Kind  string
	Batch string
}

// Jobs returns jobs: those of one state in the order in which they are taken, or were, collection
// by collection.
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

// find reports whether to go on.
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

// cancelling is the update that takes a job back.
func (q *Queue) cancelling() bson.D {
	now := q.env.Now()
	set := bson.D{{"state", Cancelled}, {"ended", now}, {"expires", now.Add(q.cfg.KeepDone)}}
	return bson.D{{"$set", set}, noOwner}
}

// Cancel takes a job back that has not ended. One that is being worked on is cancelled at once:
// what its worker writes about it has no effect any more, and the context of its handler ends with
// the next heartbeat.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	filter := bson.D{{"_id", id}, {"state", bson.D{{"$in", bson.A{Open, Held}}}}}
	return q.update(ctx, "cancel", id, filter, q.cancelling())
}

// Requeue opens a job that has ended again, with all its attempts before it. Its errors and notes
// stay. It fails with ErrExists where another open job has its Unique meanwhile.
func (q *Queue) Requeue(ctx context.Context, id string) error {
	filter := bson.D{{"_id", id}, {"state", bson.D{{"$in", bson.A{Done, Dead, Cancelled}}}}}
	gone := bson.D{{"ended", ""}, {"expires", ""}, {"result", ""}, {"waits", ""}}
	return q.update(ctx, "requeue", id, filter, bson.D{
		{"$set", bson.D{{"state", Open}, {"at", q.env.Now()}, {"attempt", 0}}},
		{"$unset", gone},
	})
}

// RequeueDead opens all dead letters again, of one kind if it is given, and returns how many. Those
// whose Unique another job has meanwhile stay.
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

// update changes one job, in whichever collection it is.
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

// Purge removes the jobs that have ended in a state before a time, and returns how many: dead
// letters that nobody wants any more.
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

// Stats are how many jobs there are.
type Stats struct {
	Waiting int64 // due, and not held by a worker whose lease lasts
	Delayed int64 // not due
	Running int64 // held by a worker
	Held    int64
	Done    int64
	Dead    int64
	// Cancelled jobs were taken back.
	Cancelled int64
	// Oldest is how long the first of those that wait has been due.
	Oldest time.Duration
}

// Stats counts the jobs: two commands for each collection, of which the first reads the index
// alone, and the second the open jobs that are not due.
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
	s.Delayed = max(s.Delayed, 0) // jobs that were taken between the two counts
	return nil
}
