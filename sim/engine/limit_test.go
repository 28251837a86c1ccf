package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
)

// capacity is a Driver that runs no load. It returns the result of a server that keeps up with at
// most a given number of users per iteration.
type capacity struct {
	mu     sync.Mutex
	users  int
	drives int
	shaky  int // how many of the drives with exactly the greatest load fail first
}

func (c *capacity) Drive(_ context.Context, _ *mongo.Client, job engine.Job,
	_ func(load.Progress),
) (engine.Driven, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drives++
	m := result.NewMeasured()
	driven := engine.Driven{Parts: []*result.Measured{m}}
	users := job.Parts[0].Load.Users
	for _, part := range job.Parts[1:] { // residents end some time after the last user
		stays := result.NewMeasured()
		stays.RuntimeSeconds = part.Load.Schedule().Seconds() + 1
		driven.Parts = append(driven.Parts, stays)
	}
	m.RuntimeSeconds = job.Parts[0].Load.Schedule().Seconds()
	took := time.Millisecond
	if users > c.users {
		took = time.Second
	}
	if users > c.users*9/10 && c.shaky > 0 {
		c.shaky--
		took = time.Second
	}
	for range 100 {
		m.Latency.Add(took)
	}
	return driven, nil
}

// TestResidentsMayEndLater: residents, who end some time after the users, do not change the limit.
func TestResidentsMayEndLater(t *testing.T) {
	t.Parallel()
	p := plan(nil)
	p.Scenarios[0].Users = 1000
	p.Scenarios = append(p.Scenarios, engine.Entry{Scenario: "stay"})
	sized, err := engine.Runner{Set: set(t), Driver: &capacity{users: 5000}}.Size(t.Context(), p)
	if err != nil || sized.Scenarios[0].Users != 1000 {
		t.Errorf("%d users, %v", sized.Scenarios[0].Users, err)
	}
}

// TestFindLimit: the limit that FindLimit finds differs from the server's capacity by at most a
// tenth.
func TestFindLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		can, shaky int
	}{"more than the plan": {777, 0}, "less": {7, 0}, "just it": {20, 0}, "shaky": {500, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := &capacity{users: c.can, shaky: c.shaky}
			r, err := engine.Runner{Set: set(t), Driver: driver}.FindLimit(t.Context(), plan(nil), engine.Search{})
			if err != nil {
				t.Fatal(err)
			}
			l := r.Limit
			if l.Users > c.can || float64(l.Users) < 0.8*float64(c.can) || l.Confirmed != 3 ||
				len(l.Probes) != driver.drives {
				t.Errorf("%d of %d: %+v", l.Users, c.can, l)
			}
		})
	}
	_, err := engine.Runner{Set: set(t), Driver: &capacity{}}.FindLimit(t.Context(), plan(nil), engine.Search{})
	if !errors.Is(err, engine.ErrNoLimit) {
		t.Error(err)
	}
	r, err := engine.Runner{Set: set(t), Driver: &capacity{users: 1 << 30}}.FindLimit(t.Context(), plan(nil),
		engine.Search{MaxUsers: 1000})
	if err != nil || r.Limit.Users != 1000 || r.Limit.Over != 0 {
		t.Errorf("%v %+v", err, r)
	}
}

// TestSizeLeaves: if users leave work for later, Size chooses a smaller load, because no probe
// measures that work.
func TestSizeLeaves(t *testing.T) {
	t.Parallel()
	leaving := set(t)
	p := plan(nil)
	d, err := leaving.Find(p.Scenarios[0].Scenario)
	if err != nil {
		t.Fatal(err)
	}
	d.Leaves = true
	p.Scenarios[0].Users = 1000
	sized, err := engine.Runner{
		Set: leaving, Driver: &capacity{users: 5000},
		Note: func(string) {},
	}.Size(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if users := sized.Scenarios[0].Users; users != 250 {
		t.Errorf("%d of 1000 users", users)
	}
}

// TestSize: a few probes find a load with which the server keeps up. The load is not greater than
// the scenario's own load.
func TestSize(t *testing.T) {
	t.Parallel()
	// A probe takes more than a second, so there is time for about five probes.
	for name, c := range map[string]struct{ own, can, low, high, drives int }{
		"all of it":        {1000, 5000, 1000, 1000, 5},
		"nearly all of it": {1000, 900, 300, 900, 6},
		"a part":           {1000, 100, 30, 100, 6},
		"hardly any":       {1000, 3, 1, 3, 6},
		"the least, badly": {1000, 0, 1, 1, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := &capacity{users: c.can}
			p := plan(nil)
			p.Scenarios[0].Users = c.own
			var notes []string
			sized, err := engine.Runner{
				Set: set(t), Driver: driver,
				Note: func(n string) { notes = append(notes, n) },
			}.Size(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			e := sized.Scenarios[0]
			if e.Users < c.low || e.Users > c.high || e.Iterations != 10 ||
				e.Resolution != time.Second || driver.drives > c.drives {
				t.Errorf("%d users for %d x %v after %d probes", e.Users, e.Iterations, e.Resolution, driver.drives)
			}
			if len(notes) != 2 || p.Scenarios[0].Users != c.own {
				t.Errorf("notes %q; the plan given has %d users now", notes, p.Scenarios[0].Users)
			}
		})
	}
}
