package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/rollup"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func rollupScenarios() []*scenario.Definition {
	const doc = `

  events:       {_id, userid: "user-7", ts: ISODate("…"), length: 10, at: ISODate("…")}
  stats.hourly: {_id: {u: "user-7", d: ISODate("…")}, value: {total: 30, count: 2, mean: 15.0, ts: ISODate("…")}}
  stats.daily, stats.weekly, stats.monthly, stats.yearly: likewise`
	params := []scenario.Param{
		whole("keys", "how many users the events belong to", 1000, 1, 1_000_000),
		whole("days", "age of the oldest events in days", 1, 1, 366),
		whole("batch", "how many events are recorded together", 1, 1, 10_000),
		{Name: "settle", Doc: "how long after its arrival time an event may still be invisible", Default: 500 * time.Millisecond, Min: 0.001, Max: 60},
		{
			Name: "interval", Doc: "the time between two updates of the sums",
			Default: time.Second, Min: 0.001, Max: 3600,
		},
	}
	return []*scenario.Definition{
		{
			Name: "rollup", Group: "rollup", Users: 1000, Params: params,
			Title: "Record an event, to be summed up later",
			Doc: `A user records events that happened some time ago: 1 insert. After the run all events are summed up, and every event must be in the sums of its
hour, day, week, month and year exactly once.` + doc,
			New: func(env scenario.Env) (scenario.Scenario, error) { return newRollup(env, false) },
		},
		{
			Name: "rollup-update", Group: "rollup", Users: 1, Resident: true,
			Companion: []string{"rollup"}, Params: params,
			Title: "Sum up new events during the whole run",
			Doc: `A process repeatedly sums up the events that have arrived since the last time: 1 aggregate with $merge for each changed hour, day, week, month and
year (step "update").` + doc,
			New: func(env scenario.Env) (scenario.Scenario, error) { return newRollup(env, true) },
		},
	}
}

// summing implements the scenarios of package rollup.
type summing struct {
	still
	*rollup.Rollup
	yearly            *mongo.Collection
	patterns          patterns.Env
	keys, days, batch int
	settle, interval  time.Duration
	update            bool
}

func newRollup(env scenario.Env, update bool) (scenario.Scenario, error) {
	const prefix = "stats."
	p := env.Params
	s := &summing{
		yearly: env.DB.Collection(prefix + rollup.Yearly.String()), patterns: env.Patterns.WithDefaults(),
		keys: p.Int("keys"), days: p.Int("days"), batch: p.Int("batch"), settle: p.Duration("settle"),
		interval: p.Duration("interval"), update: update,
	}
	var err error
	s.Rollup, err = rollup.New(env.DB, rollup.Config{Env: env.Patterns, Prefix: prefix, Settle: s.settle})
	return s, err
}

// Setup implements scenario.Scenario.
func (s *summing) Setup(ctx context.Context) error { return s.EnsureIndexes(ctx) }

// mostOfEvent is the greatest value of an event.
const mostOfEvent = 100

// Run implements scenario.Scenario.
func (s *summing) Run(ctx context.Context, u *scenario.User) error {
	if s.update {
		return s.keepUpdating(ctx, u)
	}
	events, sum := make([]rollup.Event, s.batch), int64(0)
	for i := range events {
		ago := time.Duration(u.Rand.Int64N(int64(s.days) * int64(24*time.Hour)))
		events[i] = rollup.Event{
			Key: fmt.Sprint("user-", u.Rand.IntN(s.keys)), At: u.Now().Add(-ago),
			Value: 1 + u.Rand.Int64N(mostOfEvent),
		}
		sum += events[i].Value
	}
	if err := s.Record(ctx, events...); err != nil {
		return err
	}
	u.Count("recorded", sum)
	return nil
}

// keepUpdating is the resident user of the scenario rollup-update.
func (s *summing) keepUpdating(ctx context.Context, u *scenario.User) error {
	for {
		err := u.Time("update", func() error {
			n, err := s.Update(ctx)
			u.Count("summed up", int64(n))
			return err
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if s.patterns.Clock.Sleep(ctx, s.interval) != nil {
			return nil
		}
	}
}

// Check implements scenario.Scenario.
func (s *summing) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	const margin = 10 * time.Millisecond
	if err := s.patterns.Clock.Sleep(ctx, s.settle+margin); err != nil {
		return nil, err
	}
	if _, err := s.Update(ctx); err != nil {
		return nil, err
	}
	out, err := s.Rollup.Check(ctx)
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(ctx, s.yearly, "$value.total")
	// If no scenario of the run records events, the right sum is unknown.
	if err != nil || s.update && t.Together["recorded"] == 0 {
		return out, err
	}
	return append(out, counted("every event is summed up once", s.yearly.Name(), sum, t.Together["recorded"],
		unsure(t, s.batch*mostOfEvent))...), nil
}
