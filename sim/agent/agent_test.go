package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.uber.org/goleak"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sheaftest"
	"github.com/sheafdb/sheaf/sim/agent"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// token is the token of all agents of these tests.
const token = "the token of the tests"

// agentEnv is the environment variable that makes the test binary an agent, for a test that kills
// an agent.
const agentEnv = "SHEAF_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(agentEnv) != "" {
		if err := process(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	torture.Overlap(8)
	goleak.VerifyTestMain(m)
}

// process runs an agent until its standard input ends, which happens when the test ends. It prints
// the agent's address.
func process() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	set, err := scenarios()
	if err != nil {
		return err
	}
	return agent.Serve(ctx, l, agent.Config{Token: token, Set: set})
}

// visits is a scenario. Each user rests and then inserts a document. Every second user rests twice
// as long. Every tenth user fails.
type visits struct {
	docs *mongo.Collection
	rest time.Duration
}

func (s *visits) Setup(context.Context) error { return nil }

func (s *visits) Run(ctx context.Context, u *scenario.User) error {
	if u.Number%10 == 9 {
		return errors.New("no luck")
	}
	if err := (patterns.SystemClock{}).Sleep(ctx, s.rest*time.Duration(1+u.Number%2)); err != nil {
		return err
	}
	return u.Time("insert", func() error {
		_, err := s.docs.InsertOne(ctx, bson.D{{"_id", u.Number}, {"random", u.Rand.Int64()}})
		if err == nil {
			u.Count("inserted", 1)
		}
		return err
	})
}

func (s *visits) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	n, err := s.docs.CountDocuments(ctx, bson.D{})
	if want := t.Counts["inserted"]; n < want || n > want+t.Cut {
		return []patterns.Violation{{
			Rule:   "all are there",
			Detail: fmt.Sprintf("%d, not %d to %d", n, want, want+t.Cut),
		}}, err
	}
	return nil, err
}

func (s *visits) Teardown(context.Context) error { return nil }

// watchers is a scenario of residents. When a resident leaves, it looks for the document of the
// last visitor.
type watchers struct {
	visits
	until int64
}

func (s *watchers) Run(ctx context.Context, u *scenario.User) error {
	<-ctx.Done()
	if err := s.docs.FindOne(context.WithoutCancel(ctx), bson.D{{"_id", s.until}}).Err(); err != nil {
		return err
	}
	u.Count("seen", 1)
	return nil
}

func (s *watchers) Check(_ context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if t.Counts["seen"] != t.Started {
		return []patterns.Violation{{
			Rule:   "all have seen the last",
			Detail: fmt.Sprintf("%d of %d", t.Counts["seen"], t.Started),
		}}, nil
	}
	return nil, nil
}

func scenarios() (scenario.Set, error) {
	rest := scenario.Param{Name: "rest", Default: time.Duration(0), Max: 60}
	return scenario.NewSet(
		&scenario.Definition{
			Name: "visit", Users: 20, Params: []scenario.Param{rest},
			New: func(env scenario.Env) (scenario.Scenario, error) {
				return &visits{env.DB.Collection("docs"), env.Params.Duration("rest")}, nil
			},
		},
		&scenario.Definition{
			Name: "watch", Users: 3, Resident: true,
			Params: []scenario.Param{{Name: "until", Default: 0}},
			New: func(env scenario.Env) (scenario.Scenario, error) {
				return &watchers{visits{docs: env.DB.Collection("docs")}, int64(env.Params.Int("until"))}, nil
			},
		},
	)
}

func set(t *testing.T) scenario.Set {
	t.Helper()
	s, err := scenarios()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve serves a database on loopback, and returns its URI.
func serve(t *testing.T) string {
	t.Helper()
	return listen(t, sheaftest.Open(t, &sheaf.Options{}).Serve,
		func(addr string) string { return "mongodb://" + addr + "/?directConnection=true" })
}

// listen runs a server on loopback until the test ends, and returns what name makes of its address.
func listen(t *testing.T, serve func(context.Context, net.Listener) error, name func(addr string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return name(l.Addr().String())
}

// start starts an agent in this process, and returns its address.
func start(t *testing.T) string {
	t.Helper()
	all := set(t)
	return listen(t, func(ctx context.Context, l net.Listener) error {
		return agent.Serve(ctx, l, agent.Config{Token: token, Set: all})
	}, func(addr string) string { return addr })
}

// spawn starts an agent in another process.
func spawn(t *testing.T) (address string, p *os.Process) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), agentEnv+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // an error is expected if the test has killed the process
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd.Process
}

func plan(uri, rest string, l load.Load) *engine.Plan {
	return &engine.Plan{
		Target: uri, Seed: 3,
		Scenarios: []engine.Entry{{Scenario: "visit", Parameters: map[string]any{"rest": rest}, Load: l}},
	}
}

// TestSameTotals: two agents together measure the same users of a plan as one process.
func TestSameTotals(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	uri := serve(t)
	one, _ := spawn(t)
	two, _ := spawn(t)
	l := load.Load{Iterations: 5, Resolution: 300 * time.Millisecond, Users: 51, Shape: load.Poisson}
	var docs [2][]bson.D
	var got [2]*result.Result
	for i, driver := range []engine.Driver{nil, &agent.Fleet{Addresses: []string{one, two}, Token: token}} {
		p := plan(uri, "10ms", l)
		p.Keep, p.Scenarios[0].Database = true, fmt.Sprint("totals_", i)
		r, err := engine.Runner{Set: set(t), Driver: driver}.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = r
		docs[i] = all(t, uri, p.Scenarios[0].Database)
	}
	want, fleet := got[0].Scenarios[0], got[1].Scenarios[0]
	if fleet.Started != want.Started || fleet.Succeeded != want.Succeeded || fleet.Failed != want.Failed ||
		fleet.Cut != 0 || fleet.Counts["inserted"] != want.Counts["inserted"] {
		t.Errorf("%+v\nnot\n%+v", fleet.Measured, want.Measured)
	}
	if !fleet.Check.OK() || !want.Check.OK() || got[1].Partial != "" ||
		fleet.Errors["no luck"] != want.Errors["no luck"] {
		t.Errorf("%+v %+v %q %v", fleet.Check, want.Check, got[1].Partial, fleet.Errors)
	}
	if fleet.Latency.Count() != want.Latency.Count() ||
		fleet.Steps["insert"].Count() != want.Steps["insert"].Count() ||
		fleet.Lateness.Count() != want.Lateness.Count() {
		t.Errorf("%d latencies, not %d", fleet.Latency.Count(), want.Latency.Count())
	}
	ended := int64(0)
	for i, s := range fleet.Series {
		ended += s.Ended
		if i < len(want.Series) && i < l.Iterations &&
			(s.Started != want.Series[i].Started || s.Failed != want.Series[i].Failed ||
				s.Latency.Count() != want.Series[i].Latency.Count()) {
			t.Errorf("slot %d: %+v, not %+v", i, s, want.Series[i])
		}
	}
	if ended != fleet.Started {
		t.Errorf("%d of %d users have ended in a slot", ended, fleet.Started)
	}
	if !slices.EqualFunc(docs[0], docs[1], func(a, b bson.D) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("other documents: %d and %d", len(docs[0]), len(docs[1]))
	}
	if a := got[1].Agents; len(a) != 2 || a[0].Address != one || a[0].Lost != "" || a[1].Lost != "" ||
		got[1].ClientCPUSeconds != a[0].CPUSeconds+a[1].CPUSeconds {
		t.Errorf("%+v", a)
	}
}

// all returns the documents of a database.
func all(t *testing.T, uri, database string) (out []bson.D) {
	t.Helper()
	client, end, err := engine.Settings{Target: uri, PoolSize: 1}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	cur, err := client.Database(database).Collection("docs").
		Aggregate(t.Context(), bson.A{bson.D{{"$sort", bson.D{{"_id", 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cur.All(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKilled kills one of two agents during a run. The other agent continues, and the result says
// which users are unknown.
func TestKilled(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	uri := serve(t)
	victim, process := spawn(t)
	other := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	killed, at := int64(0), time.Duration(0)
	r, err := engine.Runner{
		Set: set(t), Driver: &agent.Fleet{Addresses: []string{victim, other}, Token: token},
		Progress: func(p load.Progress) {
			switch {
			case killed == 0 && p.Parts[0].Started >= 30:
				killed, at = p.Parts[0].Started, p.Elapsed
				if err := process.Kill(); err != nil {
					t.Error(err)
				}
			case killed > 0 && p.Elapsed > at+2*time.Second && p.Parts[0].Started > killed:
				cancel() // the other agent has continued
			}
		},
	}.Run(ctx, plan(uri, "200ms", load.Load{Iterations: 600, Users: 40}))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Scenarios[0]
	if killed == 0 || s.Started <= killed || s.Cut == 0 || s.Started != s.Succeeded+s.Failed+s.Cut {
		t.Errorf("killed after %d: %+v", killed, s.Measured)
	}
	a := r.Agents
	if len(a) != 2 || !strings.Contains(a[0].Lost, "is not known") || !strings.HasPrefix(a[0].Lost, "after ") ||
		a[1].Lost != "" || !strings.Contains(r.Partial, "1 of 2 agents lost: "+victim) {
		t.Errorf("%+v %q", a, r.Partial)
	}
	if !s.Check.OK() {
		t.Errorf("%+v", s.Check)
	}
	var again strings.Builder
	if err := r.Write(&again); err != nil {
		t.Error(err)
	}
	if read, err := result.Read(strings.NewReader(again.String())); err != nil || read.Agents[0].Lost != a[0].Lost {
		t.Error(err)
	}
}

// TestEndedAgent ends an agent as Ctrl-C does. The result has all measurements of the agent.
func TestEndedAgent(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	uri, other, leaving, all := serve(t), start(t), make(chan struct{}), set(t)
	address := listen(t, func(ctx context.Context, l net.Listener) error {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			<-leaving
			cancel()
		}()
		return agent.Serve(ctx, l, agent.Config{Token: token, Set: all})
	}, func(addr string) string { return addr })
	ctx, cancel := context.WithCancel(t.Context())
	left := time.Duration(0)
	r, err := engine.Runner{
		Set: all, Driver: &agent.Fleet{Addresses: []string{address, other}, Token: token},
		Progress: func(p load.Progress) {
			switch {
			case left == 0 && p.Parts[0].Started > 10:
				left = p.Elapsed
				close(leaving)
			case left > 0 && p.Elapsed > left+2*time.Second:
				cancel()
			}
		},
	}.Run(ctx, plan(uri, "100ms", load.Load{Iterations: 600, Users: 20}))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Scenarios[0]
	if !strings.Contains(r.Agents[0].Lost, "ended on its own machine") || r.Agents[1].Lost != "" ||
		s.Started != s.Succeeded+s.Failed+s.Cut || !s.Check.OK() || r.Partial == "" {
		t.Errorf("%+v %+v %+v %q", r.Agents, s.Measured, s.Check, r.Partial)
	}
}

// TestInterrupted stops the monitor during a run. The measurements of all agents are complete, and
// the agents accept another job.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	uri := serve(t)
	fleet := &agent.Fleet{Addresses: []string{start(t), start(t)}, Token: token}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := engine.Runner{Set: set(t), Driver: fleet, Progress: func(p load.Progress) {
		if p.Parts[0].Started > 10 {
			cancel()
		}
	}}.Run(ctx, plan(uri, "300ms", load.Load{Iterations: 60, Users: 20}))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Scenarios[0]
	if r.Partial != "interrupted" || s.Started <= 10 || s.Started >= 1200 || s.Cut == 0 ||
		s.Started != s.Succeeded+s.Failed+s.Cut || !s.Check.OK() || r.Agents[0].Lost+r.Agents[1].Lost != "" {
		t.Errorf("%q %+v %+v %+v", r.Partial, s.Measured, s.Check, r.Agents)
	}
	r, err = engine.Runner{Set: set(t), Driver: fleet}.Run(t.Context(),
		plan(uri, "0s", load.Load{Iterations: 1, Resolution: 100 * time.Millisecond, Users: 20}))
	if err != nil || r.Scenarios[0].Started != 20 || r.Partial != "" {
		t.Error(r, err)
	}
}

// TestResidents: residents stay until the visitors of all agents have left. The visitors of the
// second agent leave a second later than the visitors of the first.
func TestResidents(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	p := plan(serve(t), "1s", load.Load{Iterations: 2, Resolution: 500 * time.Millisecond, Users: 4})
	p.Scenarios[0].Database = "shared"
	p.Scenarios = append(p.Scenarios,
		engine.Entry{
			Scenario: "watch", Database: "shared",
			Parameters: map[string]any{"until": 7}, Load: load.Load{Users: 5},
		})
	r, err := engine.Runner{
		Set:    set(t),
		Driver: &agent.Fleet{Addresses: []string{start(t), start(t)}, Token: token},
	}.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Scenarios[1]; !w.Check.OK() || w.Started != 5 || w.Succeeded != 5 || r.Partial != "" ||
		r.Scenarios[0].Succeeded != 8 {
		t.Errorf("%+v %+v %q", w.Measured, w.Check, r.Partial)
	}
}

// TestRefused: invalid jobs are refused before anything happens.
func TestRefused(t *testing.T) {
	t.Parallel()
	uri, good := serve(t), start(t)
	none := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(none.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(agent.About{Protocol: agent.Protocol, Format: result.Format, Build: "another"})
	}))
	t.Cleanup(other.Close)
	host := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	for name, c := range map[string]struct {
		fleet  agent.Fleet
		target string
		want   string
	}{
		"embedded": {
			agent.Fleet{Addresses: []string{good}, Token: token},
			engine.Embedded,
			`cannot reach the target "embedded"`,
		},
		"memory":   {agent.Fleet{Addresses: []string{good}, Token: token}, engine.Memory, "sheaf serve"},
		"no token": {agent.Fleet{Addresses: []string{good}}, uri, "invalid token"},
		"wrong token": {
			agent.Fleet{Addresses: []string{good}, Token: "another one, as long"},
			uri,
			good + ": sim: invalid token",
		},
		"no agents": {agent.Fleet{Token: token}, uri, "no address"},
		"twice":     {agent.Fleet{Addresses: []string{good, good}, Token: token}, uri, "one twice"},
		"gone":      {agent.Fleet{Addresses: []string{good, host(gone)}, Token: token}, uri, "refused"},
		"no agent":  {agent.Fleet{Addresses: []string{host(none)}, Token: token}, uri, "it is not an agent"},
		"build":     {agent.Fleet{Addresses: []string{good, host(other)}, Token: token}, uri, `it is build "another"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(c.target, "0s", load.Load{Iterations: 1, Resolution: 10 * time.Millisecond, Users: 1})
			p.Scenarios[0].Database = "refused"
			r, err := engine.Runner{
				Set: set(t), Driver: &c.fleet,
				Note: func(line string) { t.Error(line) },
			}.Run(t.Context(), p)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v %v", r, err)
			}
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Serve(t.Context(), l, agent.Config{Token: "short"}); !errors.Is(err, agent.ErrToken) {
		t.Error(err)
	}
	if len(agent.NewToken()) < agent.MinToken {
		t.Error(agent.NewToken())
	}
}

// TestBusy: an agent accepts one job at a time. It ends a job when the monitor's connection is
// closed.
func TestBusy(t *testing.T) {
	t.Parallel()
	uri, address := serve(t), start(t)
	job := engine.Job{Settings: engine.Settings{Target: uri, PoolSize: 1}, Shares: 1, Parts: []engine.JobPart{{
		Scenario: "visit", Label: "visit", Database: "busy",
		Load: load.Load{Iterations: 600, Users: 10}.WithDefaults(1),
	}}}
	post := func(ctx context.Context, path string, body any) *http.Response {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path,
			strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+token)
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Body.Close() })
		return a
	}
	ask := map[string]any{"id": "one", "job": job}
	monitor, die := context.WithCancel(t.Context())
	if a := post(monitor, "/v1/job", ask); a.StatusCode != http.StatusOK {
		t.Fatal(a.Status)
	}
	for path, want := range map[string]int{
		"/v1/job/two/stop":  http.StatusNotFound,
		"/v1/job/one/dance": http.StatusNotFound, "/v1/job/one/start": http.StatusNoContent,
	} {
		if a := post(t.Context(), path, nil); a.StatusCode != want {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	if a := post(t.Context(), "/v1/job", ask); a.StatusCode != http.StatusConflict {
		t.Error(a.Status)
	}
	die()
	// Wait until the agent has noticed that the monitor's connection is closed.
	for post(t.Context(), "/v1/job/one/start", nil).StatusCode != http.StatusNotFound {
		time.Sleep(20 * time.Millisecond)
	}
	job.Settings.Target = "/etc"
	for name, body := range map[string]any{
		"directory": map[string]any{"id": "one", "job": job}, "no id": map[string]any{"job": job}, "no job": "job",
		"field": map[string]any{"id": "one", "jobs": 1},
		"large": strings.Repeat("x", 5<<20),
	} {
		if a := post(t.Context(), "/v1/job", body); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
}

// TestSilent: an agent that sends nothing counts as lost.
func TestSilent(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	uri, good := serve(t), start(t)
	started := make(chan struct{}, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/about":
			_ = json.NewEncoder(w).Encode(agent.About{
				Protocol: agent.Protocol, Format: result.Format,
				Build: engine.Build(), Scenarios: []string{"visit"},
			})
		case r.URL.Path == "/v1/job":
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"type":"ready"}`+"\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case strings.HasSuffix(r.URL.Path, "/start"):
			started <- struct{}{}
		}
	}))
	t.Cleanup(silent.Close)
	fleet := &agent.Fleet{
		Addresses: []string{good, strings.TrimPrefix(silent.URL, "http://")},
		Token:     token, Silence: 5 * time.Second,
	}
	r, err := engine.Runner{Set: set(t), Driver: fleet}.Run(t.Context(),
		plan(uri, "0s", load.Load{Iterations: 2, Resolution: 100 * time.Millisecond, Users: 10}))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if s := r.Scenarios[0]; s.Started != 10 || !strings.Contains(r.Agents[1].Lost, "it was silent for 5s") ||
		!strings.Contains(r.Partial, "1 of 2 agents") || !s.Check.OK() {
		t.Errorf("%+v %+v %q", s.Measured, r.Agents, r.Partial)
	}
}
