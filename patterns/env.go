package patterns

import (
	"context"
	"log/slog"
	"time"
)

// Env is the surroundings of a pattern. The zero value works: the system's clock, no log, no
// counters.
type Env struct {
	// Clock tells the time. Where processes on several machines share data, their clocks should
	// agree to well within the leases and holds that the pattern is configured with.
	Clock Clock
	// Logger is told what people should know: work that was taken over, documents that were mended.
	Logger *slog.Logger
	// Metrics counts.
	Metrics Metrics
}

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, or until ctx ends, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// Metrics receives figures. Names are of the form "queue.taken". Its methods are safe for
// concurrent use and return at once.
type Metrics interface {
	// Add increases a counter.
	Add(name string, n int64)
	// Observe notes how long something took.
	Observe(name string, d time.Duration)
}

// WithDefaults returns e with nothing left nil.
func (e Env) WithDefaults() Env {
	if e.Clock == nil {
		e.Clock = SystemClock{}
	}
	if e.Logger == nil {
		e.Logger = slog.New(slog.DiscardHandler)
	}
	if e.Metrics == nil {
		e.Metrics = noMetrics{}
	}
	return e
}

// Now returns the time to the millisecond, as documents keep it.
func (e Env) Now() time.Time { return e.Clock.Now().UTC().Truncate(time.Millisecond) }

// Repeat calls fn at a pace until ctx ends, whose error it returns. An error of fn is logged, with
// the message failed, and no reason to stop.
func Repeat(ctx context.Context, env Env, pace time.Duration, failed string, fn func(ctx context.Context) error) error {
	for {
		if err := fn(ctx); err != nil && ctx.Err() == nil {
			env.Logger.Error(failed, "error", err)
		}
		if err := env.Clock.Sleep(ctx, pace); err != nil {
			return err
		}
	}
}

// SystemClock is the clock of the machine.
type SystemClock struct{}

// Now implements Clock.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep implements Clock.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type noMetrics struct{}

func (noMetrics) Add(string, int64)             {}
func (noMetrics) Observe(string, time.Duration) {}
