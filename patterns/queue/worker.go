package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Causes for which the context of a handler ends, beside ErrLost.
var (
	// ErrStopped says that the worker stops and its patience is over: the job goes back to the
	// queue.
	ErrStopped = errors.New("queue: the worker stops")
	// ErrTimeout says that the job has taken too long.
	ErrTimeout = errors.New("queue: the job takes too long")
)

// What a zero WorkerConfig stands for.
const (
	DefaultConcurrency = 8
	DefaultPoll        = time.Second
	DefaultGrace       = 30 * time.Second
)

// Handler does a job. It returns nil when the job is done; otherwise the job is tried again later,
// or see Discard and Snooze. Its context ends when the job is lost or cancelled, takes too long, or
// the worker stops; context.Cause tells which.
type Handler func(ctx context.Context, job *Taken) error

// Kinds is a choice of handlers by the kind of the job.
type Kinds map[string]Handler

// Handle is a Handler. A job of a kind that has none fails, and may find a worker of a newer
// version that knows it.
func (k Kinds) Handle(ctx context.Context, job *Taken) error {
	h, ok := k[job.Kind]
	if !ok {
		return fmt.Errorf("queue: nobody here does %q", job.Kind)
	}
	return h(ctx, job)
}

// Typed returns a Handler of one that takes the payload as a value. A payload that is no such value
// is discarded.
func Typed[T any](fn func(ctx context.Context, job *Taken, payload T) error) Handler {
	return func(ctx context.Context, job *Taken) error {
		var payload T
		if err := job.Decode(&payload); err != nil {
			return Discard(err)
		}
		return fn(ctx, job, payload)
	}
}

// WorkerConfig configures a Worker. The zero value works.
type WorkerConfig struct {
	// Concurrency is how many jobs are done at once; DefaultConcurrency if zero.
	Concurrency int
	// Poll is how often a worker with nothing to do looks for jobs that have become due;
	// DefaultPoll if zero. For jobs that are put it is woken at once where the server has change
	// streams.
	Poll time.Duration
	// PollOnly does without change streams.
	PollOnly bool
	// Grace is how long handlers may go on after the worker was told to stop; DefaultGrace if zero.
	Grace time.Duration
	// Timeout is how long one attempt may take; no limit if zero.
	Timeout time.Duration
}

// Worker does the jobs of a queue.
type Worker struct {
	queue   *Queue
	cfg     WorkerConfig
	handler Handler
	lookout chan struct{} // held by the one that waits for jobs; the others wait for it
	kick    chan struct{} // there may be a job
}

// NewWorker returns a worker. It does nothing until it is run.
func (q *Queue) NewWorker(handler Handler, cfg WorkerConfig) *Worker {
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = DefaultConcurrency
	}
	if cfg.Poll <= 0 {
		cfg.Poll = DefaultPoll
	}
	if cfg.Grace <= 0 {
		cfg.Grace = DefaultGrace
	}
	return &Worker{queue: q, cfg: cfg, handler: handler, lookout: make(chan struct{}, 1), kick: make(chan struct{}, 1)}
}

// Run does jobs until ctx ends. Then it takes no more, lets the handlers go on for Grace, then ends
// their contexts, and returns when the last of them has returned. Jobs that were stopped go back to
// the queue.
func (w *Worker) Run(ctx context.Context) error {
	hard, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	var slots, others sync.WaitGroup
	if !w.cfg.PollOnly {
		others.Go(func() { w.listen(ctx) })
	}
	others.Go(func() {
		select {
		case <-ctx.Done():
		case <-hard.Done():
			return
		}
		if w.queue.env.Clock.Sleep(hard, w.cfg.Grace) == nil {
			kill(ErrStopped)
		}
	})
	for range w.cfg.Concurrency {
		slots.Go(func() { w.slot(ctx, hard) })
	}
	slots.Wait()
	kill(nil)
	others.Wait()
	return ctx.Err()
}

// slot does one job after the other. Taking one is not interrupted by the end of ctx: it would be
// held by nobody.
func (w *Worker) slot(ctx, hard context.Context) {
	for ctx.Err() == nil {
		job, err := w.queue.Take(hard)
		if err == nil && ctx.Err() != nil { // told to stop meanwhile
			if err := job.Release(hard); err != nil {
				w.queue.env.Logger.Warn("a job could not be given back", "job", job.ID, "error", err)
			}
			return
		}
		if err == nil {
			w.wake() // where there was one there may be more
			w.do(hard, job)
			continue
		}
		if !errors.Is(err, ErrEmpty) {
			w.queue.env.Logger.Error("no job can be taken", "error", err)
		}
		w.wait(ctx)
	}
}

// do does a job and says how it went.
func (w *Worker) do(hard context.Context, job *Taken) {
	q := w.queue
	ctx, cancel := context.WithCancelCause(hard)
	var keepers sync.WaitGroup
	keepers.Go(func() { w.beat(ctx, job, cancel) })
	if w.cfg.Timeout > 0 {
		keepers.Go(func() {
			if q.env.Clock.Sleep(ctx, w.cfg.Timeout) == nil {
				cancel(ErrTimeout)
			}
		})
	}
	begin := q.env.Clock.Now()
	err := w.call(ctx, job)
	q.env.Metrics.Observe("queue.run", q.env.Clock.Now().Sub(begin))
	cause := context.Cause(ctx)
	cancel(nil)
	keepers.Wait()
	last, end := context.WithTimeout(context.WithoutCancel(hard), q.cfg.Lease)
	defer end()
	said := job.ended // by the handler, if the transaction in which it did so has not failed
	if err := w.conclude(last, job, err, cause); err != nil && !(said && errors.Is(err, ErrLost)) {
		q.env.Logger.Warn("what became of a job could not be said", "job", job.ID, "kind", job.Kind, "error", err)
	}
}

// conclude writes what became of a job; cause is why its context has ended, if it has.
func (w *Worker) conclude(ctx context.Context, job *Taken, err, cause error) error {
	var snooze *snoozeError
	switch {
	case job.ended && err == nil: // the handler has said it
		return nil
	case err == nil:
		return job.Done(ctx)
	case errors.Is(cause, ErrLost):
		return nil
	case errors.Is(cause, ErrStopped):
		return job.Release(ctx)
	case errors.Is(cause, ErrTimeout):
		return job.Fail(ctx, errors.Join(ErrTimeout, err))
	case errors.As(err, &snooze):
		return job.snooze(ctx, snooze.d)
	default:
		return job.Fail(ctx, err)
	}
}

// call runs the handler; a panic is an error.
func (w *Worker) call(ctx context.Context, job *Taken) (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.queue.env.Logger.Error("a handler panicked", "job", job.ID, "kind", job.Kind, "panic", r,
				"stack", string(debug.Stack()))
			err = fmt.Errorf("queue: the handler panicked: %v", r)
		}
	}()
	return w.handler(ctx, job)
}

// beat extends the lease three times in its length, until ctx ends or the job is lost.
func (w *Worker) beat(ctx context.Context, job *Taken, cancel context.CancelCauseFunc) {
	q := w.queue
	until := q.env.Now().Add(q.cfg.Lease)
	for q.env.Clock.Sleep(ctx, q.cfg.Lease/3) == nil {
		now := q.env.Now()
		err := job.Extend(ctx)
		switch {
		case err == nil:
			until = now.Add(q.cfg.Lease)
		case ctx.Err() != nil:
			return
		// one that fails for another reason is tried again while the lease lasts
		case errors.Is(err, ErrLost) || !now.Before(until):
			q.env.Logger.Warn("a job was lost", "job", job.ID, "kind", job.Kind, "error", err)
			cancel(ErrLost)
			return
		}
	}
}
