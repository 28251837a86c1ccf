package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/integration/mtest"
	"go.mongodb.org/mongo-driver/mongo/integration/unified"
	"go.mongodb.org/mongo-driver/mongo/options"

	"github.com/sheafdb/sheaf/conformance/internal/target"
)

const driverModule = "go.mongodb.org/mongo-driver"

// areas lists the folders of the driver's testdata whose unified tests are run. The folder
// client-side-operations-timeout is left out, because its tests give a server only ten milliseconds
// and fail on a busy machine.
var areas = []string{
	"crud/unified",
	"collection-management",
	"index-management",
	"run-command",
	"sessions",
	"unified-test-format/valid-pass",
	"transactions/unified",
	"retryable-writes/unified",
	"change-streams",
	"versioned-api",
	"command-monitoring",
	"command-monitoring/logging",
	"connection-monitoring-and-pooling/logging",
	"gridfs",
	"server-selection/logging",
	"server-discovery-and-monitoring/unified",
}

// uri is the URI of the server under test. It is empty if no server was found.
var uri string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	found, stop, err := target.Find()
	if errors.Is(err, target.ErrNone) {
		return m.Run() // without a server, every test skips itself
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop()
	// The tests expect a replica set, and some fail with a direct connection to a member. The name
	// of the set in the URI also helps the driver's setup: it does not have to wait for the
	// server's first answer to learn the kind of deployment.
	uri = strings.Replace(found, "directConnection=true", "replicaSet=rs0", 1)
	if err := mtest.Setup(mtest.NewSetupOptions().SetURI(uri)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := mtest.Teardown(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func needServer(t *testing.T) {
	t.Helper()
	if uri == "" {
		t.Skip(target.ErrNone)
	}
}

// testdata returns the folder of tests in the driver's module.
func testdata(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", driverModule).Output()
	if err != nil {
		t.Fatalf("find the module %s: %v", driverModule, err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "testdata")
}

// tally counts the tests of an area by outcome.
type tally struct {
	passed, failed int
	notForUs       []string // for each test that the test file or the driver's runner skipped, the reason
	left           []string // the excluded tests with their reasons
}

// add counts a test by its outcome. The reason is the reason for an exclusion. It is empty if the
// test is not excluded.
func (c *tally) add(t *testing.T, test *unified.TestCase, name, reason string) {
	switch {
	case reason != "":
		c.left = append(c.left, name+": "+reason)
	case t.Failed():
		c.failed++
	case t.Skipped():
		c.notForUs = append(c.notForUs, skipReason(test))
	default:
		c.passed++
	}
}

func (c *tally) print(area string) {
	fmt.Printf("driver specs: %-32s %3d passed, %d failed, %d excluded, %d not for this server\n",
		area, c.passed, c.failed, len(c.left), len(c.notForUs))
}

func TestUnifiedSpecs(t *testing.T) {
	needServer(t)
	root := testdata(t)
	var all tally
	for _, area := range areas {
		var c tally
		t.Run(area, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(root, area, "*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no test files in %s: %v", area, err)
			}
			for _, file := range files {
				t.Run(filepath.Base(file), func(t *testing.T) { runFile(t, &c, area, file) })
			}
		})
		c.print(area)
		all.passed += c.passed
		all.failed += c.failed
		all.notForUs = append(all.notForUs, c.notForUs...)
		all.left = append(all.left, c.left...)
	}
	all.print("all")
	for _, name := range all.left {
		fmt.Println("  excluded:", name)
	}
	times := map[string]int{}
	for _, reason := range all.notForUs {
		times[reason]++
	}
	for _, reason := range slices.Sorted(maps.Keys(times)) {
		fmt.Printf("  not for this server: %3d: %s\n", times[reason], reason)
	}
}

func runFile(t *testing.T, c *tally, area, file string) {
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := path.Join(area, filepath.Base(file))
	requirements, cases := unified.ParseTestFile(t, content, false, unified.NewOptions().SetRunKillAllSessions(false))
	// If a file requires another kind of server, the runner skips the whole file. The tests of the
	// file are still counted.
	defer func() {
		if t.Skipped() {
			c.notForUs = append(c.notForUs, slices.Repeat([]string{unmet(requirements)}, len(cases))...)
		}
	}()
	mt := mtest.New(t, mtest.NewOptions().RunOn(requirements...).CreateClient(false))
	for _, test := range cases {
		mt.T.Run(test.Description, func(t *testing.T) {
			reason := excluded(name, test.Description)
			if os.Getenv("SHEAF_ALL") != "" {
				reason = ""
			}
			defer func() { c.add(t, test, name+": "+test.Description, reason) }()
			if reason != "" {
				t.Skip(reason)
			}
			runCase(t, test)
		})
	}
}

// skipReason returns the reason why the driver's runner skipped a test.
func skipReason(test *unified.TestCase) string {
	if test.SkipReason != nil {
		return "the test file: " + *test.SkipReason
	}
	if needs := unmet(test.RunOnRequirements); needs != "" {
		return needs
	}
	return "the driver's runner skips it: " + test.Description
}

// unmet returns the requirements of a test or a file as text, because this server may not meet
// them. It returns "" if there are no requirements.
func unmet(requirements []mtest.RunOnBlock) string {
	var blocks []string
	for _, r := range requirements {
		var needs []string
		need := func(wanted bool, format string, args ...any) {
			if wanted {
				needs = append(needs, fmt.Sprintf(format, args...))
			}
		}
		need(r.MaxServerVersion != "", "server at most %s", r.MaxServerVersion)
		need(len(r.Topology) > 0, "topology %q", r.Topology)
		need(r.Auth != nil && *r.Auth || r.AuthEnabled != nil && *r.AuthEnabled, "users (issue 9)")
		need(r.CSFLE != nil && *r.CSFLE, "client-side encryption, a build tag of the driver")
		need(len(r.ServerParameters) > 0, "server parameters %q", slices.Sorted(maps.Keys(r.ServerParameters)))
		if len(needs) > 0 {
			blocks = append(blocks, strings.Join(needs, ", "))
		}
	}
	if len(blocks) == 0 {
		return ""
	}
	slices.Sort(blocks)
	return "needs " + strings.Join(slices.Compact(blocks), "; or ")
}

// runCase runs one test. The runner panics if a document lacks an expected field. runCase counts
// the panic as a failed test.
func runCase(t *testing.T, test *unified.TestCase) {
	mt := mtest.New(t, mtest.NewOptions().RunOn(test.RunOnRequirements...).CreateClient(false))
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("the runner panicked: %v", r)
		}
	}()
	if err := test.Run(mt); err != nil {
		t.Error(err)
	}
}

// programs lists test functions of the driver that test in Go: prose tests, and tests in older
// formats. skip is a pattern of tests to leave out, and reason says why.
var programs = []struct{ pkg, test, skip, reason string }{
	{"/mongo/integration", "TestUnifiedSpecs/read-write-concern", "", ""},
	{"/mongo", "TestReadWriteConcernSpec", "", ""},
	{
		"/mongo/integration", "TestUnifiedSpecs/transactions/legacy",
		"TestUnifiedSpecs/transactions/legacy/(read-pref|transaction-options).json/" +
			"(secondary_readPreference|readPreference_inherited|startTransaction_overrides_readPreference)",
		"four that expect to select a secondary before the transaction refuses it; a set of one has none (issue 11)",
	},
	{"/mongo/integration", "TestUnifiedSpecs/convenient-transactions", "", ""},
	{"/mongo", "TestConvenientTransactions", "", ""},
	{"/mongo/integration", "TestUnifiedSpecs/retryable-reads", "", ""},
	{"/mongo/integration", "TestRetryableReadsProse", "", ""},
	{"/mongo/integration", "TestRetryableWritesSpec", "", ""},
	{"/mongo/integration", "TestRetryableWritesProse", "", ""},
	{"/mongo/integration", "TestSessions", "", ""},
	{"/mongo/integration", "TestSessionsProse", "", ""},
	{"/mongo/integration", "TestCausalConsistency_Supported", "", ""},
	{"/mongo/integration", "TestCrudSpec", "", ""},
	{"/mongo/integration", "(TestWriteErrorsWithLabels|TestWriteErrorsDetails|TestHintErrors|TestWriteConcernError|TestErrorsCodeNamePropagated)", "", ""},
	{"/mongo/integration", "TestChangeStream_ReplicaSet", "", ""},
}

// TestPrograms runs the driver's own test functions.
func TestPrograms(t *testing.T) {
	needServer(t)
	for _, r := range programs {
		t.Run(r.test, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			emptyServer(ctx, t)
			run := "^" + strings.ReplaceAll(r.test, "/", "$/^") + "$"
			args := []string{"test", "-count=1", "-v", "-run", run}
			if r.skip != "" {
				fmt.Printf("driver specs: %s is left out: %s\n", r.skip, r.reason)
				args = append(args, "-skip", r.skip)
			}
			cmd := exec.CommandContext(ctx, "go", append(args, driverModule+r.pkg)...)
			cmd.Env = append(os.Environ(), "MONGODB_URI="+uri)
			out, err := cmd.CombinedOutput()
			passed := strings.Count(string(out), "--- PASS")
			fmt.Printf("driver specs: %-32s %3d passed (with their groups)\n", r.test, passed)
			if err != nil || passed == 0 {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// emptyServer drops all databases of users. The driver's tests drop their collections only at the
// end, so collections that an interrupted run has left would disturb them.
func emptyServer(ctx context.Context, t *testing.T) {
	t.Helper()
	client, err := mongo.Connect(ctx, options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(ctx) }()
	names, err := client.ListDatabaseNames(ctx, bson.D{{"name", bson.D{{"$nin", bson.A{"admin", "config", "local"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := client.Database(name).Drop(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
