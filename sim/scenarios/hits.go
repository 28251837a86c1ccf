package scenarios

import (
	"context"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/hits"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func hitsScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "hits", Group: "hits", Users: 1000,
		Title: "Count a hit of a page, by minute, hour, day and month",
		Doc: `A user hits one of the pages of a site; some pages are hit much more often than others. With writer direct, the hit is counted at once: 1 update
of the page's day, 1 find of its total, 1 update of its month. With writer gather, the process collects hits in memory, and writes them together
about once a second: the user does not wait.

  hits.daily:   {_id: "20260501/site-1/page-7.html", metadata: {…}, daily: 21, hourly: {"14": 21}, minute: {"14": {"841": 3, …}}}
  hits.monthly: {_id: "202605/site-1/page-7.html", metadata: {…}, monthly: 21, daily: {"1": 21}}`,
		Params: []scenario.Param{
			whole("pages", "how many pages the site has", 1000, 1, 10_000_000),
			choice("form", "how a day's minutes are arranged", "hierarchical", "flat"),
			choice("writer", "whether each hit is counted at once, or hits are gathered", "direct", "gather"),
			flag("months", "whether there are documents of months", true),
		},
		New: newHits,
	}}
}

// hitting implements the scenario hits.
type hitting struct {
	*hits.Counters
	daily, monthly *mongo.Collection
	pages          int
	months         bool
	writer         *hits.Writer // nil if each hit is written immediately
	stop           context.CancelFunc
	running        sync.WaitGroup
	failed         error // the error of the last flush
}

func newHits(env scenario.Env) (scenario.Scenario, error) {
	const daily, monthly = "hits.daily", "hits.monthly"
	p := env.Params
	s := &hitting{
		daily: env.DB.Collection(daily), monthly: env.DB.Collection(monthly), pages: p.Int("pages"),
		months: p.Bool("months"), stop: func() {},
	}
	cfg := hits.Config{Env: env.Patterns, Daily: daily, Monthly: monthly, WithoutMonths: !s.months}
	if p.String("form") == "flat" {
		cfg.Form = hits.Flat
	}
	var err error
	if s.Counters, err = hits.New(env.DB, cfg); err != nil || p.String("writer") != "gather" {
		return s, err
	}
	if s.writer, err = s.NewWriter(hits.WriterConfig{}); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() { s.failed = s.writer.Run(ctx) })
	return s, nil
}

// Setup implements scenario.Scenario.
func (s *hitting) Setup(ctx context.Context) error { return s.EnsureIndexes(ctx) }

// Run implements scenario.Scenario.
func (s *hitting) Run(ctx context.Context, u *scenario.User) error {
	hit := hits.Hit{Site: "site-1", Page: fmt.Sprintf("/page-%d.html", popular(u.Rand, s.pages)), At: u.Now()}
	var err error
	if s.writer != nil {
		err = s.writer.Hit(hit)
	} else {
		err = s.Add(ctx, hit)
	}
	if err == nil {
		u.Count("hits", 1)
	}
	return err
}

// Check implements scenario.Scenario.
func (s *hitting) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if unsure(t, 1) > 0 {
		if _, err := s.Repair(ctx); err != nil {
			return nil, err
		}
	}
	out, err := s.Counters.Check(ctx)
	if err != nil {
		return nil, err
	}
	totals := map[*mongo.Collection]string{s.daily: "$daily"}
	if s.months {
		totals[s.monthly] = "$monthly"
	}
	for coll, total := range totals {
		n, err := sumOf(ctx, coll, total)
		if err != nil {
			return nil, err
		}
		out = append(out, counted("every hit is counted once", coll.Name(), n, t.Counts["hits"], unsure(t, 1))...)
	}
	return out, nil
}

// Teardown implements scenario.Scenario. It writes the collected hits.
func (s *hitting) Teardown(context.Context) error {
	s.stop()
	s.running.Wait()
	return s.failed
}
