package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// meter measures the users of a part.
type meter struct {
	d    *driver
	part *Part

	mu    sync.Mutex
	m     *result.Measured
	ended int64
	// copied holds the last copy of each slot, for the function copy.
	copied []*result.Slot
	// from and to bound the measured time. Users who are due in warm-up or cool-down are not
	// measured.
	from, to time.Time
	// inside is the sink of visitors who are due in the measured time, outside is the sink of other
	// visitors, and resident is the sink of residents.
	inside, outside, resident sink
}

func newMeter(d *driver, p Part) *meter {
	begin := d.begin.Add(p.Load.Delay)
	at := func(iteration int) time.Time { return begin.Add(time.Duration(iteration) * p.Load.Resolution) }
	m := &meter{d: d, part: &p, m: result.NewMeasured(), from: at(d.WarmUp), to: at(p.Load.Iterations - d.CoolDown)}
	m.inside = sink{m, func() bool { return true }}
	m.outside = sink{m, func() bool { return false }}
	m.resident = sink{m, m.inTime}
	return m
}

// visit runs a user, and records the time from its due moment to its end.
func (m *meter) visit(ctx context.Context, u due) {
	started := m.d.Clock.Now()
	measured := !u.at.Before(m.from) && u.at.Before(m.to)
	m.begin(u, started.Sub(u.at), measured)
	to := &m.outside
	if measured {
		to = &m.inside
	}
	err := run(ctx, m.part, scenario.NewUser(u.number, m.d.Seed, m.d.Clock, to))
	m.end(ctx, u, measured, err)
}

func (m *meter) begin(u due, late time.Duration, measured bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m.Started++
	m.m.Slot(u.iteration).Started++
	if measured {
		m.m.Lateness.Add(late)
	}
}

func (m *meter) end(ctx context.Context, u due, measured bool, err error) {
	now := m.d.Clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended++
	m.m.RuntimeSeconds = max(m.m.RuntimeSeconds, now.Sub(m.d.begin).Seconds())
	slot := m.m.Slot(u.iteration)
	m.m.Slot(max(0, int(now.Sub(m.d.begin.Add(m.part.Load.Delay))/m.part.Load.Resolution))).Ended++
	switch {
	case err != nil && ctx.Err() != nil:
		m.m.Cut++
	case err != nil:
		m.m.Failed++
		slot.Failed++
		m.m.Errors[scenario.Label(err)]++
	default:
		m.m.Succeeded++
		if measured {
			m.m.Latency.Add(now.Sub(u.at))
			slot.Latency.Add(now.Sub(u.at))
		}
	}
}

// reside runs a resident until ctx ends.
func (m *meter) reside(ctx context.Context, number int64) {
	m.mu.Lock()
	m.m.Started++
	m.mu.Unlock()
	err := run(ctx, m.part, scenario.NewUser(number, m.d.Seed, m.d.Clock, &m.resident))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended++
	m.m.RuntimeSeconds = max(m.m.RuntimeSeconds, m.d.Clock.Now().Sub(m.d.begin).Seconds())
	if err != nil && ctx.Err() == nil {
		m.m.Failed++
		m.m.Errors[scenario.Label(err)]++
		return
	}
	m.m.Succeeded++
}

func (m *meter) inTime() bool {
	now := m.d.Clock.Now()
	return !now.Before(m.from) && now.Before(m.to)
}

// copy returns the measurements so far. The caller must not change them: unchanged slots are shared
// with the preceding copy, because a long run has thousands.
func (m *meter) copy() *result.Measured {
	out := result.NewMeasured()
	m.mu.Lock()
	defer m.mu.Unlock()
	whole := *m.m
	whole.Series = nil
	out.Merge(&whole)
	for i, s := range m.m.Series {
		switch {
		case i == len(m.copied):
			m.copied = append(m.copied, s.Clone())
		case !s.Same(m.copied[i]):
			m.copied[i] = s.Clone()
		}
	}
	out.Series = slices.Clone(m.copied)
	return out
}

func (m *meter) progress() PartProgress {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := PartProgress{
		Label: m.part.Label, Started: m.m.Started, Succeeded: m.m.Succeeded,
		Failed: m.m.Failed, Ended: m.ended,
	}
	p.P50, p.P99 = m.m.Latency.Percentile(50), m.m.Latency.Percentile(99)
	return p
}

// sink receives the measurements of users.
type sink struct {
	*meter
	measured func() bool
}

// Step implements scenario.Sink. It ignores steps outside the measured time.
func (s *sink) Step(name string, d time.Duration) {
	if !s.measured() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Step(name).Add(d)
}

// Count implements scenario.Sink. It counts all users, because Check compares the counts with the
// database.
func (s *sink) Count(name string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m.Counts[name] += n
}
