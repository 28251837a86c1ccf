package patterns

import (
	"context"
	"log/slog"
	"time"
)

// Env has the clock, the logger and the counters that a pattern uses. The zero value takes the
// system's clock, and logs and counts nothing.
type Env struct {
	// Clock tells the time. The clocks of machines that share data should differ by much less than
	// the leases and hold times of the Config.
	Clock Clock
	// Logger gets messages for people: work that was taken over, documents that were mended.
	Logger *slog.Logger
	// Metrics gets counts and durations.
	Metrics Metrics
}

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, or until ctx ends. It returns the error of ctx then.
	Sleep(ctx context.Context, d time.Duration) error
}

// Metrics receives figures, with names such as "queue.taken". Its methods are safe for concurrent
// use and must not block.
type Metrics interface {
	// Add increases a counter.
	Add(name string, n int64)
	// Observe records a duration.
	Observe(name string, d time.Duration)
}

// WithDefaults returns e with defaults for nil fields.
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

// Now returns the time to the millisecond, the precision of documents.
func (e Env) Now() time.Time { return e.Clock.Now().UTC().Truncate(time.Millisecond) }

// Repeat calls fn, sleeps for pace, and repeats this until ctx ends. It returns the error of ctx.
// Errors of fn are logged under the message failed; they do not stop the loop.
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
