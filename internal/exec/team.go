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

// team are the goroutines that read the parts of one input: the caller's, and others that start while it is at work and
// processors are idle.
type team struct {
	procs *Processors
	node  func() Node // makes what one of them reads
	wake  func()      // tells those who wait that one has failed; nil where nobody waits
	work  func(ctx context.Context, in Node) error

	failed  atomic.Bool
	running sync.WaitGroup // the goroutines that were started

	mu      sync.Mutex
	workers int   // their number, with the caller
	err     error // the first one
	panic   any   // of a started goroutine
}

// errOtherFailed ends workers after another's error, which is the one that is reported.
var errOtherFailed = errors.New("exec: another worker of the team failed")

// run lets the caller work, waits for those who were recruited meanwhile, and returns the first error.
func (t *team) run(ctx context.Context, work func(ctx context.Context, in Node) error) error {
	t.work = work
	t.procs.enter()
	defer t.procs.leave()
	t.workers = 1
	func() {
		defer t.running.Wait() // in a panic too: the reader is the caller's
		t.call(ctx)
	}()
	if t.panic != nil {
		panic(t.panic)
	}
	return t.err
}

// Workers returns how many goroutines took part, after Run.
func (t *team) Workers() int { return t.workers }

// call is the life of one worker.
func (t *team) call(ctx context.Context) {
	in := t.node()
	// A panic goes on, but does not leave the others waiting.
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

// recruit starts another worker if there is a processor for it.
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
		// The panic belongs to the operation, which knows what to do about it: run panics in its goroutine.
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

// fail ends the work of all.
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
