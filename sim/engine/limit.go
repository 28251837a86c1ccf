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

// The defaults of a search.
const (
	DefaultP99     = 100 * time.Millisecond
	DefaultRepeats = 3
	maxProbes      = 40
)

// Search says when a server keeps up with a load: the run takes hardly longer than its schedule, no
// user fails, and 99 of 100 users take at most P99.
type Search struct {
	P99 time.Duration
	// Repeats is how many runs at the limit must keep up to confirm it.
	Repeats int
	// MaxUsers is the number of users at which the search ends. Zero means load.MaxUsers.
	MaxUsers int
}

// ErrNoLimit is returned if the server does not keep up with the smallest load.
var ErrNoLimit = errors.New("sim: the server does not keep up with one user an iteration")

// errNoRate is the error for a plan that has only residents. Their number is fixed, so there is no
// rate of users to search for.
var errNoRate = fmt.Errorf("%w: all its scenarios are residents, which have no rate", ErrPlan)

// searching is a running search. A load is a number of users per iteration of the first scenario
// that has visitors. The users of the other scenarios change in proportion.
type searching struct {
	Runner
	Search
	plan  *Plan
	base  []int
	limit *result.Limit
	last  *result.Result // the result of the last probe that kept up
}

// FindLimit searches for the greatest number of users per iteration with which the server keeps up.
// It doubles or halves the plan's number until it has bounds, narrows the limit to a tenth, and
// confirms it by repeats. It returns the result of the last probe that kept up.
func (r Runner) FindLimit(ctx context.Context, p *Plan, search Search) (*result.Result, error) {
	s, err := r.withDefaults().search(p, search)
	if err != nil {
		return nil, err
	}
	low, high, err := s.bracket(ctx)
	for err == nil && high > 0 && float64(high) > 1.1*float64(low) && high-low > 1 {
		middle := int(math.Round(math.Sqrt(float64(low) * float64(high))))
		middle = min(max(middle, low+1), high-1)
		var kept bool
		if kept, err = s.probe(ctx, middle); kept {
			low = middle
		} else {
			high = middle
		}
	}
	for err == nil && low > 0 {
		var confirmed int
		if confirmed, err = s.confirm(ctx, low); confirmed == s.Repeats {
			break
		}
		high, low = low, low*9/10
	}
	if err != nil {
		return s.last, err
	}
	if low == 0 {
		return s.last, ErrNoLimit
	}
	s.limit.Users, s.limit.Over = s.total(low), s.total(high)
	s.last.Limit = s.limit
	return s.last, nil
}

func (r Runner) search(p *Plan, search Search) (*searching, error) {
	if search.P99 == 0 {
		search.P99 = DefaultP99
	}
	if search.Repeats == 0 {
		search.Repeats = DefaultRepeats
	}
	if search.MaxUsers == 0 {
		search.MaxUsers = load.MaxUsers
	}
	if search.P99 < 0 || search.Repeats < 0 || search.MaxUsers < 0 || search.MaxUsers > load.MaxUsers {
		return nil, fmt.Errorf("%w: a search with a p99 of %v, %d repeats and at most %d users", ErrPlan, search.P99, search.Repeats, search.MaxUsers)
	}
	entries, err := p.resolve(r.Set)
	if err != nil {
		return nil, err
	}
	s := &searching{
		Runner: r, Search: search, plan: p,
		limit: &result.Limit{Repeats: search.Repeats, P99Millis: result.Millis(search.P99)},
	}
	for _, e := range entries {
		users := e.Users
		if e.definition.Resident {
			users = 0
		}
		s.base = append(s.base, users)
	}
	if s.total(1) == 0 {
		return nil, errNoRate
	}
	return s, nil
}

// first returns the plan's number of users of the first scenario that has visitors.
func (s *searching) first() int {
	for _, n := range s.base {
		if n > 0 {
			return n
		}
	}
	return 0
}

// scaled returns the users of scenario i if the first scenario with visitors has n.
func (s *searching) scaled(i, n int) int {
	if s.base[i] == 0 {
		return 0
	}
	return max(1, int(math.Round(float64(s.base[i])*float64(n)/float64(s.first()))))
}

func (s *searching) total(n int) (sum int) {
	if n == 0 || s.first() == 0 {
		return 0
	}
	for i := range s.base {
		sum += s.scaled(i, n)
	}
	return sum
}

// bracket returns a load with which the server kept up, and one with which it did not. 0 means that
// there is no such load.
func (s *searching) bracket(ctx context.Context) (low, high int, err error) {
	for n := s.first(); ; {
		kept, err := s.probe(ctx, n)
		if err != nil {
			return low, high, err
		}
		if kept {
			low = n
		} else {
			high = n
		}
		switch {
		case low > 0 && high > 0, low >= s.MaxUsers, high == 1:
			return low, high, nil
		case kept:
			n = min(2*n, s.MaxUsers)
		default:
			n = max(n/2, 1)
		}
	}
}

// probe runs the plan with n users of the first scenario, and reports whether the server kept up.
func (s *searching) probe(ctx context.Context, n int) (bool, error) {
	if len(s.limit.Probes) >= maxProbes {
		return false, fmt.Errorf("sim: no limit was found in %d probes: the server is not steady enough", maxProbes)
	}
	r, err := s.Run(ctx, s.with(n))
	if err != nil {
		return false, err
	}
	if r.Partial != "" {
		return false, fmt.Errorf("sim: the search ends: %s", r.Partial)
	}
	probe, generator := s.judge(r)
	probe.Users = s.total(n)
	s.limit.Generator = s.limit.Generator || generator
	s.limit.Probes = append(s.limit.Probes, probe)
	verdict := "kept up"
	if !probe.KeptUp {
		verdict = "did not keep up: " + probe.Why
	}
	s.Note(fmt.Sprintf("%d users: %s", probe.Users, verdict))
	if probe.KeptUp {
		s.last = r
	}
	return probe.KeptUp, nil
}

// with returns the plan with n users of the first scenario.
func (s *searching) with(n int) *Plan {
	p := *s.plan
	p.Scenarios = append([]Entry(nil), s.plan.Scenarios...)
	for i := range p.Scenarios {
		if users := s.scaled(i, n); users > 0 {
			p.Scenarios[i].Users = users
		}
	}
	return &p
}

// judge decides whether a run kept up, and if not, whether the load generator was the cause. It
// ignores when residents end: they stay until all users have ended, and then until their last wait
// is over.
func (s *searching) judge(r *result.Result) (p result.Probe, generator bool) {
	var failed int64
	for i, sc := range r.Scenarios {
		failed += sc.Failed
		if s.base[i] == 0 {
			continue
		}
		p.RuntimeSeconds = max(p.RuntimeSeconds, sc.RuntimeSeconds)
		p.P99Millis = max(p.P99Millis, result.Millis(sc.Latency.Percentile(99)))
		generator = generator || sc.Lateness.Percentile(99) > s.P99/2
	}
	allowed := r.ScheduleSeconds*1.05 + s.P99.Seconds()
	switch wrong := r.Wrong(); {
	case len(wrong) > 0:
		p.Why = wrong[0]
	case failed > 0:
		p.Why = fmt.Sprintf("%d users failed", failed)
	case p.RuntimeSeconds > allowed:
		p.Why = fmt.Sprintf("it took %.1f s, not %.1f s", p.RuntimeSeconds, r.ScheduleSeconds)
	case p.P99Millis > result.Millis(s.P99):
		p.Why = fmt.Sprintf("p99 is %.1f ms", p.P99Millis)
	default:
		p.KeptUp = true
	}
	return p, generator && !p.KeptUp
}

// confirm runs the plan with n users, up to Repeats times or until the server does not keep up. It
// returns how many of the runs kept up.
func (s *searching) confirm(ctx context.Context, n int) (int, error) {
	s.limit.Confirmed = 0
	for s.limit.Confirmed < s.Repeats {
		kept, err := s.probe(ctx, n)
		if err != nil || !kept {
			return s.limit.Confirmed, err
		}
		s.limit.Confirmed++
	}
	return s.limit.Confirmed, nil
}
