package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// These errors and ErrLost are the causes for which the context of a handler ends.
var (
	// ErrStopped says that the worker is stopping and its grace period is over. The job goes back
	// to the queue.
	ErrStopped = errors.New("queue: the worker stops")
	// ErrTimeout says that the job took longer than WorkerConfig.Timeout.
	ErrTimeout = errors.New("queue: the job takes too long")
)

// The defaults of WorkerConfig.
const (
	DefaultConcurrency = 8
	DefaultPoll        = time.Second
	DefaultGrace       = 30 * time.Second
)

// Handler executes a job. If it returns nil, the job is done. Otherwise the job is tried again
// later; Discard and Snooze return errors for other outcomes. The context ends if the job is lost
// or cancelled, takes too long, or the worker stops; context.Cause tells the reason.
type Handler func(ctx context.Context, job *Taken) error

// Kinds maps the kinds of jobs to their handlers.
type Kinds map[string]Handler

// Handle is a Handler that calls the handler of the job's kind. A job without a handler fails, so
// that a worker of a newer version that knows the kind can take it later.
func (k Kinds) Handle(ctx context.Context, job *Taken) error {
	h, ok := k[job.Kind]
	if !ok {
		return fmt.Errorf("queue: nobody here does %q", job.Kind)
	}
	return h(ctx, job)
}

// Typed returns a Handler that decodes the payload into a T and calls fn. If the payload does not
// decode, the job becomes a dead letter.
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
	// Concurrency is the number of jobs that the worker executes at the same time;
	// DefaultConcurrency if zero.
	Concurrency int
	// Poll is the interval at which an idle worker looks for jobs that have become due; DefaultPoll
	// if zero. If the server supports change streams, new jobs wake the worker at once.
	Poll time.Duration
	// PollOnly turns off the change stream.
	PollOnly bool
	// Grace is the time for which handlers may continue after ctx of Run has ended; DefaultGrace if
	// zero.
	Grace time.Duration
	// Timeout is the longest time for one attempt; no limit if zero.
	Timeout time.Duration
}

// Worker executes the jobs of a queue.
type Worker struct {
	queue   *Queue
	cfg     WorkerConfig
	handler Handler
	lookout chan struct{} // held by the slot that waits for jobs; the other idle slots wait to get it
	kick    chan struct{} // receives a value when there may be a job
}

// NewWorker returns a worker. Call Run to start it.
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

// Run executes jobs until ctx ends. Then it takes no more jobs, lets the handlers continue for
// Grace, and then ends their contexts. It returns when the last handler has returned. Jobs that it
// had to stop go back to the queue.
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

// slot executes one job after the other. The end of ctx does not interrupt Take: otherwise the job
// could be taken and then forgotten.
func (w *Worker) slot(ctx, hard context.Context) {
	for ctx.Err() == nil {
		job, err := w.queue.Take(hard)
		if err == nil && ctx.Err() != nil { // ctx ended during Take
			if err := job.Release(hard); err != nil {
				w.queue.env.Logger.Warn("a job could not be given back", "job", job.ID, "error", err)
			}
			return
		}
		if err == nil {
			w.wake() // there may be more jobs: wake another slot
			w.do(hard, job)
			continue
		}
		if !errors.Is(err, ErrEmpty) {
			w.queue.env.Logger.Error("no job can be taken", "error", err)
		}
		w.wait(ctx)
	}
}

// do executes a job and stores its outcome.
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
	said := job.ended // the handler has called Done, Fail or Release, unless its transaction has failed
	if err := w.conclude(last, job, err, cause); err != nil && !(said && errors.Is(err, ErrLost)) {
		q.env.Logger.Warn("what became of a job could not be said", "job", job.ID, "kind", job.Kind, "error", err)
	}
}

// conclude stores the outcome of a job. cause is the reason for which its context has ended, or
// nil.
func (w *Worker) conclude(ctx context.Context, job *Taken, err, cause error) error {
	var snooze *snoozeError
	switch {
	case job.ended && err == nil: // the handler has ended the job itself
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

// call runs the handler, and turns a panic into an error.
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

// beat extends the lease three times per lease, until ctx ends or the job is lost.
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
		// after another error, try again while the lease lasts
		case errors.Is(err, ErrLost) || !now.Before(until):
			q.env.Logger.Warn("a job was lost", "job", job.ID, "kind", job.Kind, "error", err)
			cancel(ErrLost)
			return
		}
	}
}
