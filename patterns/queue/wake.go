package queue

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// One of the slots that have nothing to do looks out for all: it waits until it is time to look, or
// somebody kicks it. Then it hands the lookout on and looks. One that finds a job kicks the
// lookout, as there may be more. So an idle worker asks once in Poll, however many slots it has,
// and one with jobs fills all its slots.

// wait returns when there may be a job.
func (w *Worker) wait(ctx context.Context) {
	select {
	case w.lookout <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-w.lookout }()
	sleep, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = w.queue.env.Clock.Sleep(sleep, w.cfg.Poll) // it ends early when ctx does
	}()
	select {
	case <-w.kick:
	case <-over:
	}
}

// wake lets a slot that has nothing to do look for a job.
func (w *Worker) wake() {
	select {
	case w.kick <- struct{}{}:
	default: // somebody is about to look
	}
}

// noChangeStreams is the code of servers that have none: they are no members of a replica set.
const noChangeStreams = 40573

// streamPause is how long a worker does without changes that it could not follow. The driver has
// tried again before it says so.
const streamPause = 30 * time.Second

// listen wakes the worker for jobs that are put or opened, as long as the server has change
// streams.
func (w *Worker) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.follow(ctx)
		var server mongo.ServerError
		if errors.As(err, &server) && server.HasErrorCode(noChangeStreams) {
			w.queue.env.Logger.Debug("the server has no change streams: jobs are found by polling")
			return
		}
		if ctx.Err() == nil {
			w.queue.env.Logger.Warn("the changes of a queue cannot be followed", "error", err)
		}
		// it ends early when ctx does; jobs are found by polling meanwhile
		_ = w.queue.env.Clock.Sleep(ctx, streamPause)
	}
}

// follow returns why the changes cannot be followed any more.
func (w *Worker) follow(ctx context.Context) error {
	names := bson.A{}
	for _, lane := range w.queue.lanes {
		names = append(names, lane.Name())
	}
	stream, err := w.queue.db.Watch(ctx, mongo.Pipeline{
		{{"$match", bson.D{
			{"ns.coll", bson.D{{"$in", names}}},
			{"$or", bson.A{
				bson.D{{"operationType", "insert"}},
				bson.D{{"updateDescription.updatedFields.state", Open}},
			}},
		}}},
		{{"$project", bson.D{{"_id", 1}}}},
	})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close(context.WithoutCancel(ctx)) }()
	for stream.Next(ctx) {
		w.wake()
	}
	return stream.Err()
}
