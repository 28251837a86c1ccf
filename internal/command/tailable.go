package command

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// A tailable cursor on a capped collection stays open at its end. Between batches it holds nothing
// but the key of the last record that it has looked at; with awaitData a getMore that finds
// nothing waits, holding as little, for an insert.

// defaultAwait is how long a getMore of an awaitData cursor waits where it has no maxTimeMS.
const defaultAwait = time.Second

// restAtMost is how long a getMore rests where the end of the rest is not told.
const restAtMost = 10 * time.Millisecond

// CheckTailable judges the options of a find for a tailable cursor.
func CheckTailable(req *Request) error {
	sort := req.Doc("sort")
	direction, _ := sort.Lookup("$natural").AsInt64()
	switch {
	case req.Bool("awaitData") && !req.Bool("tailable"):
		return mongoerr.New(mongoerr.FailedToParse, "Cannot set 'awaitData' without also setting 'tailable'")
	case !req.Bool("tailable"):
		return nil
	case !sort.IsEmpty() && (sort.Len() != 1 || direction != 1):
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with a sort other than {$natural: 1}")
	case req.Bool("singleBatch"):
		return mongoerr.New(mongoerr.BadValue, "cannot use tailable option with the 'singleBatch' option")
	}
	return nil
}

// StaysOpen reports whether a tailable cursor that has come to the end of its first batch stays
// open: on a collection without documents it has no position and does not.
func (s *PlanSource) StaysOpen() (bool, error) {
	if s.coll == nil {
		return false, nil
	}
	counter, err := s.Service.Store.Count(s.coll)
	return counter.Count > 0, err
}

// Awaiter lets one getMore of a tailable cursor wait for documents.
type Awaiter struct {
	req      *Request
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
func (s *PlanSource) Rest(ctx context.Context, req *Request) error {
	if !s.tailable || !s.atEnd {
		return nil
	}
	over := s.coll.Rest(s.arrived)
	if over == nil {
		return nil
	}
	_, err := await(ctx, req, over, restAtMost)
	return err
}

// NewAwaiter lets a getMore wait for as long as its maxTimeMS says, or a second.
func NewAwaiter(req *Request, src Tailed) *Awaiter {
	d := defaultAwait
	if req.Generic.HasMaxTime {
		d = time.Duration(req.Generic.MaxTimeMillis) * time.Millisecond
	}
	return &Awaiter{req: req, src: src, deadline: req.Service.Clock.Now().Add(d)}
}

// Wait holds the getMore until there was an insert that the cursor has not looked at. It reports
// false when the time is up.
func (a *Awaiter) Wait(ctx context.Context) (bool, error) {
	d := a.deadline.Sub(a.req.Service.Clock.Now())
	if d <= 0 {
		return false, nil
	}
	a.src.Save()
	start := a.req.Service.Clock.Now()
	arrived, err := await(ctx, a.req, a.src.news(), d)
	a.req.Op.Debug.Waited += a.req.Service.Clock.Now().Sub(start)
	if err != nil || !arrived {
		return false, err
	}
	return true, a.src.Restore(ctx)
}

// await reports whether the channel was closed within d.
func await(ctx context.Context, req *Request, arrivals <-chan struct{}, d time.Duration) (bool, error) {
	req.Op.SetAwaiting(true)
	defer req.Op.SetAwaiting(false)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-arrivals:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
