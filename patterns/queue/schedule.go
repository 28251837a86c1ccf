package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Periodic describes a job that is put again and again.
type Periodic struct {
	// Name is the unique name of the periodic job.
	Name string
	// Every is the period. The job is due at the multiples of Every, counted from the year 1 in
	// UTC: for 24 hours, at midnight.
	Every time.Duration
	// Next returns the first due time after the given time. It takes precedence over Every, and is
	// for schedules that have no fixed period.
	Next func(after time.Time) time.Time
	// Job is the job to put. The schedule sets its ID and At.
	Job Spec
}

func (p *Periodic) next(after time.Time) time.Time {
	if p.Next != nil {
		return p.Next(after).UTC().Truncate(time.Millisecond)
	}
	return after.Truncate(p.Every).Add(p.Every)
}

// Schedule puts periodic jobs until ctx ends. Any number of processes may run it with the same
// periodics: the job for each time is put once. Each job is put one period ahead, delayed to its
// time, with an ID made of name and time. So the processes need no leader, and the job exists even
// if no process runs at its time. A process that starts late does not put jobs for past times.
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

// putPeriodic puts the job for a time, unless it exists.
func (q *Queue) putPeriodic(ctx context.Context, p Periodic, at time.Time) error {
	spec := p.Job
	spec.ID = p.Name + "@" + at.UTC().Format(time.RFC3339Nano)
	spec.At = at
	if _, err := q.Put(ctx, spec); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	return nil
}
