package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
	"github.com/sheafdb/sheaf/sim/scenarios"
)

// visits is a custom scenario in which users write their names into a book. With the parameter
// lose, every second name is lost.
type visits struct {
	book *mongo.Collection
	lose bool
	fail bool
}

func (v *visits) Setup(context.Context) error { return nil }

// bounded says that a user has run while Go's memory limit was set.
var bounded atomic.Bool

func (v *visits) Run(ctx context.Context, u *scenario.User) error {
	if debug.SetMemoryLimit(-1) < 512<<20 {
		bounded.Store(true)
	}
	if v.fail && u.Number == 3 {
		return errors.New("the pen is empty")
	}
	u.Count("signed", 1)
	if v.lose && u.Number%2 == 0 {
		return nil
	}
	_, err := v.book.InsertOne(ctx, bson.D{{"_id", u.Number}})
	return err
}

func (v *visits) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	n, err := v.book.CountDocuments(ctx, bson.D{})
	if err != nil || n == t.Counts["signed"] {
		return nil, err
	}
	return []patterns.Violation{{
		Rule: "everybody who signed is in the book", Collection: "book",
		Detail: fmt.Sprintf("%d of %d", n, t.Counts["signed"]),
	}}, nil
}

func (v *visits) Teardown(context.Context) error { return nil }

func definitions() []*scenario.Definition {
	open := func(env scenario.Env) (scenario.Scenario, error) {
		return &visits{
			book: env.DB.Collection("book"), lose: env.Params.Bool("lose"),
			fail: env.Params.Bool("fail"),
		}, nil
	}
	lose := scenario.Param{Name: "lose", Doc: "lose every second signature", Default: false}
	fail := scenario.Param{Name: "fail", Doc: "one user fails", Default: false}
	return []*scenario.Definition{
		{
			Name: "guest-book", Aliases: []string{"visitors"}, Title: "sign a guest book",
			Doc: "A user signs.", Group: "guests", Users: 10,
			Params: []scenario.Param{lose, fail}, New: open,
		},
		{
			Name: "guest-host", Title: "a host", Doc: "Stays.", Group: "guests", Users: 1, Resident: true,
			Companion: []string{"guest-book"}, Params: []scenario.Param{lose},
			New: func(env scenario.Env) (scenario.Scenario, error) {
				return &host{book: env.DB.Collection("book")}, nil
			},
		},
	}
}

// host is a scenario of residents who stay until the end of the run.
type host struct{ book *mongo.Collection }

func (h *host) Setup(context.Context) error { return nil }

func (h *host) Run(ctx context.Context, u *scenario.User) error {
	u.Count("hosts", 1)
	<-ctx.Done()
	return nil
}

func (h *host) Check(_ context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if t.Counts["hosts"] != 1 || t.Together["signed"] != 20 {
		return []patterns.Violation{{Rule: "one host", Detail: fmt.Sprint(t)}}, nil
	}
	return nil, nil
}

func (h *host) Teardown(context.Context) error { return nil }

// run runs the command sim with arguments, and returns its output.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := sim.Command(definitions()...)
	var out, errOut bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// short returns the arguments of a run with 20 users that takes 40 ms.
func short(args ...string) []string {
	return append([]string{"run", "--memory", "--iterations", "2", "--resolution", "20ms"}, args...)
}

// TestListAndShow: list and show print the scenarios.
func TestListAndShow(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"list": "guest-book", "list guests": "guest-host", "show visitors": "lose every second signature",
		"show guest-host": "Runs together with: guest-book",
	} {
		out, _, err := run(t, strings.Fields(args)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}

// TestMistakes: the error for a wrong command line says what would be right.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"show gest-book", `did you mean guest-book`},
		{"list cart", `no pattern "cart"`},
		{"run guest-book -p los=true", `did you mean lose`},
		{"run guest-book -p lose=perhaps", "true or false"},
		{"run guest-book -p lose", "NAME=VALUE"},
		{"run guest-book -p other.lose=true", `no scenario "other"`},
		{"run guest-book --users 2000000", "between 1 and 1000000"},
		{"run guest-book --shape square", "constant, ramp, steps, poisson"},
		{"run guest-book --uri mongodb://127.0.0.1:1/?timeoutMS=300", "no server answers"},
		{"run missing.yaml", "read the plan"},
		{"versus chess", "there are"},
		{"report missing.json", "read a result"},
		{"run guest-book --agents 127.0.0.1:1 --token 0123456789abcdef", "agent"},
	} {
		out, _, err := run(t, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q\n%s", c.args, err, c.want, out)
		}
	}
}

// TestRunAndReport stores a result and shows it again.
func TestRunAndReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stored, html, markdown := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html"), filepath.Join(dir, "r.md")
	out, progress, err := run(t, short("guest-book", "--out", stored, "--html", html, "--markdown", markdown)...)
	if err != nil || !strings.Contains(out, "guest-book") || !strings.Contains(progress, "check guest-book") {
		t.Fatalf("%v\n%s\n%s", err, out, progress)
	}
	r, err := result.ReadFile(stored)
	if err != nil || r.Scenarios[0].Started != 20 || !r.Scenarios[0].Check.OK() {
		t.Errorf("%v %+v", err, r)
	}
	for _, file := range []string{html, markdown} {
		if data, err := os.ReadFile(file); err != nil || !bytes.Contains(data, []byte("guest-book")) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if out, _, err := run(t, "report", stored); err != nil || !strings.Contains(out, "guest-book") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, err := run(t, "compare", stored, stored); err != nil || !strings.Contains(out, "guest-book") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, errOut, err := run(t, short("guest-book", "--json", "--quiet")...); err != nil || errOut != "" ||
		!strings.HasPrefix(out, "{") {
		t.Errorf("%v\n%s\n%s", err, out, errOut)
	}
}

// TestWrong: a run fails if the scenario loses half of its documents, whatever its figures are.
func TestWrong(t *testing.T) {
	t.Parallel()
	out, _, err := run(t, short("guest-book", "-p", "guest-book.lose=true")...)
	if !errors.Is(err, sim.ErrWrong) || !strings.Contains(out, "everybody who signed is in the book") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFailedUsers: the command fails if users failed.
func TestFailedUsers(t *testing.T) {
	t.Parallel()
	out, _, err := run(t, short("guest-book", "-p", "fail=true")...)
	if !errors.Is(err, sim.ErrFailed) || !strings.Contains(out, "the pen is empty") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDefaultRun: without flags for a load, the run chooses its load, prints how long it will take,
// and sets a memory limit.
func TestDefaultRun(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	out, notes, err := run(t, "run", "guest-book", "--memory")
	if err != nil || !strings.Contains(notes, "the run takes about 12 s") ||
		!strings.Contains(out, "for a schedule of 10.0 s") {
		t.Errorf("%v\n%s\n%s", err, notes, out)
	}
	if !bounded.Load() {
		t.Error("the run has no memory limit")
	}
}

// TestContestsAreListed: versus without a name lists the contests.
func TestContestsAreListed(t *testing.T) {
	t.Parallel()
	out, _, err := run(t, "versus")
	if err != nil || !strings.Contains(out, "Contests:") || !strings.Contains(out, "cart") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCompanions: companions run together with the scenarios that need them, unless a flag says
// otherwise.
func TestCompanions(t *testing.T) {
	t.Parallel()
	if out, _, err := run(t, short("guest-host")...); err != nil || !strings.Contains(out, "guest-book") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, err := run(t, short("guest-host", "--alone")...); !errors.Is(err, sim.ErrWrong) ||
		strings.Contains(out, "guest-book") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPlanFile: flags override a plan file.
func TestPlanFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plan.yaml")
	plan := "title: two books\ntarget: memory\nwarmUp: 1\nscenarios:\n" +
		"  - {scenario: guest-book, label: a, users: 3, iterations: 2, resolution: 20ms}\n  - {scenario: visitors, label: b, shape: ramp, from: 1, users: 5, iterations: 2, resolution: 20ms}\n"
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	stored := filepath.Join(t.TempDir(), "r.json")
	if out, _, err := run(t, "run", file, "--out", stored, "--seed", "7"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := result.ReadFile(stored)
	if err != nil || r.Title != "two books" || r.Scenarios[0].Started != 6 || r.Scenarios[1].Started != 6 ||
		r.Scenarios[1].Latency.Count() != 5 || r.Options.Seed != 7 {
		t.Errorf("%v %+v", err, r)
	}
	if err := os.WriteFile(file, []byte("scenarois: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, "run", file); err == nil || !strings.Contains(err.Error(), "scenarois") {
		t.Error(err)
	}
}

// TestFindLimit searches for the limit of a server, with a small bound so that the search is short.
func TestFindLimit(t *testing.T) {
	t.Parallel()
	out, _, err := run(t, short("guest-book", "--find-limit", "--p99", "10s", "--max-users", "20", "--repeats", "1")...)
	if err != nil || !strings.Contains(out, "20") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestEach runs several scenarios one after the other.
func TestEach(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "results")
	if out, _, err := run(t, short("guest-book", "guest-host+guest-book", "--each", "--out", dir)...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, n := range map[string]int{"guest-book.json": 1, "guest-host+guest-book.json": 2} {
		if r, err := result.ReadFile(filepath.Join(dir, name)); err != nil || len(r.Scenarios) != n {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVersus compares the designs of a contest.
func TestVersus(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	cmd := sim.Command(scenarios.All()...)
	var out bytes.Buffer
	cmd.SetOut(&out)
	rounds := 1
	if torture.Long() {
		rounds = 2
	}
	cmd.SetArgs(strings.Fields("versus cart --memory --quiet --users 5 --iterations 2 --resolution 50ms --rounds " +
		strconv.Itoa(rounds)))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"reserve", "checkout", "least", "processor time of a user"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestAgent runs a load with an agent started from the command line.
func TestAgent(t *testing.T) {
	t.Parallel()
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = db.Serve(t.Context(), l) }()

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	out, in := io.Pipe()
	go func() {
		cmd := sim.Command(definitions()...)
		cmd.SetOut(in)
		cmd.SetArgs([]string{"agent", "--listen", "127.0.0.1:0"})
		ended <- cmd.ExecuteContext(ctx)
	}()
	var address, token string
	if _, err := fmt.Fscanf(out, "agent on %s\ntoken %s\n", &address, &token); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"run", "guest-book", "--uri", "mongodb://" + l.Addr().String(), "--iterations", "2",
		"--resolution", "20ms", "--json", "--agents", address, "--token",
	}
	text, _, err := run(t, append(args, token)...)
	if err != nil || !strings.Contains(text, address) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, _, err := run(t, append(args, "0123456789abcdef0123")...); err == nil {
		t.Error("another token was taken")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
