package load_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// within runs a test with a simulated clock, which advances when all goroutines wait.
func within(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// bubble is the clock for tests with a simulated time. It does not use timers of the kernel,
// because they do not follow the simulated time.
type bubble struct{ patterns.SystemClock }

// driveAll drives parts with the simulated clock.
func driveAll(ctx context.Context, cfg load.Config, parts []load.Part) []*result.Measured {
	cfg.Clock = bubble{}
	return load.Drive(ctx, cfg, parts)
}

// rest returns the work of a user who waits for d.
func rest(d time.Duration) func(context.Context, *scenario.User) error {
	return func(ctx context.Context, _ *scenario.User) error { return patterns.SystemClock{}.Sleep(ctx, d) }
}

// start describes the start of a user: the time since the beginning of the drive, the number of the
// user, and its first random number.
type start struct {
	at     time.Duration
	number int64
	random uint64
}

// starts returns when users start.
func starts(t *testing.T, cfg load.Config, l load.Load) []start {
	t.Helper()
	var mu sync.Mutex
	var out []start
	begin := time.Now()
	m := driveAll(t.Context(), cfg,
		[]load.Part{{Load: l.WithDefaults(10), Run: func(_ context.Context, u *scenario.User) error {
			mu.Lock()
			defer mu.Unlock()
			out = append(out, start{time.Since(begin), u.Number, u.Rand.Uint64()})
			return nil
		}}})[0]
	if int(m.Started) != len(out) || m.Succeeded != m.Started || m.Lateness.Max() != 0 {
		t.Errorf("%d started, %d succeeded of %d; %v late", m.Started, m.Succeeded, len(out), m.Lateness.Max())
	}
	slices.SortFunc(out, func(a, b start) int { return int(a.number - b.number) })
	return out
}

// perSecond counts the starts of each second.
func perSecond(all []start) (out []int) {
	for _, s := range all {
		for len(out) <= int(s.at/time.Second) {
			out = append(out, 0)
		}
		out[s.at/time.Second]++
	}
	return out
}

// TestShapes: each iteration has the number of users that the shape defines, and starts them on
// time.
func TestShapes(t *testing.T) {
	within(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			load load.Load
			want []int
		}{
			"constant": {load.Load{Iterations: 4, Users: 7}, []int{7, 7, 7, 7}},
			"ramp":     {load.Load{Iterations: 5, Users: 10, From: 2, Shape: load.Ramp}, []int{2, 4, 6, 8, 10}},
			"down":     {load.Load{Iterations: 3, Users: 1, From: 5, Shape: load.Ramp}, []int{5, 3, 1}},
			"one":      {load.Load{Iterations: 1, Users: 3, From: 1, Shape: load.Ramp}, []int{3}},
			"steps":    {load.Load{Iterations: 5, Steps: []int{3, 0, 2}, Shape: load.Steps}, []int{3, 3, 0, 0, 2}},
			"burst":    {load.Load{Iterations: 2, Users: 5, Spread: load.Burst}, []int{5, 5}},
			"delay":    {load.Load{Iterations: 2, Users: 5, Delay: 2 * time.Second}, []int{0, 0, 5, 5}},
		} {
			got := starts(t, load.Config{}, c.load)
			if n := perSecond(got); !slices.Equal(n, c.want) {
				t.Errorf("%s: %v, not %v", name, n, c.want)
			}
			for i, s := range got {
				if s.number != int64(i) {
					t.Errorf("%s: user %d has the number %d", name, i, s.number)
				}
			}
		}
	})
}

// TestSpreads starts the users of an iteration evenly, or all at its beginning.
func TestSpreads(t *testing.T) {
	within(t, func(t *testing.T) {
		for spread, gap := range map[string]time.Duration{load.Slice: 100 * time.Millisecond, load.Burst: 0} {
			for i, s := range starts(t, load.Config{},
				load.Load{Iterations: 2, Resolution: 500 * time.Millisecond, Users: 5, Spread: spread}) {
				if want := time.Duration(i/5)*500*time.Millisecond + time.Duration(i%5)*gap; s.at != want {
					t.Errorf("%s: user %d at %v, not %v", spread, i, s.at, want)
				}
			}
		}
	})
}

// TestPoisson: the mean of the number of users is the configured number, and its variance is the
// variance of a Poisson distribution. The same seed gives the same users and moments.
func TestPoisson(t *testing.T) {
	within(t, func(t *testing.T) {
		l := load.Load{Iterations: 400, Users: 30, Shape: load.Poisson}
		one, again, other := starts(t, load.Config{Seed: 1}, l), starts(t, load.Config{Seed: 1},
			l), starts(t, load.Config{Seed: 2}, l)
		if !slices.Equal(one, again) {
			t.Error("the same seed gives others")
		}
		if slices.Equal(one, other) {
			t.Error("another seed gives the same")
		}
		n := perSecond(one)
		mean, variance := float64(len(one))/float64(len(n)), 0.0
		for _, k := range n {
			variance += (float64(k) - mean) * (float64(k) - mean) / float64(len(n))
		}
		if mean < 28 || mean > 32 || variance < 22 || variance > 38 {
			t.Errorf("mean %v, variance %v", mean, variance)
		}
		if big := starts(t, load.Config{},
			load.Load{Iterations: 5, Users: 2_000, Shape: load.Poisson}); len(big) < 9_500 || len(big) > 10_500 {
			t.Errorf("%d of 10,000", len(big))
		}
	})
}

// TestShares: several processes together start the same users as one process, at the same moments,
// with the same random numbers.
func TestShares(t *testing.T) {
	within(t, func(t *testing.T) {
		for _, shape := range []string{load.Constant, load.Poisson} {
			l := load.Load{Iterations: 5, Users: 17, Shape: shape}
			whole := starts(t, load.Config{Seed: 5}, l)
			if int64(len(whole)) != l.WithDefaults(1).Total(5, 0, 1) {
				t.Errorf("%s: %d users, not %d", shape, len(whole), l.WithDefaults(1).Total(5, 0, 1))
			}
			for shares := 2; shares <= 4; shares++ {
				var sum []start
				for share := range shares {
					part := starts(t, load.Config{Seed: 5, Share: share, Shares: shares}, l)
					if int64(len(part)) != l.WithDefaults(1).Total(5, share, shares) {
						t.Errorf("%s: share %d of %d has %d users, not %d", shape, share, shares, len(part),
							l.WithDefaults(1).Total(5, share, shares))
					}
					sum = append(sum, part...)
				}
				slices.SortFunc(sum, func(a, b start) int { return int(a.number - b.number) })
				if !slices.Equal(sum, whole) {
					t.Errorf("%s: %d shares: %v, not %v", shape, shares, sum, whole)
				}
			}
		}
	})
}

// TestWarmUp: only the iterations between warm-up and cool-down are measured, but all are counted.
func TestWarmUp(t *testing.T) {
	within(t, func(t *testing.T) {
		m := driveAll(t.Context(), load.Config{WarmUp: 2, CoolDown: 1},
			[]load.Part{{
				Load: load.Load{Iterations: 10, Users: 4}.WithDefaults(1),
				Run: func(_ context.Context, u *scenario.User) error {
					u.Count("all", 1)
					u.Record("step", time.Second)
					return nil
				},
			}})[0]
		if m.Started != 40 || m.Counts["all"] != 40 || m.Latency.Count() != 28 ||
			m.Steps["step"].Count() != 28 || m.Lateness.Count() != 28 {
			t.Errorf("%+v: %d latencies, %d steps", m, m.Latency.Count(), m.Steps["step"].Count())
		}
		for i, s := range m.Series {
			if want := int64(4); s.Started != want || s.Ended != want ||
				(s.Latency.Count() == want) != (i >= 2 && i < 9) {
				t.Errorf("slot %d: %+v", i, s)
			}
		}
	})
}

// TestLatency: a latency begins when the user is due, and belongs to the slot of that moment. The
// end of a user is counted in the slot in which it ends.
func TestLatency(t *testing.T) {
	within(t, func(t *testing.T) {
		m := driveAll(t.Context(), load.Config{MaxInFlight: 1},
			[]load.Part{{Load: load.Load{Iterations: 2, Users: 2}.WithDefaults(1), Run: rest(2 * time.Second)}})[0]
		// The users are due at 0, 0.5, 1 and 1.5 s. They end at 2, 4, 6 and 8 s.
		if m.Latency.Min() != 2*time.Second || m.Latency.Max() != 6500*time.Millisecond ||
			m.Latency.Mean() != 4250*time.Millisecond || m.RuntimeSeconds != 8 {
			t.Errorf("from %v to %v, %v, runtime %v", m.Latency.Min(), m.Latency.Max(),
				m.Latency.Mean(), m.RuntimeSeconds)
		}
		if m.Lateness.Max() != 4500*time.Millisecond || len(m.Series) != 9 || m.Series[1].Latency.Count() != 2 ||
			m.Series[8].Ended != 1 || m.Series[0].Ended != 0 {
			t.Errorf("%v late; %d slots", m.Lateness.Max(), len(m.Series))
		}
	})
}

// TestInFlight: MaxInFlight bounds the active users of each part separately.
func TestInFlight(t *testing.T) {
	within(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := [2]int{}, [2]int{}
		part := func(i int) load.Part {
			return load.Part{
				Load: load.Load{Iterations: 3, Users: 20}.WithDefaults(1),
				Run: func(ctx context.Context, _ *scenario.User) error {
					add := func(n int) {
						mu.Lock()
						defer mu.Unlock()
						now[i] += n
						most[i] = max(most[i], now[i])
					}
					add(1)
					defer add(-1)
					return rest(time.Second)(ctx, nil)
				},
			}
		}
		for _, m := range driveAll(t.Context(), load.Config{MaxInFlight: 3}, []load.Part{part(0), part(1)}) {
			if m.Succeeded != 60 || m.RuntimeSeconds < 20 {
				t.Errorf("%+v", m)
			}
		}
		if most != [2]int{3, 3} {
			t.Error(most)
		}
	})
}

// TestGrace: users are cut when the grace of their own part is over. The users of other parts
// continue.
func TestGrace(t *testing.T) {
	within(t, func(t *testing.T) {
		short := load.Load{Iterations: 1, Users: 3}.WithDefaults(1)
		long := load.Load{Iterations: 60, Users: 2}.WithDefaults(1)
		m := driveAll(t.Context(), load.Config{Grace: 10 * time.Second},
			[]load.Part{{Load: short, Run: rest(time.Hour)}, {Load: long, Run: rest(time.Second)}})
		if m[0].Cut != 3 || m[0].Started != 3 || m[0].Latency.Count() != 0 ||
			m[0].RuntimeSeconds < 10 || m[0].RuntimeSeconds > 12 {
			t.Errorf("%+v", m[0])
		}
		if m[1].Cut != 0 || m[1].Succeeded != 120 || m[1].RuntimeSeconds != 60.5 {
			t.Errorf("%+v", m[1])
		}
	})
}

// TestCanceled: when ctx ends, no more users start and active users are cut. Users who have ended
// are counted as usual.
func TestCanceled(t *testing.T) {
	within(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		m := driveAll(ctx, load.Config{},
			[]load.Part{{
				Load: load.Load{Iterations: 100, Users: 1}.WithDefaults(1),
				Run:  rest(2200 * time.Millisecond),
			}})[0]
		if m.Started != 4 || m.Succeeded != 2 || m.Cut != 2 || m.Failed != 0 || m.RuntimeSeconds != 3.5 {
			t.Errorf("%+v", m)
		}
	})
}

// TestErrors counts failures by kind. A panic is a failure, too.
func TestErrors(t *testing.T) {
	within(t, func(t *testing.T) {
		m := driveAll(t.Context(), load.Config{},
			[]load.Part{{
				Load: load.Load{Iterations: 3, Users: 10}.WithDefaults(1),
				Run: func(_ context.Context, u *scenario.User) error {
					switch u.Number % 10 {
					case 0:
						panic("out of luck")
					case 1, 2:
						return errors.New("sold out: seat 12: row 3")
					}
					return nil
				},
			}})[0]
		if m.Failed != 9 || m.Succeeded != 21 || m.Errors["panic: out of luck"] != 3 ||
			m.Errors["sold out: seat ##"] != 6 || m.Series[1].Failed != 3 || m.Latency.Count() != 21 {
			t.Errorf("%+v", m)
		}
	})
}

// TestResidents: residents stay a little longer than the last visitor. Their measurements outside
// of the measured time are ignored.
func TestResidents(t *testing.T) {
	within(t, func(t *testing.T) {
		listener := func(ctx context.Context, u *scenario.User) error {
			for rest(time.Second)(ctx, u) == nil {
				u.Record("message", time.Millisecond)
				u.Count("messages", 1)
			}
			return nil
		}
		stayed := time.Duration(0)
		cfg := load.Config{WarmUp: 1, CoolDown: 1, Stay: func(ctx context.Context) {
			stayed = 5 * time.Second
			_ = rest(stayed)(ctx, nil)
		}}
		visits := load.Load{Iterations: 10, Users: 1}.WithDefaults(1)
		m := driveAll(t.Context(), cfg,
			[]load.Part{
				{Load: load.Load{Iterations: 10, Users: 3}.WithDefaults(1), Resident: true, Run: listener},
				{Load: visits, Run: rest(2100 * time.Millisecond)},
			})
		// The last visitor leaves at 11.1 s. The visitors of the other processes leave 5 s later.
		if r := m[0]; r.Started != 3 || r.Succeeded != 3 || r.Counts["messages"] != 3*16 ||
			r.Steps["message"].Count() != 3*8 || r.RuntimeSeconds != 16.6 || r.Cut != 0 {
			t.Errorf("%+v, %d steps", r, r.Steps["message"].Count())
		}
		if m[1].Succeeded != 10 || m[1].RuntimeSeconds != 11.1 || stayed == 0 {
			t.Errorf("%+v", m[1])
		}
		alone := driveAll(t.Context(), load.Config{Share: 1, Shares: 2},
			[]load.Part{{Load: load.Load{Iterations: 4, Users: 3}.WithDefaults(1), Resident: true, Run: listener}})[0]
		if alone.Started != 1 || alone.RuntimeSeconds != 4 {
			t.Errorf("%+v", alone)
		}
	})
}

// TestProgress: there is a report about four times a second, and one at the end. Each report
// includes the measurements of the preceding one. The last report equals the returned measurements.
func TestProgress(t *testing.T) {
	within(t, func(t *testing.T) {
		var all []load.Progress
		var last []*result.Measured
		m := driveAll(t.Context(), load.Config{Report: func(p load.Progress) {
			all = append(all, p)
			last = p.Snapshot()
			// Users start and end between the progress and the snapshot.
			if s := last[0]; s.Started < p.Parts[0].Started || s.Succeeded < p.Parts[0].Succeeded {
				t.Errorf("%+v, but the snapshot has %d and %d", p.Parts[0], s.Started, s.Succeeded)
			}
		}}, []load.Part{{
			Label: "visit", Load: load.Load{Iterations: 4, Users: 10}.WithDefaults(1),
			Run: rest(50 * time.Millisecond),
		}})[0]
		if len(all) != 16 || all[0].Schedule != 4*time.Second || all[1].Elapsed != 500*time.Millisecond ||
			all[1].Parts[0].Label != "visit" {
			t.Errorf("%d reports: %+v", len(all), all[:2])
		}
		for i := 1; i < len(all); i++ {
			if a, b := all[i-1].Parts[0], all[i].Parts[0]; b.Started < a.Started ||
				b.Ended < a.Ended || b.Ended > b.Started {
				t.Errorf("%+v after %+v", b, a)
			}
		}
		if end := all[len(all)-1].Parts[0]; end.Started != 40 || end.Ended != 40 ||
			end.P99 != m.Latency.Percentile(99) || last[0].Started != 40 || last[0].Succeeded != 40 ||
			last[0].Latency.Mean() != m.Latency.Mean() {
			t.Errorf("%+v", end)
		}
	})
}

// TestMerged: the sum of two shares equals the measurements of one process.
func TestMerged(t *testing.T) {
	within(t, func(t *testing.T) {
		run := func(ctx context.Context, u *scenario.User) error {
			u.Count("sum", u.Number)
			return u.Time("rest", func() error { return rest(time.Duration(u.Number%7)*100*time.Millisecond)(ctx, u) })
		}
		driven := func(share, shares int) *result.Measured {
			return driveAll(t.Context(), load.Config{Share: share, Shares: shares},
				[]load.Part{{Load: load.Load{Iterations: 5, Users: 20}.WithDefaults(1), Run: run}})[0]
		}
		want, sum := driven(0, 1), result.NewMeasured()
		for share := range 3 {
			sum.Merge(driven(share, 3))
		}
		if sum.Started != want.Started || sum.Succeeded != want.Succeeded || sum.Counts["sum"] != want.Counts["sum"] ||
			sum.RuntimeSeconds != want.RuntimeSeconds || len(sum.Series) != len(want.Series) {
			t.Errorf("%+v, not %+v", sum, want)
		}
		if !slices.Equal(sum.Latency.Bars(), want.Latency.Bars()) ||
			!slices.Equal(sum.Steps["rest"].Bars(), want.Steps["rest"].Bars()) {
			t.Error("other latencies")
		}
		for i, s := range want.Series {
			if g := sum.Series[i]; g.Started != s.Started || g.Ended != s.Ended ||
				!slices.Equal(g.Latency.Bars(), s.Latency.Bars()) {
				t.Errorf("slot %d: %+v, not %+v", i, g, s)
			}
		}
	})
}

// TestValidate refuses loads out of bounds.
func TestValidate(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]load.Load{
		"iterations": {Iterations: load.MaxIterations + 1}, "negative": {Iterations: -1},
		"resolution": {Resolution: time.Microsecond}, "hours": {Resolution: 2 * time.Hour},
		"users": {Users: load.MaxUsers + 1}, "from": {From: -1}, "delay": {Delay: -1},
		"shape": {Shape: "round"}, "spread": {Spread: "thick"},
		"no steps": {Shape: load.Steps}, "many steps": {Shape: load.Steps, Iterations: 1, Steps: []int{1, 2}},
		"negative step": {Shape: load.Steps, Steps: []int{-1}},
	} {
		if err := l.WithDefaults(1).Validate(); !errors.Is(err, load.ErrLoad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if l := (load.Load{}).WithDefaults(7); l.Validate() != nil || l.Users != 7 || l.Schedule() != 25*time.Second {
		t.Errorf("%+v", l)
	}
}

// TestNeverEarly: with the system's clock and its finest timer, no user starts before it is due.
func TestNeverEarly(t *testing.T) {
	t.Parallel()
	before := time.Now()
	m := load.Drive(t.Context(), load.Config{},
		[]load.Part{{
			Load: load.Load{Iterations: 4, Resolution: 25 * time.Millisecond, Users: 10}.WithDefaults(1),
			Run: func(_ context.Context, u *scenario.User) error {
				if due := time.Duration(u.Number) * 2500 * time.Microsecond; time.Since(before) < due {
					return errors.New("too early")
				}
				return nil
			},
		}})[0]
	if m.Succeeded != 40 {
		t.Errorf("%+v", m)
	}
}
