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
	// linger is how long residents stay when the last visitor has left: messages are still on their way.
	linger = 500 * time.Millisecond
)

// Part is the users of one scenario.
type Part struct {
	Label    string
	Load     Load
	Resident bool
	Run      func(ctx context.Context, u *scenario.User) error
}

// Config says how parts are driven. The zero value works.
type Config struct {
	// WarmUp and CoolDown are how many iterations at the beginning and at the end are not measured.
	WarmUp, CoolDown int
	// Grace is how long users of a part may go on after the last of them has started, before they are cut.
	Grace time.Duration
	// MaxInFlight is how many users of a part are under way at most; those that are due meanwhile wait, and their time runs.
	MaxInFlight int
	Seed        uint64
	// Share of Shares: this process starts every Shares-th user only. Together the processes start those that one would.
	Share, Shares int
	Clock         patterns.Clock
	// Report is called about four times a second, and at the end, with what has been measured so far, part by part; nil: never.
	Report func(Progress)
	// Stay is called where there are residents, when the last visitor of this process has left: it returns when those of the others have, or when ctx ends.
	// Nil: there are no other processes.
	Stay func(ctx context.Context)
}

// Progress is how far a drive is.
type Progress struct {
	Elapsed, Schedule time.Duration
	Parts             []PartProgress
	// Snapshot returns everything that was measured so far, which is not to be changed. It takes its time.
	Snapshot func() []*result.Measured
}

// PartProgress is how far a part is.
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

// driver is a drive under way.
type driver struct {
	Config
	begin  time.Time
	meters []*meter
}

// Drive starts the users of all parts when they are due, and returns what was measured when the last has ended. When ctx ends nobody starts any more,
// and those who are under way are cut.
func Drive(ctx context.Context, cfg Config, parts []Part) []*result.Measured {
	d := &driver{Config: cfg.withDefaults()}
	d.begin = d.Clock.Now()
	guests, leave := context.WithCancel(ctx) // the residents
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

// dispatch starts the users of a part, each when it is due, and waits for them: until ctx ends, or their grace. Then they are cut.
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

// due is a user that is to start.
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

// house keeps the residents of a part until ctx ends.
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

// report calls Report at a pace, until the function that it returns is called.
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

// run calls a scenario. Should it panic, that is its error.
func run(ctx context.Context, p *Part, u *scenario.User) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return p.Run(ctx, u)
}
