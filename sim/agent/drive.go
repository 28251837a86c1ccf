package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
)

// drive is the monitor's side of a load that agents run.
type drive struct {
	*Fleet
	job    engine.Job
	all    []*remote
	events chan event
	report func(load.Progress)
	clock  patterns.Clock

	begun    bool
	begin    time.Time
	released bool // whether the residents were told to leave
	unheard  []int64
}

// loop handles the messages of the agents until all agents have ended.
func (d *drive) loop(ctx context.Context) error {
	stop := ctx.Done()
	var late <-chan time.Time // fires when stopped agents have had enough time to end
	for !d.every(ended) {
		select {
		case e := <-d.events:
			if err := d.take(e); err != nil {
				return err
			}
			d.next()
		case <-stop:
			if !d.begun {
				return nil
			}
			stop, late = nil, time.After(patience)
			d.tell("stop")
		case <-late:
			for _, r := range d.all {
				d.lose(r, fmt.Errorf("it did not stop within %v", patience))
			}
		}
	}
	return nil
}

// every reports whether all agents have reached a state.
func (d *drive) every(s state) bool {
	for _, r := range d.all {
		if r.state < s {
			return false
		}
	}
	return true
}

// tell sends a command to all agents in parallel. It does not wait: if an agent does not get the
// command, its stream shows that.
func (d *drive) tell(what string) {
	for _, r := range d.all {
		if r.state < ended {
			go func() {
				if err := r.control(what); err != nil && what == "start" {
					r.cancel(fmt.Errorf("it cannot be started: %w", err))
				}
			}()
		}
	}
}

// take handles one message. An agent that cannot take part ends the load, but only before the load
// has begun.
func (d *drive) take(e event) error {
	r := e.from
	if r.state == ended {
		return nil
	}
	if e.err == nil && e.said.Type == typeFailed {
		e.err = fmt.Errorf("it failed: %s", e.said.Error)
	}
	if e.err == nil && e.said.Type == typeDone && !d.begun {
		e.err = errors.New(e.said.Ended)
	}
	if e.err == nil {
		e.err = r.hear(e.said, d.elapsed())
	}
	switch {
	case e.err != nil && !d.begun:
		return fmt.Errorf("%w: %s: %w", ErrAgents, r.address, e.err)
	case e.err != nil:
		d.lose(r, e.err)
	case e.said.Type == typeDone && e.said.Ended != "":
		r.lost = fmt.Sprintf("after %.1f s: %s; what it had measured is in the result",
			d.elapsed().Seconds(), e.said.Ended)
	}
	if e.err != nil || e.said.Parts != nil {
		d.report(d.progress())
	}
	return nil
}

// hear stores the measurements of a message. at is the time of the message, counted from the start.
func (r *remote) hear(m message, at time.Duration) error {
	if m.Parts != nil {
		measured, err := unpack(m.Parts, r.measured)
		if err != nil {
			return err
		}
		r.measured, r.heard, r.cpu = measured, at, m.CPUSeconds
	}
	switch m.Type {
	case typeReady:
		r.state = max(r.state, waiting)
	case typeVisited:
		r.state = max(r.state, visited)
	case typeDone:
		r.state = ended
	}
	return nil
}

// next starts the users when all agents are ready, and ends the residents when all visitors have
// left.
func (d *drive) next() {
	switch {
	case !d.begun && d.every(waiting):
		d.begun, d.begin = true, d.clock.Now()
		for _, r := range d.all {
			r.state = max(r.state, running)
		}
		d.tell("start")
	case d.begun && !d.released && d.every(visited):
		d.released = true
		d.tell("leave")
	}
}

// elapsed returns the time since the start of the load, or 0 before it.
func (d *drive) elapsed() time.Duration {
	if !d.begun {
		return 0
	}
	return d.clock.Now().Sub(d.begin)
}

// lose gives up an agent. The users that were active in its last message count as cut. Users that
// it may have started after that message are counted in unheard.
func (d *drive) lose(r *remote, why error) {
	if r.state == ended {
		return
	}
	r.state = ended
	if d.unheard == nil {
		d.unheard = make([]int64, len(d.job.Parts))
	}
	open := int64(0)
	for i, m := range r.measured {
		settled := result.NewMeasured()
		settled.Merge(m)
		under := m.Started - m.Succeeded - m.Failed - m.Cut
		settled.Cut += under
		r.measured[i] = settled
		open += under
		d.unheard[i] += max(0, d.share(i, r.number)-m.Started)
	}
	r.lost = fmt.Sprintf("after %.1f s: %v; it last told at %.1f s, when %d of its users were under way: what they and later ones have done is not known",
		d.elapsed().Seconds(), why, r.heard.Seconds(), open)
	r.cancel(why)
}

// share returns the largest number of visitors or residents that an agent may start for one part of
// the job.
func (d *drive) share(part, number int) int64 {
	l, n := d.job.Parts[part].Load, len(d.all)
	return max(l.Total(d.job.Seed, number, n), int64((l.Users+n-1-number)/n))
}

// merged adds up the measurements of several agents, for each part of the job.
func merged(all [][]*result.Measured) []*result.Measured {
	out := make([]*result.Measured, len(all[0]))
	for i := range out {
		out[i] = result.NewMeasured()
		for _, parts := range all {
			out[i].Merge(parts[i])
		}
	}
	return out
}

// states returns the newest measurements of each agent. The returned values never change: a later
// message replaces them.
func (d *drive) states() [][]*result.Measured {
	out := make([][]*result.Measured, len(d.all))
	for i, r := range d.all {
		out[i] = append([]*result.Measured(nil), r.measured...)
	}
	return out
}

func (d *drive) progress() load.Progress {
	states := d.states()
	p := load.Progress{Elapsed: d.elapsed(), Snapshot: func() []*result.Measured { return merged(states) }}
	for i, part := range d.job.Parts {
		p.Schedule = max(p.Schedule, part.Load.Schedule())
		one, latency := load.PartProgress{Label: part.Label}, result.NewTiming(3)
		for _, parts := range states {
			m := parts[i]
			one.Started += m.Started
			one.Succeeded += m.Succeeded
			one.Failed += m.Failed
			one.Ended += m.Succeeded + m.Failed + m.Cut
			latency.Merge(m.Latency)
		}
		one.P50, one.P99 = latency.Percentile(50), latency.Percentile(99)
		p.Parts = append(p.Parts, one)
	}
	return p
}

// driven returns the result of the load: the measurements of all agents, and which agents were
// lost.
func (d *drive) driven() engine.Driven {
	out := engine.Driven{Parts: merged(d.states()), Unheard: d.unheard}
	var lost []string
	for _, r := range d.all {
		out.CPUSeconds += r.cpu
		out.Agents = append(out.Agents, result.Agent{Address: r.address, Lost: r.lost, CPUSeconds: r.cpu})
		if r.lost != "" {
			lost = append(lost, r.address+" "+r.lost)
		}
	}
	if len(lost) > 0 {
		out.Partial = fmt.Sprintf("%d of %d agents lost: %s", len(lost), len(d.all), strings.Join(lost, "; "))
	}
	return out
}
