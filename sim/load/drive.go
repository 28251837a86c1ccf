package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// The defaults of a drive.
const (
	DefaultMaxInFlight = 20_000
	DefaultGrace       = 5 * time.Minute
	reportPace         = 250 * time.Millisecond
	// linger is how long residents stay after the last visitor has left, because messages to the
	// residents may still be on their way.
	linger = 500 * time.Millisecond
)

// Part holds the users of one scenario.
type Part struct {
	Label    string
	Load     Load
	Resident bool
	Run      func(ctx context.Context, u *scenario.User) error
}

// Config configures a drive. The zero value works.
type Config struct {
	// WarmUp and CoolDown are the numbers of iterations at the beginning and at the end of each
	// part that are not measured.
	WarmUp, CoolDown int
	// Grace is how long the users of a part may continue after its last user has started. Then they
	// are cut.
	Grace time.Duration
	// MaxInFlight bounds the active users of a part. Further users wait, and the waiting counts as
	// part of their latency.
	MaxInFlight int
	Seed        uint64
	// Share is the number of this process among Shares processes, from 0. The process starts only
	// every Shares-th user. Together the processes start the same users as one process would.
	Share, Shares int
	Clock         patterns.Clock
	// Report, if not nil, is called about four times a second, and at the end, with the
	// measurements of each part so far.
	Report func(Progress)
	// Stay is called if there are residents, when the last visitor of this process has left. It
	// must return when the visitors of all processes have left, or when ctx ends. Nil means that
	// there are no other processes.
	Stay func(ctx context.Context)
}

// Progress is the progress of a drive.
type Progress struct {
	Elapsed, Schedule time.Duration
	Parts             []PartProgress
	// Snapshot returns all measurements so far. The caller must not change them. The call is
	// expensive.
	Snapshot func() []*result.Measured
}

// PartProgress is the progress of a part.
type PartProgress struct {
	Label                             string
	Started, Succeeded, Failed, Ended int64
	P50, P99                          time.Duration
}

func (c Config) withDefaults() Config {
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = DefaultMaxInFlight
	}
	if c.Shares == 0 {
		c.Shares = 1
	}
	if c.Clock == nil {
		c.Clock = patterns.SystemClock{}
	}
	if c.Stay == nil {
		c.Stay = func(context.Context) {}
	}
	return c
}

// driver is a running drive.
type driver struct {
	Config
	begin  time.Time
	meters []*meter
}

// Drive starts the users of all parts when they are due, and returns the measurements when the last
// user has ended. When ctx ends, it starts no more users, and cuts the active ones.
func Drive(ctx context.Context, cfg Config, parts []Part) []*result.Measured {
	d := &driver{Config: cfg.withDefaults()}
	d.begin = d.Clock.Now()
	guests, leave := context.WithCancel(ctx) // the context of the residents
	defer leave()
	var visitors, residents sync.WaitGroup
	schedule, open, housed := time.Duration(0), false, false
	for _, p := range parts {
		m := newMeter(d, p)
		d.meters = append(d.meters, m)
		schedule = max(schedule, p.Load.Schedule())
		if p.Resident {
			housed = true
			residents.Go(func() { d.house(guests, m) })
			continue
		}
		open = true
		visitors.Go(func() { d.dispatch(ctx, m) })
	}
	stop := d.report(schedule)
	if !open {
		_ = d.Clock.Sleep(ctx, schedule)
	}
	visitors.Wait()
	if open && housed {
		d.Stay(ctx)
		_ = d.Clock.Sleep(ctx, linger)
	}
	leave()
	residents.Wait()
	stop()
	return d.snapshot()
}

// dispatch starts each user of a part when it is due. Then it waits until all have ended. It cuts
// them when ctx ends or their grace is over.
func (d *driver) dispatch(ctx context.Context, m *meter) {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	var users sync.WaitGroup
	places := make(chan struct{}, d.MaxInFlight)
	d.start(ctx, m, func(u due) bool {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		users.Go(func() {
			m.visit(ctx, u)
			<-places
		})
		return true
	})
	ended := make(chan struct{})
	go func() {
		users.Wait()
		close(ended)
	}()
	grace, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		if d.Clock.Sleep(grace, d.Grace) == nil {
			cut()
		}
	}()
	<-ended
}

// due is a user that is due to start.
type due struct {
	number    int64
	iteration int
	at        time.Time
}

// start calls fn for every user of this process when it is due, until fn returns false or ctx ends.
func (d *driver) start(ctx context.Context, m *meter, fn func(due) bool) {
	wait := newWaiter(d.Clock)
	defer wait.close()
	number := int64(-1)
	for i := range m.part.Load.Iterations {
		from := d.begin.Add(m.part.Load.Delay + time.Duration(i)*m.part.Load.Resolution)
		for _, offset := range m.part.Load.offsets(i, d.Seed) {
			number++
			if number%int64(d.Shares) != int64(d.Share) {
				continue
			}
			u := due{number: number, iteration: i, at: from.Add(offset)}
			if wait.until(ctx, u.at) != nil || !fn(u) {
				return
			}
		}
	}
}

// house runs the residents of a part until ctx ends.
func (d *driver) house(ctx context.Context, m *meter) {
	if d.Clock.Sleep(ctx, m.part.Load.Delay) != nil {
		return
	}
	var users sync.WaitGroup
	for number := d.Share; number < m.part.Load.Users; number += d.Shares {
		users.Go(func() { m.reside(ctx, int64(number)) })
	}
	users.Wait()
}

// report calls Report regularly, until the returned function is called.
func (d *driver) report(schedule time.Duration) (stop func()) {
	if d.Report == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for d.Clock.Sleep(ctx, reportPace) == nil {
			d.Report(d.progress(schedule))
		}
	})
	return func() {
		cancel()
		done.Wait()
		d.Report(d.progress(schedule))
	}
}

func (d *driver) progress(schedule time.Duration) Progress {
	p := Progress{Elapsed: d.Clock.Now().Sub(d.begin), Schedule: schedule, Snapshot: d.snapshot}
	for _, m := range d.meters {
		p.Parts = append(p.Parts, m.progress())
	}
	return p
}

func (d *driver) snapshot() []*result.Measured {
	out := make([]*result.Measured, len(d.meters))
	for i, m := range d.meters {
		out[i] = m.copy()
	}
	return out
}

// run runs a user. A panic of the scenario becomes its error.
func run(ctx context.Context, p *Part, u *scenario.User) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return p.Run(ctx, u)
}
