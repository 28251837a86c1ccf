package patterns

import (
	"context"
	"log/slog"
	"time"
)

// Env has the clock, the logger and the counters of a pattern. With the zero value, a pattern uses
// the clock of the system, logs nothing and counts nothing.
type Env struct {
	// Clock tells the time. If several machines share data, their clocks should differ by much less
	// than the leases and hold times of the Config.
	Clock Clock
	// Logger gets messages for operators, for example that a process took over work or repaired
	// documents.
	Logger *slog.Logger
	// Metrics gets the counts and durations of the pattern's operations.
	Metrics Metrics
}

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, or until ctx ends. If ctx ends first, Sleep returns the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

// Metrics receives counts and durations under names such as "queue.taken". Its methods must be safe
// for concurrent use, and must not block.
type Metrics interface {
	// Add adds to a counter.
	Add(name string, n int64)
	// Observe records a duration.
	Observe(name string, d time.Duration)
}

// WithDefaults returns e with a default for each nil field.
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

// Now returns the time in milliseconds, which is the precision of times in documents.
func (e Env) Now() time.Time { return e.Clock.Now().UTC().Truncate(time.Millisecond) }

// Repeat calls fn, sleeps for pace, and repeats this until ctx ends. Then it returns the error of
// ctx. It logs each error of fn with the message failed, and goes on.
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
