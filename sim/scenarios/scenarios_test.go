package scenarios_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
	"github.com/sheafdb/sheaf/sim/scenarios"
)

// few maps names of parameters to small values. Tests use them for every scenario that has the
// parameter.
var few = map[string]any{
	"documentSize": 300, "jobs": 3, "topics": 2, "numberOfObjects": 50, "depth": 3, "width": 3,
	"level": 2, "numberOfProducts": 40,
	"numberOfCategories": 10, "numberOfTimeSeries": 10, "numberOfCacheObjects": 10, "initialCacheSize": 5,
	"settle": "20ms", "loading": "1ms",
	"pages": 20, "keys": 10, "locks": 2, "numberOfTheaters": 2, "numberOfSessions": 2, "rows": 20,
	"seats": 20, "numberOfAccounts": 20,
	"numberOfMembers": 20, "followers": 3, "postsAtFirst": 5, "numberOfCampaigns": 3, "numberOfZones": 3,
	"commentsPerPost": 5, "numberOfPages": 5,
	"numberOfPlayers": 10, "numberOfThreads": 3, "entriesPerThread": 20, "numberOfAuthors": 20,
	"numberOfDocuments": 20, "numberOfGenres": 5,
}

// damage is a write that breaks an invariant. The Check of a scenario must notice the damage.
type damage struct {
	// rule is a part of the text of the broken rule.
	rule  string
	apply func(ctx context.Context, db *mongo.Database) error
}

// sabotaged is a scenario with damages. If its Check finds nothing, it runs the Check again after
// each damage.
type sabotaged struct {
	scenario.Scenario
	db      *mongo.Database
	damages []damage
}

// Check implements scenario.Scenario.
func (s *sabotaged) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Scenario.Check(ctx, t)
	if err != nil || len(out) > 0 {
		return out, err
	}
	for _, d := range s.damages {
		if err := d.apply(ctx, s.db); err != nil {
			return nil, fmt.Errorf("damage %q: %w", d.rule, err)
		}
		found, err := s.Scenario.Check(ctx, t)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(v patterns.Violation) bool { return strings.Contains(v.Rule, d.rule) }) {
			out = append(out, patterns.Violation{
				Rule:   "a damage is noticed",
				Detail: fmt.Sprintf("%q; there is %v", d.rule, found),
			})
		}
	}
	return out, nil
}

// with returns all scenarios. The scenario with the given name gets the damages.
func with(t *testing.T, name string, damages []damage) scenario.Set {
	t.Helper()
	all := scenarios.All()
	for i, d := range all {
		if d.Name != name {
			continue
		}
		changed := *d
		changed.New = func(env scenario.Env) (scenario.Scenario, error) {
			s, err := d.New(env)
			return &sabotaged{s, env.DB, damages}, err
		}
		all[i] = &changed
	}
	set, err := scenario.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// entry returns a plan's entry for a scenario with a small load.
func entry(d *scenario.Definition, params map[string]any) engine.Entry {
	given := map[string]any{}
	for _, p := range d.Params {
		for _, values := range []map[string]any{few, params} {
			if v, ok := values[p.Name]; ok {
				given[p.Name] = v
			}
		}
	}
	return engine.Entry{
		Scenario: d.Name, Database: "sim_test", Parameters: given,
		Load: load.Load{Iterations: 3, Resolution: 50 * time.Millisecond, Users: 5},
	}
}

// run runs a scenario with its companions.
func run(t *testing.T, set scenario.Set, name string, params map[string]any) *result.Result {
	t.Helper()
	d, err := set.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &engine.Plan{Target: engine.Memory, PoolSize: 20, Seed: 7}
	for _, other := range append(d.Companion, name) {
		d, err := set.Find(other)
		if err != nil {
			t.Fatal(err)
		}
		p.Scenarios = append(p.Scenarios, entry(d, params))
	}
	r, err := engine.Runner{Set: set}.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Scenarios {
		if !s.Check.OK() {
			t.Errorf("%s: %+v", s.Name, s.Check)
		}
		if s.Failed+s.Cut > 0 || s.Started == 0 || s.Succeeded != s.Started {
			t.Errorf("%s: started %d, succeeded %d, failed %d, cut %d: %v", s.Name, s.Started,
				s.Succeeded, s.Failed, s.Cut, s.Errors)
		}
	}
	return r
}

// gate bounds the concurrent runs. The bound is greater than the number of processors, because runs
// mostly wait.
var gate = make(chan struct{}, 8)

// TestAll runs every scenario with its companions. Its Check must first find no violation, and then
// detect each damage.
func TestAll(t *testing.T) {
	t.Parallel()
	damages := damages()
	var wg sync.WaitGroup
	for _, d := range torture.Some(scenarios.All(), 1) {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			t.Run(d.Name, func(t *testing.T) { run(t, with(t, d.Name, damages[d.Name]), d.Name, nil) })
		})
	}
	wg.Wait()
}

// TestVariants runs scenarios with other parameters than their defaults.
func TestVariants(t *testing.T) {
	t.Parallel()
	plain, err := scenario.NewSet(scenarios.All()...)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	type variant struct {
		scenario string
		params   map[string]any
	}
	for _, v := range torture.Some([]variant{
		{"cache-get", map[string]any{"ttl": "20ms", "stale": "20ms", "keys": 1}},
		{"category-children", map[string]any{"design": "paths", "level": 0}},
		{"category-subtree", map[string]any{"design": "paths", "level": 1}},
		{"category-products", map[string]any{"design": "paths", "level": 3}},
		{"category-products-children", map[string]any{"design": "paths", "width": 1}},
		{"category-products-subtree", map[string]any{"design": "paths", "depth": 1, "level": 1}},
		{"eventlog", map[string]any{"class": "sent", "retention": "collections"}},
		{"eventlog", map[string]any{"class": "journaled", "retention": "capped", "cappedSize": 8192}},
		{"eventlog", map[string]any{"class": "replicated"}},
		{"eventlog", map[string]any{"class": "replicatedJournaled", "batch": 1}},
		{"hits", map[string]any{"writer": "gather", "form": "flat"}},
		{"hits", map[string]any{"months": false, "pages": 1}},
		{"i18n-add", map[string]any{"locales": 1, "categoriesPerProduct": 3}},
		{"insert", map[string]any{"batchSize": 7, "ordered": false, "documentSize": 5000, "indexes": 3}},
		{"lock", map[string]any{"locks": 1, "patience": "0s"}},
		{"lock-lines", map[string]any{"locks": 1}},
		{"metadata-find", map[string]any{"design": "wildcard", "groupSize": 7}},
		{"queue-work", map[string]any{"order": "priority", "failing": 50, "work": "1ms", "lease": "60ms", "spread": 2}},
		{"queue-fetch-priority", map[string]any{"spread": 3, "jobs": 200}},
		{"rollup-update", map[string]any{"interval": "10ms", "batch": 3, "days": 40}},
		{"slice", map[string]any{"reads": 50}},
		{"slice-plain", map[string]any{"preAllocate": true, "initialCacheSize": 1}},
		{"timeseries", map[string]any{"resolution": "hour"}},
		{"timeseries", map[string]any{"resolution": "day", "preAllocate": false}},
		{"timeseries", map[string]any{"design": "windows"}},
		{"timeseries", map[string]any{"design": "native"}},
		{"topic-listen", map[string]any{"form": "stream"}},
		{"topic-listen", map[string]any{"sizeInBytes": 4096, "topics": 1}},
	}, 2) {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			t.Run(fmt.Sprint(v.scenario, v.params), func(t *testing.T) { run(t, plain, v.scenario, v.params) })
		})
	}
	wg.Wait()
}

// TestInterrupted interrupts runs at random moments. Check must not report the unfinished work of
// users as a violation.
func TestInterrupted(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	plain, err := scenario.NewSet(scenarios.All()...)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for name := range damages() {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			d, err := plain.Find(name)
			if err != nil {
				t.Error(err)
				return
			}
			t.Run(name, func(t *testing.T) { interrupt(t, plain, d) })
		})
	}
	wg.Wait()
}

// interrupt runs a scenario, and ends the run when some users of the scenario have ended.
func interrupt(t *testing.T, all scenario.Set, d *scenario.Definition) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := entry(d, map[string]any{"batchSize": 10, "batch": 10})
	e.Users, e.Spread = 100, load.Burst
	r, err := engine.Runner{Set: all, Note: func(line string) {
		if strings.HasPrefix(line, "drive") {
			time.AfterFunc(20*time.Millisecond, cancel)
		}
	}}.Run(ctx, &engine.Plan{Target: engine.Memory, PoolSize: 20, Scenarios: []engine.Entry{e}})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Scenarios[0]; !s.Check.OK() || s.Failed > 0 {
		t.Errorf("%+v; succeeded %d, failed %d, cut %d: %v", s.Check, s.Succeeded, s.Failed, s.Cut, s.Errors)
	}
}

// one returns a function that changes one document that matches a filter.
func one(coll string, filter, update bson.D) func(context.Context, *mongo.Database) error {
	return func(ctx context.Context, db *mongo.Database) error {
		res, err := db.Collection(coll).UpdateOne(ctx, filter, update)
		if err == nil && res.ModifiedCount == 0 {
			err = fmt.Errorf("nothing was changed in %s", coll)
		}
		return err
	}
}

// gone returns a function that removes one document that matches a filter.
func gone(coll string, filter bson.D) func(context.Context, *mongo.Database) error {
	return func(ctx context.Context, db *mongo.Database) error {
		res, err := db.Collection(coll).DeleteOne(ctx, filter)
		if err == nil && res.DeletedCount == 0 {
			err = fmt.Errorf("nothing was removed from %s", coll)
		}
		return err
	}
}

func set(field string, value any) bson.D {
	return bson.D{{"$set", bson.D{{field, value}}}}
}

func where(field string, value any) bson.D { return bson.D{{field, value}} }

// TestTexts checks the titles and the documentation of the scenarios, and that a test damages the
// data of each scenario.
func TestTexts(t *testing.T) {
	t.Parallel()
	damaged := map[string]bool{}
	for name := range damages() {
		damaged[name] = true
	}
	for _, s := range sabotages() {
		damaged[s.scenario] = true
	}
	for _, d := range scenarios.All() {
		if d.Title == "" || strings.HasSuffix(d.Title, ".") || len(d.Title) > 90 || strings.Contains(d.Title, "\n") {
			t.Errorf("%s: the title %q", d.Name, d.Title)
		}
		if !damaged[d.Name] {
			t.Errorf("nothing of %s is damaged", d.Name)
		}
		if len(d.Doc) < 80 {
			t.Errorf("%s: %q", d.Name, d.Doc)
		}
		if _, err := os.Stat(filepath.Join("..", "..", "patterns", d.Group)); err != nil && d.Group != "insert" {
			t.Errorf("%s: %v", d.Name, err)
		}
		for _, p := range d.Params {
			if p.Doc == "" || strings.HasSuffix(p.Doc, ".") || p.Default == nil {
				t.Errorf("%s: the parameter %+v", d.Name, p)
			}
		}
		for _, other := range d.Companion {
			if _, err := scenario.Set(scenarios.All()).Find(other); err != nil {
				t.Errorf("%s: %v", d.Name, err)
			}
		}
	}
}
