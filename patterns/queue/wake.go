package queue

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// A slot is a goroutine of a worker that executes jobs. Only one of the idle slots looks for jobs.
// This slot, the lookout, waits until the poll time is over or another goroutine kicks it; then
// another slot becomes the lookout, and this slot asks for a job. A slot that finds a job kicks the
// lookout, because there may be more jobs. So an idle worker sends one query per Poll, however many
// slots it has, and a busy worker fills all its slots.

// wait returns when a job may be due, or when ctx ends.
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
		_ = w.queue.env.Clock.Sleep(sleep, w.cfg.Poll) // Sleep returns early when the context ends
	}()
	select {
	case <-w.kick:
	case <-over:
	}
}

// wake makes an idle slot look for a job.
func (w *Worker) wake() {
	select {
	case w.kick <- struct{}{}:
	default: // a slot will look for a job anyway: kick holds a value
	}
}

// noChangeStreams is the error code of servers without change streams, which are not members of a
// replica set.
const noChangeStreams = 40573

// streamPause is the wait before a failed change stream is opened again. The driver has already
// retried before it returns an error.
const streamPause = 30 * time.Second

// listen wakes the worker when jobs are put or opened, if the server supports change streams.
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
		// Sleep returns early when ctx ends. Polling finds the jobs meanwhile.
		_ = w.queue.env.Clock.Sleep(ctx, streamPause)
	}
}

// follow wakes the worker for each change until the change stream fails, and returns its error.
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
