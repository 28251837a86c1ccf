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

// These constants are for the load of a run if the user gives none. The run then takes less than
// half a minute, and little memory.
const (
	sizedIterations = 10
	sizedInFlight   = 1000
	sizedGrace      = 5 * time.Second
	probeGrace      = 2 * time.Second
	// sizingTime is how long Size may begin new probes.
	sizingTime = 7 * time.Second
	// sizingSpread is the ratio of the scenario's own load to the load of the first probe.
	sizingSpread = 64
	// sizingP99 is the highest p99 with which a probe counts as keeping up.
	sizingP99 = 250 * time.Millisecond
	// idle says when a server counts as mostly idle: if its p99 is less than sizingP99 divided by
	// idle.
	idle = 8
	// headroom is the part of the server's limit that the run uses.
	headroom = 0.7
	// leftRoom replaces headroom if users leave work for later.
	leftRoom = 0.25
)

// Size returns the plan with a load with which the server keeps up: at most the load of the
// scenarios, in fewer iterations. It finds the load by probes of one second each, and doubles or
// quadruples the users from probe to probe. A probe with broken invariants is an error.
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
	bears := "this machine can serve %s of the scenario's own load of %d users/s"
	if r.leaves(p) {
		bears = "the run uses %s of the scenario's own load of %d users/s: its users leave work for later"
	}
	r.Note(fmt.Sprintf(bears+"; the run takes about %d s (--book: the whole load)",
		percent(out.users(), own), own, sizedIterations+2))
	return out, nil
}

// probeUsers runs the probes. It returns the number of users with which to run each scenario, and
// the number of users that the plan's own load starts per second, over all scenarios.
func (r Runner) probeUsers(ctx context.Context, p *Plan) (users []int, own int, err error) {
	quiet := r
	quiet.Note, quiet.Progress = func(string) {}, func(load.Progress) {}
	s, err := quiet.search(p, Search{P99: sizingP99})
	if errors.Is(err, errNoRate) {
		return nil, 0, nil // only residents, whose number is fixed
	}
	if err != nil {
		return nil, 0, err
	}
	r.Note(fmt.Sprintf("find the load that this machine can serve: about %d s", int(sizingTime.Seconds())))
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

// share returns which part of the largest load that kept up a run uses. limited says that the
// server could not serve more.
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

// leaves reports whether the plan has a scenario whose users leave work for later.
func (r Runner) leaves(p *Plan) bool {
	for _, e := range p.Scenarios {
		if d, err := r.Set.Find(e.Scenario); err == nil && d.Leaves {
			return true
		}
	}
	return false
}

// climb raises the users until the server does not keep up or the time is over, and returns the
// greatest number with which it kept up. It quadruples the users while the server is mostly idle,
// or if the time would otherwise end before the server's limit. After that it doubles them. A busy
// machine may miss a probe, so a missed probe is repeated once.
func (s *searching) climb(ctx context.Context, end time.Time) (kept int, err error) {
	// over is the smallest load that was too much.
	n, missed, over := max(1, s.first()/sizingSpread), false, math.MaxInt
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

// measure runs the plan with n users of the first scenario, and returns the result as a probe. It
// returns an error if invariants are broken or the run is partial.
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

// withLoad returns the plan with iterations of one second and these users. A number of 0 leaves the
// users of a scenario unchanged.
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

// users returns how many users the plan file or a flag starts in each iteration, over all
// scenarios.
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
