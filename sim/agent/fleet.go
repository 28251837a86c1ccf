package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
)

// DefaultSilence is how long an agent may send nothing before it counts as lost.
const DefaultSilence = 15 * time.Second

// ErrAgents is the error for a load that no agents can run, or that these agents cannot run.
var ErrAgents = errors.New("sim: agents")

// Fleet is a group of agents that run a load together. It implements engine.Driver.
type Fleet struct {
	// Addresses are the hosts of the agents, each with its port if that is not DefaultPort.
	Addresses []string
	// Token is the token of all agents.
	Token string
	// Silence is how long an agent may send nothing before it counts as lost. Zero means
	// DefaultSilence.
	Silence time.Duration
	Clock   patterns.Clock
}

func (f *Fleet) silence() time.Duration {
	if f.Silence > 0 {
		return f.Silence
	}
	return DefaultSilence
}

// errNotReachable is the error for a target in the process of the monitor, which agents cannot
// reach.
func errNotReachable(s engine.Settings) error {
	return fmt.Errorf("%w: they cannot reach the target %q: start a server ('sheaf serve') and use a URI (mongodb://…) at which all agents reach it", ErrAgents, s.Name())
}

// remotes returns the agents, and a function that closes their connections.
func (f *Fleet) remotes(ctx context.Context) ([]*remote, func()) {
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: patience}).DialContext,
		ResponseHeaderTimeout: f.silence(),
	}
	out := make([]*remote, len(f.Addresses))
	for i, address := range f.Addresses {
		r := &remote{f: f, number: i, address: address, client: &http.Client{Transport: transport}, id: rand.Text()}
		r.ctx, r.cancel = context.WithCancelCause(ctx)
		out[i] = r
	}
	return out, func() {
		for _, r := range out {
			r.cancel(nil)
		}
		transport.CloseIdleConnections()
	}
}

// each calls fn for all agents in parallel, and joins the errors.
func each(all []*remote, fn func(*remote) error) error {
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, r := range all {
		done.Go(func() {
			if err := fn(r); err != nil {
				errs[i] = fmt.Errorf("%w: %s: %w", ErrAgents, r.address, err)
			}
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

// Prepare implements engine.Preparer. It checks that every agent answers, has this version, and has
// the scenarios.
func (f *Fleet) Prepare(ctx context.Context, job engine.Job) error {
	if err := checkToken(f.Token); err != nil {
		return err
	}
	if !job.Settings.IsURI() {
		return errNotReachable(job.Settings)
	}
	if sorted := slices.Sorted(slices.Values(f.Addresses)); len(sorted) == 0 ||
		len(slices.Compact(sorted)) < len(f.Addresses) {
		return fmt.Errorf("%w: no address, or one twice: %s", ErrAgents, strings.Join(f.Addresses, ", "))
	}
	all, end := f.remotes(ctx)
	defer end()
	return each(all, func(r *remote) error {
		a, err := r.about(ctx)
		if err != nil {
			return err
		}
		return suits(a, job)
	})
}

// suits reports why an agent would not measure like this program, or nil.
func suits(a About, job engine.Job) error {
	if a.Protocol != Protocol || a.Format != result.Format || a.Build != engine.Build() {
		return fmt.Errorf("it is build %q (protocol %d, format %d), this is %q (%d, %d): run the same program everywhere",
			a.Build, a.Protocol, a.Format, engine.Build(), Protocol, result.Format)
	}
	for _, p := range job.Parts {
		if !slices.Contains(a.Scenarios, p.Scenario) {
			return fmt.Errorf("it has no scenario %q: run the same program everywhere", p.Scenario)
		}
	}
	return nil
}

// Drive implements engine.Driver. It does not use the client of this process.
func (f *Fleet) Drive(ctx context.Context, _ *mongo.Client, job engine.Job,
	report func(load.Progress),
) (engine.Driven, error) {
	if err := f.Prepare(ctx, job); err != nil {
		return engine.Driven{}, err
	}
	// If ctx ends, the agents are told to stop. Their streams stay open until the agents have sent
	// their last measurements.
	all, end := f.remotes(context.WithoutCancel(ctx))
	d := &drive{Fleet: f, job: job, all: all, events: make(chan event), report: report, clock: f.Clock}
	if d.clock == nil {
		d.clock = patterns.SystemClock{}
	}
	var readers sync.WaitGroup
	defer readers.Wait()
	defer end()
	closed := make(chan struct{})
	defer close(closed)
	for i, r := range all {
		share := job
		share.Share, share.Shares = i, len(all)
		for range job.Parts {
			r.measured = append(r.measured, result.NewMeasured())
		}
		readers.Go(func() {
			r.run(share, func(e event) {
				select {
				case d.events <- e:
				case <-closed:
				}
			})
		})
	}
	if err := d.loop(ctx); err != nil {
		return engine.Driven{}, err
	}
	return d.driven(), nil
}
