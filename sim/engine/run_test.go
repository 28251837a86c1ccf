package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// inserts is a scenario in which each user inserts a document.
type inserts struct {
	coll *mongo.Collection
	rest time.Duration
	fail int
}

func (s *inserts) Setup(ctx context.Context) error {
	_, err := s.coll.InsertOne(ctx, bson.D{{"_id", "first"}})
	return err
}

func (s *inserts) Run(ctx context.Context, u *scenario.User) error {
	if s.fail > 0 && u.Number%int64(s.fail) == 0 {
		return fmt.Errorf("no luck: user %d", u.Number)
	}
	if s.rest > 0 {
		if err := (patterns.SystemClock{}).Sleep(ctx, s.rest); err != nil {
			return err
		}
	}
	return u.Time("insert", func() error {
		_, err := s.coll.InsertOne(ctx, bson.D{{"_id", u.Number}})
		u.Count("inserted", 1)
		return err
	})
}

func (s *inserts) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	n, err := s.coll.CountDocuments(ctx, bson.D{})
	if n != t.Counts["inserted"]+1 {
		return []patterns.Violation{{
			Rule:   "all are there",
			Detail: fmt.Sprintf("%d, not %d", n, t.Counts["inserted"]+1),
		}}, err
	}
	return nil, err
}

func (s *inserts) Teardown(context.Context) error { return nil }

func set(t *testing.T) scenario.Set {
	t.Helper()
	stay := &scenario.Definition{
		Name: "stay", Title: "stays", Group: "test", Users: 2, Resident: true,
		New: func(env scenario.Env) (scenario.Scenario, error) {
			return &inserts{coll: env.DB.Collection("stays")}, nil
		},
	}
	s, err := scenario.NewSet(&scenario.Definition{
		Name: "insert", Title: "inserts", Group: "test", Users: 10,
		Params: []scenario.Param{{Name: "rest", Default: time.Duration(0), Max: 60}, {Name: "fail", Default: 0}},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			return &inserts{
				coll: env.DB.Collection("docs"), rest: env.Params.Duration("rest"),
				fail: env.Params.Int("fail"),
			}, nil
		},
	}, stay)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plan(params map[string]any) *engine.Plan {
	return &engine.Plan{Target: engine.Memory, Scenarios: []engine.Entry{{
		Scenario: "insert", Parameters: params,
		Load: load.Load{Iterations: 4, Resolution: 50 * time.Millisecond, Users: 20},
	}}}
}

// TestRun runs a plan from its beginning to its end.
func TestRun(t *testing.T) {
	t.Parallel()
	p := plan(map[string]any{"fail": "8"})
	p.WarmUp, p.CoolDown = 1, 1
	var notes []string
	r, err := engine.Runner{Set: set(t), Note: func(n string) { notes = append(notes, n) }}.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(notes, "drive the load: 200ms") {
		t.Errorf("nobody said how long it takes: %q", notes)
	}
	s := r.Scenarios[0]
	if s.Started != 80 || s.Succeeded != 70 || s.Failed != 10 ||
		s.Errors["no luck: user #"]+s.Errors["no luck: user ##"] != 10 {
		t.Errorf("%+v", s.Measured)
	}
	if s.Latency.Count() != 35 || s.Steps["insert"].Count() != 35 || s.Lateness.Count() != 40 {
		t.Errorf("measured %d, %d steps, %d starts", s.Latency.Count(), s.Steps["insert"].Count(), s.Lateness.Count())
	}
	if !s.Check.OK() || r.Partial != "" || len(r.Wrong()) != 0 {
		t.Errorf("%+v %q", s.Check, r.Partial)
	}
	if r.Environment.Server != "Sheaf" || r.ScheduleSeconds != 0.2 || r.RuntimeSeconds < 0.18 || r.Server == nil ||
		r.Server.Deltas["opcounters.insert"] < 70 {
		t.Errorf("%+v %v %v %+v", r.Environment, r.ScheduleSeconds, r.RuntimeSeconds, r.Server)
	}
}

// TestInterrupted: the result of an interrupted run has the measurements so far, and says that it
// is partial. Check is told how many users were cut.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := engine.Runner{Set: set(t), Progress: func(p load.Progress) {
		if p.Parts[0].Started > 10 {
			cancel()
		}
	}}.Run(ctx, &engine.Plan{Target: engine.Memory, Scenarios: []engine.Entry{{
		Scenario: "insert", Parameters: map[string]any{"rest": "300ms"},
		Load: load.Load{Iterations: 100, Resolution: 50 * time.Millisecond, Users: 5},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Scenarios[0]
	if r.Partial != "interrupted" || s.Started < 10 || s.Started >= 500 || s.Cut == 0 ||
		s.Started != s.Succeeded+s.Failed+s.Cut || !s.Check.OK() {
		t.Errorf("%q %+v %+v", r.Partial, s.Measured, s.Check)
	}
}

// TestOpenLoop: if the server stalls, the latencies of all users who are due during the stall
// include their waiting time.
func TestOpenLoop(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	p := plan(map[string]any{"rest": "100ms"})
	p.MaxInFlight = 1 // one user at a time, a tenth of a second each: the 20 users of 200 ms wait for each other
	p.Scenarios[0].Users = 5
	r, err := engine.Runner{Set: set(t)}.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Scenarios[0]; s.Latency.Max() < 1500*time.Millisecond ||
		s.Latency.Min() < 100*time.Millisecond || r.RuntimeSeconds < 2 {
		t.Errorf("max %v, min %v, runtime %v", s.Latency.Max(), s.Latency.Min(), r.RuntimeSeconds)
	}
}

// TestForeignDatabase: the simulator refuses a database with data that is not its own, and deletes
// nothing.
func TestForeignDatabase(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	dir := t.TempDir()
	foreign := func(fn func(c *mongo.Collection)) {
		client, end, err := engine.Settings{Target: dir, PoolSize: 1}.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fn(client.Database("shop").Collection("orders"))
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	foreign(func(c *mongo.Collection) {
		if _, err := c.InsertOne(t.Context(), bson.D{{"total", 7}}); err != nil {
			t.Error(err)
		}
	})
	p := plan(nil)
	p.Target, p.Scenarios[0].Database = dir, "shop"
	if _, err := (engine.Runner{Set: set(t)}).Run(t.Context(), p); !errors.Is(err, engine.ErrNotOurs) {
		t.Error(err)
	}
	foreign(func(c *mongo.Collection) {
		if n, err := c.CountDocuments(t.Context(), bson.D{}); n != 1 || err != nil {
			t.Error(n, err)
		}
	})
	p.Force, p.Keep = true, true
	for range 2 { // in the second run, the database is marked
		if _, err := (engine.Runner{Set: set(t)}).Run(t.Context(), p); err != nil {
			t.Error(err)
		}
		p.Force = false
	}
	p.Keep = false
	if _, err := (engine.Runner{Set: set(t)}).Run(t.Context(), p); err != nil {
		t.Error(err)
	}
	foreign(func(c *mongo.Collection) {
		if names, err := c.Database().Client().
			ListDatabaseNames(t.Context(), bson.D{}); slices.Contains(names, "shop") || err != nil {
			t.Error(names, err)
		}
	})
}

// TestBadPlans: invalid plans are refused before anything happens.
func TestBadPlans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*engine.Plan)
		want   error
	}{
		"scenario": {func(p *engine.Plan) { p.Scenarios[0].Scenario = "inserts" }, scenario.ErrUnknown},
		"parameter": {func(p *engine.Plan) {
			p.Scenarios[0].Parameters = map[string]any{"fial": 1}
		}, scenario.ErrParameter},
		"range": {func(p *engine.Plan) {
			p.Scenarios[0].Parameters = map[string]any{"fail": -1}
		}, scenario.ErrParameter},
		"shape":     {func(p *engine.Plan) { p.Scenarios[0].Shape = "round" }, load.ErrLoad},
		"users":     {func(p *engine.Plan) { p.Scenarios[0].Users = -1 }, load.ErrLoad},
		"warm-up":   {func(p *engine.Plan) { p.WarmUp = 4 }, engine.ErrPlan},
		"delay":     {func(p *engine.Plan) { p.Scenarios[0].Delay = 25 * time.Hour }, load.ErrLoad},
		"ramp":      {func(p *engine.Plan) { p.Scenarios[0].From = -1 }, load.ErrLoad},
		"cool-down": {func(p *engine.Plan) { p.CoolDown = -1 }, engine.ErrPlan},
		"pool":      {func(p *engine.Plan) { p.PoolSize = -1 }, engine.ErrPlan},
		"in flight": {func(p *engine.Plan) { p.MaxInFlight = -1 }, engine.ErrPlan},
		"grace":     {func(p *engine.Plan) { p.Grace = -1 }, engine.ErrPlan},
		"write":     {func(p *engine.Plan) { p.WriteConcern = "0" }, engine.ErrPlan},
		"read":      {func(p *engine.Plan) { p.ReadConcern = "strong" }, engine.ErrPlan},
		"prefer":    {func(p *engine.Plan) { p.ReadPreference = "nearby" }, engine.ErrPlan},
		"target":    {func(p *engine.Plan) { p.Target = "http://h" }, engine.ErrPlan},
		"label":     {func(p *engine.Plan) { p.Scenarios = append(p.Scenarios, p.Scenarios[0]) }, engine.ErrPlan},
		"none":      {func(p *engine.Plan) { p.Scenarios = nil }, engine.ErrPlan},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(nil)
			c.change(p)
			if _, err := (engine.Runner{Set: set(t)}).Run(t.Context(), p); !errors.Is(err, c.want) {
				t.Error(err)
			}
		})
	}
}

// TestServerLost ends the server during a run. The result has the measurements so far, and says why
// the run ended.
func TestServerLost(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- db.Serve(t.Context(), l) }()
	var once sync.Once
	p := plan(nil)
	p.Target = "mongodb://" + l.Addr().String() + "/?directConnection=true&serverSelectionTimeoutMS=300"
	p.Scenarios[0].Iterations = 2000
	r, err := engine.Runner{Set: set(t), Silence: 500 * time.Millisecond, Progress: func(p load.Progress) {
		if p.Parts[0].Succeeded > 50 {
			once.Do(func() { _ = db.Close() })
		}
	}}.Run(t.Context(), p)
	if r == nil || err == nil { // removing the database fails, so there are a result and an error
		t.Fatalf("%v, %v", r, err)
	}
	s := r.Scenarios[0]
	if !strings.Contains(r.Partial, "not answered") || s.Succeeded < 50 || s.Started >= 40_000 ||
		s.Check.Error == "" || len(r.Wrong()) != 1 {
		t.Errorf("%q %+v %+v", r.Partial, s.Measured, s.Check)
	}
	<-served
}
