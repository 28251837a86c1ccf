package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// maxWorkers bounds the goroutines of one team.
const maxWorkers = 4

// team is a group of goroutines that read parts of one input: the caller's goroutine, and others
// that start while work is in progress and processors are idle.
type team struct {
	procs *Processors
	node  func() Node // returns the node for a new worker
	wake  func()      // wakes waiting workers after an error; nil if workers never wait
	work  func(ctx context.Context, in Node) error

	failed  atomic.Bool
	running sync.WaitGroup // the goroutines that were started

	mu      sync.Mutex
	workers int   // number of workers, including the caller
	err     error // the first error
	panic   any   // panic of a started goroutine
}

// errOtherFailed ends a worker after another worker has failed. run returns the error of that other
// worker.
var errOtherFailed = errors.New("exec: another worker of the team failed")

// run works in the caller's goroutine and waits for the workers that were recruited. It returns the
// first error.
func (t *team) run(ctx context.Context, work func(ctx context.Context, in Node) error) error {
	t.work = work
	t.procs.enter()
	defer t.procs.leave()
	t.workers = 1
	func() {
		defer t.running.Wait() // after a panic too: the workers use the caller's reader
		t.call(ctx)
	}()
	if t.panic != nil {
		panic(t.panic)
	}
	return t.err
}

// Workers returns the number of goroutines that took part. It is valid after Run.
func (t *team) Workers() int { return t.workers }

// call runs the work in the current goroutine, with an input of its own.
func (t *team) call(ctx context.Context) {
	in := t.node()
	// A panic propagates, but the other workers must not wait for this one.
	done := false
	defer func() {
		in.Close()
		if !done {
			t.fail(errors.New("exec: a worker of the team panicked"))
		}
	}()
	err := t.work(ctx, in)
	done = true
	if err != nil {
		t.fail(err)
	}
}

// recruit starts another worker if a processor is idle.
func (t *team) recruit(ctx context.Context) {
	if t.procs.busy.Load() >= t.procs.total {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.workers == maxWorkers || t.err != nil || !t.procs.borrow() {
		return
	}
	t.workers++
	t.running.Go(func() {
		defer t.procs.leave()
		// The panic belongs to the operation, whose goroutine knows how to handle it: run repeats
		// it there.
		defer func() {
			if v := recover(); v != nil {
				t.mu.Lock()
				t.panic = fmt.Sprintf("%v\n%s", v, debug.Stack())
				t.mu.Unlock()
			}
		}()
		t.call(ctx)
	})
}

// fail records the first error and makes all workers end.
func (t *team) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	t.failed.Store(true)
	if t.wake != nil {
		t.wake()
	}
}
