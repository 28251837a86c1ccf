package main

import (
	"context"
	"errors"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/queue"
	"github.com/sheafdb/sheaf/patterns/topic"
)

// spec returns the n-th job in the form that package queue takes.
func spec(n int64) queue.Spec {
	return queue.Spec{
		Kind: "resize", Priority: int(n * stride % priorities),
		Payload: bson.D{{"picture", n}, {"what", jobPayload}},
	}
}

func openQueue(ctx context.Context, db *mongo.Database, order queue.Order) (*queue.Queue, error) {
	q, err := queue.New(db, queue.Config{Order: order})
	if err != nil {
		return nil, err
	}
	return q, q.EnsureIndexes(ctx)
}

// usePut puts jobs into a queue with package queue.
func usePut(ctx context.Context, db *mongo.Database) (*routine, error) {
	q, err := openQueue(ctx, db, queue.ByPriority)
	return repeat(func(ctx context.Context, w *worker) error {
		_, err := q.Put(ctx, spec(w.ids.Add(1)))
		return err
	}), err
}

// useTake takes jobs from a queue and completes them with package queue.
func useTake(order queue.Order) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		q, err := openQueue(ctx, db, order)
		if err != nil {
			return nil, err
		}
		var last atomic.Int64
		more := func(n int) error {
			from := last.Add(int64(n)) - int64(n)
			specs := make([]queue.Spec, n)
			for i := range specs {
				specs[i] = spec(from + int64(i))
			}
			_, err := q.PutMany(ctx, specs)
			return err
		}
		return repeat(func(ctx context.Context, _ *worker) error {
			job, err := q.Take(ctx)
			if errors.Is(err, queue.ErrEmpty) {
				return more(insertBatch)
			}
			if err != nil {
				return err
			}
			return job.Done(ctx)
		}), more(waitingJobs)
	}
}

// useTopic publishes messages to subscribers with package topic.
func useTopic(ctx context.Context, db *mongo.Database) (*routine, error) {
	topics, err := topic.New(db, topic.Config{Size: topicSize})
	if err != nil {
		return nil, err
	}
	if err := topics.EnsureIndexes(ctx); err != nil {
		return nil, err
	}
	a, err := gather(ctx, func(ctx context.Context, ready func(), received *atomic.Int64) error {
		sub, err := topics.Subscribe(ctx, topic.Interest{})
		if err != nil {
			return err
		}
		defer sub.Close(context.WithoutCancel(ctx))
		ready()
		for _, err := range sub.All(ctx) {
			if err != nil {
				return err
			}
			received.Add(1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a.routine(func(ctx context.Context, n int64) error {
		return topics.Publish(ctx, "shares.PIP", tickerMessage(n)[1:])
	}), nil
}
