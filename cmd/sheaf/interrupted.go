package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// interruptedError says that a signal ended a command, and what the command left behind.
type interruptedError struct {
	cause error // the cause of the context's end, which names the signal
	left  string
}

// Error returns the signal first, and then what is left.
func (e interruptedError) Error() string {
	return fmt.Sprintf("interrupted (%v): %s", e.cause, e.left)
}

// Unwrap returns context.Canceled, so that errors.Is finds it.
func (e interruptedError) Unwrap() error { return context.Canceled }

// isInterrupted reports whether a command ended because its context was canceled.
func isInterrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// explainInterrupt adds the name of the signal to an error that does not have it.
func explainInterrupt(ctx context.Context, err error) error {
	var told interruptedError
	if !isInterrupted(ctx, err) || errors.As(err, &told) {
		return err
	}
	left := libraryError{err}.Error()
	if left == context.Canceled.Error() {
		left = "the command is not finished"
	}
	return interruptedError{context.Cause(ctx), left}
}

// interruptible returns a reader whose reads end when ctx ends, even while they wait for input.
// Data that arrives after that is lost.
func interruptible(ctx context.Context, in io.Reader) io.Reader {
	return &interruptibleReader{ctx: ctx, in: in, done: make(chan readResult, 1)}
}

type interruptibleReader struct {
	ctx  context.Context
	in   io.Reader
	buf  []byte
	done chan readResult
}

type readResult struct {
	n   int
	err error
}

// Read implements io.Reader.
func (r *interruptibleReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if len(r.buf) < len(p) {
		r.buf = make([]byte, len(p))
	}
	buf := r.buf[:len(p)] // not into p: the caller may reuse p while a read hangs
	go func() {
		n, err := r.in.Read(buf)
		r.done <- readResult{n, err}
	}()
	select {
	case got := <-r.done:
		return copy(p, buf[:got.n]), got.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}
