package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Periodic is a job that comes back.
type Periodic struct {
	// Name tells it from others.
	Name string
	// Every is how often it is due, at multiples of it since the year 1 in UTC: 24 hours are
	// midnights.
	Every time.Duration
	// Next returns the first time behind another one at which it is due, for whatever Every cannot
	// say. It takes precedence.
	Next func(after time.Time) time.Time
	// Job is what is put. Its ID and At are given by the schedule.
	Job Spec
}

func (p *Periodic) next(after time.Time) time.Time {
	if p.Next != nil {
		return p.Next(after).UTC().Truncate(time.Millisecond)
	}
	return after.Truncate(p.Every).Add(p.Every)
}

// Schedule puts jobs that come back, until ctx ends. Any number of processes may run it with the
// same periodics: the job of each time is put once. It is put one period ahead, delayed to its
// time, under an ID made of name and time; so no process leads the others, the job is there even if
// all of them are away at its time, and one that starts late puts nothing that is over.
func (q *Queue) Schedule(ctx context.Context, periodics ...Periodic) error {
	for _, p := range periodics {
		if p.Name == "" || p.Next == nil && p.Every <= 0 {
			return fmt.Errorf("queue: a periodic job has a name and a period, not %q and %v", p.Name, p.Every)
		}
	}
	for ctx.Err() == nil {
		now := q.env.Now()
		first := now.Add(time.Minute)
		for _, p := range periodics {
			at := p.next(now)
			if !at.After(now) {
				return fmt.Errorf("queue: the time of %s behind %v is %v", p.Name, now, at)
			}
			if err := q.putPeriodic(ctx, p, at); err != nil {
				q.env.Logger.Error("a periodic job cannot be put", "name", p.Name, "at", at, "error", err)
				at = now.Add(time.Second)
			}
			if at.Before(first) {
				first = at
			}
		}
		if wait := first.Sub(q.env.Now()); wait > 0 {
			if err := q.env.Clock.Sleep(ctx, wait); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// putPeriodic puts the job of a time, unless it is there.
func (q *Queue) putPeriodic(ctx context.Context, p Periodic, at time.Time) error {
	spec := p.Job
	spec.ID = p.Name + "@" + at.UTC().Format(time.RFC3339Nano)
	spec.At = at
	if _, err := q.Put(ctx, spec); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}
