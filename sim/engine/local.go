package engine

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// Local runs a job in this process.
type Local struct {
	Set   scenario.Set
	Clock patterns.Clock
	Env   patterns.Env
	// Ready is called before the load begins, when everything is prepared. Stay is passed to
	// load.Config. If one is nil, the load does not wait for it.
	Ready func(ctx context.Context) error
	Stay  func(ctx context.Context)
}

// Drive implements Driver.
func (l *Local) Drive(ctx context.Context, client *mongo.Client, job Job, report func(load.Progress)) (Driven, error) {
	var parts []load.Part
	var made []scenario.Scenario
	defer func() {
		for _, s := range made {
			_ = s.Teardown(context.WithoutCancel(ctx)) // a load generator has set up nothing, so nothing can remain
		}
	}()
	for _, p := range job.Parts {
		d, err := l.Set.Find(p.Scenario)
		if err != nil {
			return Driven{}, err
		}
		given := map[string]any{}
		for name, text := range p.Params {
			given[name] = text
		}
		values, err := d.Values(given)
		if err != nil {
			return Driven{}, err
		}
		if err := p.Load.Validate(); err != nil {
			return Driven{}, err
		}
		s, err := d.New(scenario.Env{DB: client.Database(p.Database), Params: values, Seed: job.Seed, Patterns: l.Env})
		if err != nil {
			return Driven{}, fmt.Errorf("sim: make %s: %w", p.Label, err)
		}
		made = append(made, s)
		parts = append(parts, load.Part{Label: p.Label, Load: p.Load, Resident: d.Resident, Run: s.Run})
	}
	if l.Ready != nil {
		if err := l.Ready(ctx); err != nil {
			return Driven{}, err
		}
	}
	before := CPUSeconds()
	cfg := load.Config{
		WarmUp: job.WarmUp, CoolDown: job.CoolDown, Grace: job.Grace, MaxInFlight: job.MaxInFlight, Seed: job.Seed,
		Share: job.Share, Shares: job.Shares,
		Clock: l.Clock, Report: report, Stay: l.Stay,
	}
	return Driven{Parts: load.Drive(ctx, cfg, parts), CPUSeconds: CPUSeconds() - before}, nil
}
