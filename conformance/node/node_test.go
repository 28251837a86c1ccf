package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/conformance/internal/npm"
	"github.com/sheafdb/sheaf/conformance/internal/target"
)

const scriptTimeout = 3 * time.Minute

// uri is the URI of the server under test. It is empty if no server was found.
var uri string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	found, stop, err := target.Find()
	if err != nil && !errors.Is(err, target.ErrNone) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err == nil {
		defer stop()
		uri = found
	}
	return m.Run()
}

// output runs a program and returns its output. If the program fails, the test fails and shows the
// output.
func output(t *testing.T, limit time.Duration, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SHEAF_URI="+uri)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

var closing = regexp.MustCompile(`(?m)^(\d+) checks passed$`)

// runScript copies a script into the folder of the npm packages and runs it. The script must print
// the line that ends a complete run.
func runScript(t *testing.T, script string, command func(dir, script string) (name string, args []string)) {
	if uri == "" {
		t.Skip(target.ErrNone)
	}
	dir := npm.Packages(t)
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(dir, "run-*") // a folder inside dir, where imports find node_modules
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	path := filepath.Join(work, script)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	name, args := command(dir, path)
	out := output(t, scriptTimeout, work, name, args...)
	t.Log(out)
	m := closing.FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("%s did not reach its end:\n%s", script, out)
	}
	fmt.Printf("%s: %s checks passed\n", script, m[1])
}

func TestMongosh(t *testing.T) {
	runScript(t, "shell.js", func(dir, script string) (string, []string) {
		return filepath.Join(dir, "node_modules", ".bin", "mongosh"), []string{"--quiet", uri, "--file", script}
	})
}

func TestMongoose(t *testing.T) {
	runScript(t, "mongoose.mjs", func(_, script string) (string, []string) { return "node", []string{script} })
}
