package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyLine is the JSON line that a server prints when it accepts connections.
type readyLine struct {
	URI string `json:"uri"`
}

// process is a server process that this program started.
type process struct {
	cmd  *exec.Cmd
	stop os.Signal
	uri  string
	// started is the time from the start of the process to its ready line.
	started time.Duration
	// budget is the memory budget of the server in bytes, or 0 if it has none.
	budget int64
	done   chan error
}

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 60 * time.Second
)

// startReady starts a server and waits for its ready line. The server's standard input stays open
// until the server is stopped.
func startReady(cmd *exec.Cmd) (*process, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	begin := time.Now()
	p, err := startProcess(cmd, syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- line
	}()
	var line string
	select {
	case line = <-lines:
	case <-time.After(startTimeout):
	}
	p.started = time.Since(begin)
	var ready readyLine
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.URI == "" {
		return nil, errors.Join(fmt.Errorf("%s said %q instead of a ready line", cmd.Path, line), p.close())
	}
	p.uri = ready.URI
	return p, nil
}

// startProcess starts a command. On Linux, the kernel sends it SIGTERM when this program ends.
func startProcess(cmd *exec.Cmd, stop os.Signal) (*process, error) {
	endWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stop: stop, done: make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// close sends the process its signal to stop, and waits until it has ended. After stopTimeout it
// kills the process.
func (p *process) close() error {
	if err := p.cmd.Process.Signal(p.stop); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = p.cmd.Process.Kill()
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not end and was killed", filepath.Base(p.cmd.Path))
	}
}

// workplace is a temporary directory, with the path of the Sheaf server to measure.
type workplace struct {
	dir    string
	binary string
}

// newWorkplace creates a directory on the disk to measure, and builds Sheaf there if cfg names no
// server program. The caller must close the workplace.
func newWorkplace(ctx context.Context, cfg *config) (*workplace, error) {
	dir, err := os.MkdirTemp(cfg.temp, "sheaf-bench-")
	if err != nil {
		return nil, err
	}
	w := &workplace{dir: dir}
	// PostgreSQL runs as another user. It must be able to enter its own directory, which is inside
	// of this directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if w.binary = cfg.sheaf; w.binary != "" {
		return w, nil
	}
	if w.binary, err = buildSheaf(ctx, dir); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *workplace) close() error { return os.RemoveAll(w.dir) }

// buildSheaf builds the server program with the flags of a release, and returns its path.
func buildSheaf(ctx context.Context, dir string) (string, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sheaf")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/sheaf")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build sheaf: %w\n%s", err, out)
	}
	return path, nil
}

// moduleRoot returns the directory of the main module.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sheafdb/sheaf").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w (run this in bench/)", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// startSheaf starts a server on a directory with a memory budget in bytes.
func startSheaf(binary, dir string, budget int64, flags ...string) (*process, error) {
	args := append([]string{
		"serve", "--dir", dir, "--port", "0", "--ready-json", "--log-level", "warn", "--slow-ms", "-1",
		"--memory-budget", strconv.FormatInt(budget>>20, 10) + "MiB",
	}, flags...)
	cmd := exec.Command(binary, args...)
	cmd.Stderr = os.Stderr
	p, err := startReady(cmd)
	if err == nil {
		p.budget = budget
	}
	return p, err
}

// startFloor starts this program again as the floor server.
func startFloor() (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), floorEnv+"=1")
	cmd.Stderr = os.Stderr
	return startReady(cmd)
}
