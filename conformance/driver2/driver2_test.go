package driver2

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/conformance/internal/target"
)

// packages lists the driver's packages whose tests need a server.
var packages = []string{"internal/integration/unified", "internal/integration", "internal/docexamples", "mongo"}

// patience is the longest time that the tests of a package may take.
const patience = 15 * time.Minute

func TestDriverSuites(t *testing.T) {
	found, stop, err := target.Own()
	if errors.Is(err, target.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	// The tests expect a replica set, and some fail with a direct connection to a member.
	uri := strings.Replace(found, "directConnection=true", "replicaSet=rs0", 1)
	driver := t.TempDir()
	if err := copyDriver(driver); err != nil {
		t.Fatal(err)
	}
	missing, err := layOut(driver)
	if err != nil {
		t.Fatal(err)
	}
	// Folders come first in the pattern. If a test in a folder came before the folder itself, go
	// test would run the folder's other tests.
	var left []string
	for _, spec := range missing {
		left = append(left, "TestUnifiedSpec/"+spec, "TestUnifiedSpecs/"+spec)
		fmt.Printf("  no files: %s: they come with SHEAF_SPECIFICATIONS\n", spec)
	}
	for _, e := range exclusions() {
		left = append(left, e.test)
		fmt.Printf("  excluded: %s: %s\n", e.test, e.reason)
	}
	if os.Getenv("SHEAF_DRIVER2") == quick {
		for _, e := range slow() {
			left = append(left, e.test)
			fmt.Printf("  not in the quick part: %s: %s\n", e.test, e.reason)
		}
	}
	compile(t, driver)
	for _, pkg := range packages {
		t.Run(pkg, func(t *testing.T) {
			run := func(uri string, which ...string) report {
				return runPackage(t, driver, pkg, which, []string{"MONGODB_URI=" + uri, "PROJECT_DIRECTORY=" + driver})
			}
			var r report
			if pkg == waitingPackage {
				r = run(uri, "-skip", pattern(slices.Concat(left, waiting())...))
				r.add(run(uri+shortHeartbeat, "-run", pattern(waiting()...), "-skip", pattern(left...)))
			} else {
				r = run(uri, "-skip", pattern(left...))
			}
			r.retry(func(name string) report { return run(uri, "-run", pattern(name)) })
			fmt.Printf("driver v2: %-32s %4d passed, %d failed, %d not for this server\n", pkg, r.passed, len(r.failed), r.skipped)
			for _, reason := range slices.Sorted(maps.Keys(r.skipReasons)) {
				fmt.Printf("  not for this server: %3d: %s\n", r.skipReasons[reason], reason)
			}
			for _, name := range r.failed {
				t.Errorf("%s\n%s", name, r.output[name])
			}
			if r.passed == 0 {
				t.Error("no test passed")
			}
		})
	}
}

// quick is the value of the environment variable SHEAF_DRIVER2 with which the slow tests are left
// out.
const quick = "quick"

// pattern returns a pattern for the flags -run and -skip of `go test`, which matches the given test
// names. go test matches the parts between slashes separately.
func pattern(names ...string) string {
	var patterns []string
	for _, name := range names {
		parts := strings.Split(name, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		patterns = append(patterns, strings.Join(parts, "/"))
	}
	return strings.Join(patterns, "|")
}

// report holds the results of a package's tests. A test with subtests is not counted, but its
// subtests are.
type report struct {
	passed, skipped int
	failed          []string
	output          map[string]string
	skipReasons     map[string]int // the number of skipped tests for each reason
}

// add adds the results of another run to the report.
func (r *report) add(other report) {
	r.passed += other.passed
	r.skipped += other.skipped
	r.failed = append(r.failed, other.failed...)
	maps.Copy(r.output, other.output)
	for reason, n := range other.skipReasons {
		r.skipReasons[reason] += n
	}
}

const (
	// maxRetries is the largest number of failed tests of a package for which the tests are
	// retried. More failures have a common cause.
	maxRetries = 5
	// tries is how many times a failed test is retried at most.
	tries = 2
)

// retry runs each failed test again, on its own, because many tests depend on time and fail on a
// busy machine. It prints every failure and the result of the retry.
func (r *report) retry(run func(name string) report) {
	if len(r.failed) > maxRetries {
		return
	}
	var failed []string
	for _, name := range r.failed {
		if passesAgain(name, run) {
			fmt.Printf("  retried: %s: failed, then passed. The failure:\n%s", name, r.output[name])
			r.passed++
			continue
		}
		fmt.Printf("  retried: %s: failed again\n", name)
		failed = append(failed, name)
	}
	r.failed = failed
}

// passesAgain reports whether a failed test passes in one of its retries.
func passesAgain(name string, run func(name string) report) bool {
	for range tries {
		if again := run(name); len(again.failed) == 0 && again.passed > 0 {
			return true
		}
	}
	return false
}

// compile downloads the dependencies of the tests and compiles them before the first run. Otherwise
// an error of this step would look like a failed test.
func compile(t *testing.T, driver string) {
	t.Helper()
	args := []string{"test", "-exec", "true"} // the program true runs instead of the test binary
	for _, pkg := range packages {
		args = append(args, "./"+pkg)
	}
	if out, err := goCommand(t.Context(), driver, args...).CombinedOutput(); err != nil {
		t.Fatalf("compile the driver's tests: %v\n%s", err, out)
	}
}

// goCommand returns a go command that runs in the driver's module, because the go.sum of that
// module covers the dependencies of the tests.
func goCommand(ctx context.Context, driver string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = driver
	// With -trimpath, copies of the driver in other folders share the build cache.
	cmd.Env = append(environment(), "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath")
	return cmd
}

// runPackage runs tests of a package. If the package fails without a failed test, the package's
// name is reported as the failed test.
func runPackage(t *testing.T, driver, pkg string, which, env []string) report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := append([]string{"test", "-json", "-count=1", "-timeout", patience.String()}, which...)
	cmd := goCommand(ctx, driver, append(args, "./"+pkg)...)
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	r := readEvents(t, out)
	if err != nil && len(r.failed) == 0 {
		r.failed = append(r.failed, pkg)
		r.output[pkg] = stderr.String()
	}
	return r
}

// readEvents counts the results in the output of `go test -json`.
func readEvents(t *testing.T, out []byte) report {
	t.Helper()
	r := report{output: map[string]string{}, skipReasons: map[string]int{}}
	results := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		switch e.Action {
		case "output":
			if len(r.output[e.Test]) < 4096 {
				r.output[e.Test] += e.Output
			}
		case "pass", "fail", "skip":
			results[e.Test] = e.Action
		}
	}
	delete(results, "") // events of the package itself have no test name
	for name, result := range results {
		if hasSubtest(results, name, result) {
			continue
		}
		switch result {
		case "pass":
			r.passed++
		case "skip":
			r.skipped++
			r.skipReasons[skipReason(r.output[name])]++
		default:
			r.failed = append(r.failed, name)
		}
	}
	slices.Sort(r.failed)
	return r
}

// skipReason returns the reason in the output of a skipped test: the text that the test passed to
// t.Skip.
func skipReason(output string) string {
	reason := "not told"
	for line := range strings.Lines(output) {
		if _, text, ok := strings.Cut(line, ".go:"); ok {
			if _, text, ok = strings.Cut(text, ": "); ok {
				reason = strings.TrimSpace(text)
			}
		}
	}
	return reason
}

// hasSubtest reports whether a test has a subtest. If result is "fail", a subtest must have failed.
// The result of the test then follows from its subtests.
func hasSubtest(results map[string]string, name, result string) bool {
	for other, its := range results {
		if strings.HasPrefix(other, name+"/") && (result != "fail" || its == "fail") {
			return true
		}
	}
	return false
}

func TestPattern(t *testing.T) {
	got := pattern("TestA/b.json/c_(d)", "TestE")
	if want := `^TestA$/^b\.json$/^c_\(d\)$|^TestE$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestReasons checks that each exclusion has one of the known reasons.
func TestReasons(t *testing.T) {
	for _, e := range exclusions() {
		if !slices.Contains([]string{threeMembers, noSecondary, mongocryptd}, e.reason) {
			t.Errorf("%s: %s", e.test, e.reason)
		}
	}
}

// TestAmend checks that the amendments change the expected requests only in the tests and files for
// which they are made.
func TestAmend(t *testing.T) {
	t.Setenv("SHEAF_SPECIFICATIONS", "")
	for _, c := range []struct{ file, in, want string }{
		{
			"retryable-reads/tests/unified/gridfs-download.json", `"filter": { "_id": { "$oid": "000000000000000000000001" } }`,
			`"filter": { "_id": {"$eq": { "$oid": "000000000000000000000001" }} }`,
		},
		{
			"retryable-reads/tests/unified/other.json", `"filter": { "_id": { "$oid": "000000000000000000000001" } }`,
			`"filter": { "_id": { "$oid": "000000000000000000000001" } }`,
		},
		{
			"client-side-operations-timeout/tests/runCursorCommand.json",
			`"a" "getMore": {} "maxTimeMS": {"$$exists": true}
"Non-tailable cursor lifetime remaining timeoutMS applied to getMore if timeoutMode is unset"
"getMore": {} "maxTimeMS": {"$$exists": true} "b" "getMore": {} "maxTimeMS": {"$$exists": true}`,
			`"a" "getMore": {} "maxTimeMS": {"$$exists": true}
"Non-tailable cursor lifetime remaining timeoutMS applied to getMore if timeoutMode is unset"
"getMore": {} "maxTimeMS": {"$$exists": false} "b" "getMore": {} "maxTimeMS": {"$$exists": true}`,
		},
	} {
		if got := string(amend(c.file, []byte(c.in))); got != c.want {
			t.Errorf("%s: %s, want %s", c.file, got, c.want)
		}
	}
}

func TestRetry(t *testing.T) {
	r := report{passed: 1, failed: []string{"a", "b", "c"}, output: map[string]string{"a": "too slow\n"}}
	runs := map[string]int{}
	r.retry(func(name string) report {
		runs[name]++
		if name == "a" || name == "c" && runs[name] == tries {
			return report{passed: 1}
		}
		return report{failed: []string{name}}
	})
	if r.passed != 3 || !slices.Equal(r.failed, []string{"b"}) || runs["b"] != tries {
		t.Errorf("%+v after %v", r, runs)
	}
}
