package read

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/session"
)

// A tailable cursor on a capped collection stays open at its end. Between batches it holds nothing
// but the key of the last record that it has looked at; with awaitData a getMore that finds
// nothing waits, holding as little, for an insert.

// DefaultAwait is how long a getMore of an awaitData cursor waits where it has no maxTimeMS.
const DefaultAwait = time.Second

// restAtMost is how long a getMore rests where the end of the rest is not told.
const restAtMost = 10 * time.Millisecond

// StaysOpen reports whether a tailable cursor that has come to the end of its first batch stays
// open: on a collection without documents it has no position and does not.
func (s *PlanSource) StaysOpen() (bool, error) {
	if s.coll == nil {
		return false, nil
	}
	counter, err := s.Engine.Store.Count(s.coll)
	return counter.Count > 0, err
}

// Awaiter lets one getMore of a tailable cursor wait for documents.
type Awaiter struct {
	op       *session.Op
	clock    clock.Clock
	src      Tailed
	deadline time.Time
}

// Tailed is a source that has no end.
type Tailed interface {
	Save()
	Restore(ctx context.Context) error
	// news returns a channel that is closed when there may be more than the source has looked at.
	news() <-chan struct{}
}

func (s *PlanSource) news() <-chan struct{} { return s.arrivals }

// Rest delays the next getMore of a cursor that has read everything. If many documents arrive,
// the getMore then returns several of them at once.
func (s *PlanSource) Rest(ctx context.Context, op *session.Op) error {
	if !s.tailable || !s.atEnd {
		return nil
	}
	over := s.coll.Rest(s.arrived)
	if over == nil {
		return nil
	}
	_, err := Await(ctx, op, s.Engine.Clock, over, restAtMost)
	return err
}

// NewAwaiter lets the getMore that op is wait for d at most.
func NewAwaiter(op *session.Op, clock clock.Clock, src Tailed, d time.Duration) *Awaiter {
	return &Awaiter{op: op, clock: clock, src: src, deadline: clock.Now().Add(d)}
}

// Wait holds the getMore until there was an insert that the cursor has not looked at. It reports
// false when the time is up.
func (a *Awaiter) Wait(ctx context.Context) (bool, error) {
	d := a.deadline.Sub(a.clock.Now())
	if d <= 0 {
		return false, nil
	}
	a.src.Save()
	start := a.clock.Now()
	arrived, err := Await(ctx, a.op, a.clock, a.src.news(), d)
	a.op.Debug.Waited += a.clock.Now().Sub(start)
	if err != nil || !arrived {
		return false, err
	}
	return true, a.src.Restore(ctx)
}

// Await waits for d at most, and reports whether arrivals was closed. The operation counts as one
// that waits for news.
func Await(ctx context.Context, op *session.Op, c clock.Clock, arrivals <-chan struct{}, d time.Duration) (bool, error) {
	op.SetAwaiting(true)
	defer op.SetAwaiting(false)
	late, timer := clock.NewTimer(c, d)
	defer timer.Stop()
	select {
	case <-arrivals:
		return true, nil
	case <-late:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
