package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
)

// The load of a run that nobody has chosen a load for. With them a run takes under half a minute,
// and little memory.
const (
	sizedIterations = 10
	sizedInFlight   = 1000
	sizedGrace      = 5 * time.Second
	probeGrace      = 2 * time.Second
	// sizingTime is for how long new probes begin.
	sizingTime = 7 * time.Second
	// sizingSpread is by how much the first probe is below the scenario's own load.
	sizingSpread = 64
	// sizingP99 is how long 99 of 100 users may take in a probe that the server keeps up with.
	sizingP99 = 250 * time.Millisecond
	// idle is how many times faster than that a server is that has little to do.
	idle = 8
	// headroom is the share of what the server kept up with that the run uses.
	headroom = 0.7
	// leftRoom is that share for scenarios whose users leave work for later.
	leftRoom = 0.25
)

// Size returns the plan with a load that the server keeps up with: at most that of the scenarios,
// in fewer iterations. It finds the load by probes of a second each, which double the users until
// the server does not keep up. A probe whose invariants do not hold is an error.
func (r Runner) Size(ctx context.Context, p *Plan) (*Plan, error) {
	r = r.withDefaults()
	sized := *p
	if sized.MaxInFlight == 0 {
		sized.MaxInFlight = sizedInFlight
	}
	if sized.Grace == 0 {
		sized.Grace = sizedGrace
	}
	probes := sized.withLoad(1, nil)
	probes.Grace = min(sized.Grace, probeGrace)
	users, own, err := r.probeUsers(ctx, probes)
	if err != nil {
		return nil, err
	}
	out := sized.withLoad(sizedIterations, users)
	bears := "this machine bears %s of the scenario's own load of %d users/s"
	if r.leaves(p) {
		bears = "the run has %s of the scenario's own load of %d users/s: its users leave work for later"
	}
	r.Note(fmt.Sprintf(bears+"; the run takes about %d s (--book: the whole load)", percent(out.users(), own), own, sizedIterations+2))
	return out, nil
}

// probeUsers returns how many users each scenario may have, and how many start in each second by
// the scenarios' own load.
func (r Runner) probeUsers(ctx context.Context, p *Plan) (users []int, own int, err error) {
	quiet := r
	quiet.Note, quiet.Progress = func(string) {}, func(load.Progress) {}
	s, err := quiet.search(p, Search{P99: sizingP99})
	if errors.Is(err, errNoRate) {
		return nil, 0, nil // residents only: they are as many as they are
	}
	if err != nil {
		return nil, 0, err
	}
	r.Note(fmt.Sprintf("find out what this machine bears: about %d s", int(sizingTime.Seconds())))
	kept, err := s.climb(ctx, r.Clock.Now().Add(sizingTime))
	if err != nil {
		return nil, 0, err
	}
	if share := r.share(p, kept < s.first()); share < 1 {
		kept = max(1, int(share*float64(kept)))
	}
	users = make([]int, len(s.base))
	for i := range users {
		users[i] = s.scaled(i, kept)
	}
	return users, s.total(s.first()), nil
}

// share is what part of the load that a probe bore a run uses. limited says that the server bore
// no more.
func (r Runner) share(p *Plan, limited bool) float64 {
	switch {
	case r.leaves(p):
		return leftRoom
	case limited:
		return headroom
	default:
		return 1
	}
}

// leaves reports whether users of a scenario leave work for later.
func (r Runner) leaves(p *Plan) bool {
	for _, e := range p.Scenarios {
		if d, err := r.Set.Find(e.Scenario); err == nil && d.Leaves {
			return true
		}
	}
	return false
}

// climb raises the users until the server does not keep up or the time is over, and returns the
// greatest number that it kept up with. It quadruples them while the server has little to do, or
// the time would be over before the server's limit, and doubles them then. A machine that is busy
// otherwise may miss a probe, so a missed one is repeated once.
func (s *searching) climb(ctx context.Context, end time.Time) (kept int, err error) {
	n, missed, over := max(1, s.first()/sizingSpread), false, math.MaxInt // over was too much
	for {
		probe, err := s.measure(ctx, n)
		late := s.Clock.Now().After(end)
		switch {
		case err != nil:
			return 0, err
		case probe.KeptUp && (n == s.first() || late):
			return n, nil
		case probe.KeptUp:
			step := 2
			if probe.P99Millis < result.Millis(s.P99)/idle {
				step = 4
			}
			if kept, n, missed = n, min(step*n, s.first()), false; n >= over {
				return kept, nil
			}
		case kept == 0 && n > 1 && !late:
			n = max(1, n/4)
		case missed || late:
			return kept, nil
		case n > 2*kept:
			n, over = 2*kept, n
		default:
			missed = true
		}
	}
}

// measure runs the plan with n users of the first scenario. Invariants that do not hold, and a run
// that is not whole, are errors.
func (s *searching) measure(ctx context.Context, n int) (result.Probe, error) {
	r, err := s.Run(ctx, s.with(n))
	if err != nil {
		return result.Probe{}, err
	}
	if wrong := r.Wrong(); len(wrong) > 0 {
		return result.Probe{}, fmt.Errorf("%w: %s", ErrWrong, wrong[0])
	}
	if r.Partial != "" {
		return result.Probe{}, fmt.Errorf("sim: a probe ended early: %s", r.Partial)
	}
	probe, _ := s.judge(r)
	return probe, nil
}

// withLoad returns the plan with a load of so many iterations of a second. Users of 0 stay as they
// are.
func (p *Plan) withLoad(iterations int, users []int) *Plan {
	out := *p
	out.Scenarios = append([]Entry(nil), p.Scenarios...)
	for i := range out.Scenarios {
		e := &out.Scenarios[i]
		e.Iterations, e.Resolution = iterations, time.Second
		if i < len(users) && users[i] > 0 {
			e.Users = users[i]
		}
	}
	return &out
}

// users is how many users start in each iteration, of the scenarios whose number was chosen.
func (p *Plan) users() (sum int) {
	for _, e := range p.Scenarios {
		sum += e.Users
	}
	return sum
}

func percent(part, whole int) string {
	if whole == 0 || part >= whole {
		return "all"
	}
	if part*100 < whole {
		return "less than 1 %"
	}
	return fmt.Sprintf("%d %%", part*100/whole)
}
