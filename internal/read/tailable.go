package read

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/session"
)

// A tailable cursor on a capped collection stays open at its end. Between batches it holds only the
// key of the last record that it has read. With awaitData, a getMore that finds no documents waits
// for an insert, and holds no more than that while it waits.

// DefaultAwait is the time for which a getMore of an awaitData cursor waits if it has no maxTimeMS.
const DefaultAwait = time.Second

// restAtMost limits the delay of a getMore by Rest.
const restAtMost = 10 * time.Millisecond

// StaysOpen reports whether a tailable cursor stays open at the end of its first batch. On a
// collection without documents it is closed, because it has no position.
func (s *PlanSource) StaysOpen() (bool, error) {
	if s.coll == nil {
		return false, nil
	}
	counter, err := s.Engine.Store.Count(s.coll)
	return counter.Count > 0, err
}

// Awaiter waits for documents in one getMore of a tailable cursor.
type Awaiter struct {
	op       *session.Op
	clock    clock.Clock
	src      Tailed
	deadline time.Time
}

// Tailed is a source without an end: documents can arrive after the last one that was read.
type Tailed interface {
	Save()
	Restore(ctx context.Context) error
	// news returns a channel that is closed when there may be documents that the source has not
	// read.
	news() <-chan struct{}
}

func (s *PlanSource) news() <-chan struct{} { return s.arrivals }

// Rest delays the next getMore of a cursor that has read everything. If many documents arrive, the
// getMore then returns several of them together.
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

// NewAwaiter returns an Awaiter for the getMore op. It waits for at most d.
func NewAwaiter(op *session.Op, clock clock.Clock, src Tailed, d time.Duration) *Awaiter {
	return &Awaiter{op: op, clock: clock, src: src, deadline: clock.Now().Add(d)}
}

// Wait waits for an insert that the cursor has not read. It returns false if the time is up.
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

// Await waits for at most d, and reports whether arrivals was closed. Meanwhile the operation
// counts as awaiting data.
func Await(ctx context.Context, op *session.Op, c clock.Clock, arrivals <-chan struct{},
	d time.Duration,
) (bool, error) {
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
