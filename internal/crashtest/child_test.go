package crashtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.uber.org/goleak"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

const (
	// binEnv is the environment variable with the path of the server to test. If it is not set, the
	// long form builds one, and the short form runs the test's own program as the server: linking
	// another program takes longer than most of the tests.
	binEnv = "SHEAF_BIN"
	// dirEnv is the environment variable that makes the test's program a server on that directory.
	dirEnv = "SHEAF_CRASHTEST_DIR"
)

// builtDir is the directory of the server that the tests built, or empty.
var builtDir string

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sheaf-crashtest")
	if err != nil {
		return "", err
	}
	builtDir = dir
	bin := filepath.Join(dir, "sheaf")
	out, err := exec.Command("go", "build", "-o", bin, "github.com/sheafdb/sheaf/cmd/sheaf").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

// TestMain is a server if dirEnv asks for one. Otherwise it runs the tests, fails if a goroutine
// still runs when they have ended, and removes the binary that they built.
func TestMain(m *testing.M) {
	if dir := os.Getenv(dirEnv); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if builtDir != "" {
			_ = os.RemoveAll(builtDir)
		}
		os.Exit(code)
	}))
}

// serve does what `sheaf serve` does with the flags of serverCommand, until a signal ends it.
func serve(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	db, err := sheaf.Open(dir, &sheaf.Options{
		Logger:       slog.New(slog.NewJSONHandler(os.Stderr, nil)),
		MemoryBudget: 4 << 20, RequestMemory: 64 << 20, // the parts of 16 MiB in cmd/sheaf
		SlowOperation: -1, Sync: sheaf.SyncOnRequest,
	})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- db.Serve(ctx, listener) }()
	fmt.Printf(`{"uri": "mongodb://%s/?directConnection=true"}`+"\n", listener.Addr())
	<-ctx.Done()
	err = db.Shutdown(context.Background())
	<-served
	return err
}

// serverCommand returns the command that starts the server to test.
func serverCommand(dir string) (*exec.Cmd, error) {
	bin, err := os.Getenv(binEnv), error(nil)
	if bin == "" && !torture.Long() {
		if bin, err = os.Executable(); err != nil {
			return nil, err
		}
		cmd := exec.Command(bin)
		cmd.Env = append(os.Environ(), dirEnv+"="+dir)
		return cmd, nil
	}
	if bin == "" {
		bin, err = buildOnce()
	}
	// The budget is small, so that memtables are flushed and logs rotated.
	return exec.Command(bin, "serve", "--dir", dir, "--port", "0", "--ready-json",
		"--memory-budget", "16MiB", "--slow-ms", "-1",
		// A kill is not a loss of power: writes without a write concern survive a kill without a
		// sync.
		"--sync", "on-request"), err
}

// child is a running server process.
type child struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	client *mongo.Client
	uri    string
	log    *logBuffer
	// killed is set before the process is killed. From then on any error may result from the kill.
	killed atomic.Bool
	exited chan error
}

// logBuffer keeps the child's log for the report of a failure.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// launch starts a server without waiting until it is ready.
func launch(t *testing.T, dir string) (*child, io.Reader) {
	t.Helper()
	cmd, err := serverCommand(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, dir: dir, cmd: cmd, log: &logBuffer{}, exited: make(chan error, 1)}
	c.cmd.Stderr = c.log
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	return c, out
}

// start starts a server and connects to it.
func start(t *testing.T, dir string) *child {
	t.Helper()
	c, out := launch(t, dir)
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		_ = c.cmd.Wait()
		t.Fatalf("the server did not start:\n%s", c.log)
	}
	var ready struct{ URI string }
	if err := json.Unmarshal(lines.Bytes(), &ready); err != nil {
		t.Fatalf("%q: %v", lines.Text(), err)
	}
	c.uri = ready.URI
	go func() { c.exited <- c.cmd.Wait() }()
	// The driver does not retry, because the model must know of every write that is sent.
	client, err := mongo.Connect(options.Client().ApplyURI(ready.URI).SetRetryWrites(false).SetRetryReads(false).
		SetServerSelectionTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	c.client = client
	t.Cleanup(c.disconnect)
	return c
}

// launchAndKill starts a server and kills it after a moment, even if it is still starting.
func launchAndKill(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	c, out := launch(t, dir)
	timer := time.AfterFunc(after, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, out)
	_ = c.cmd.Wait()
	checkKinds(t, dir)
}

// kill ends the process with SIGKILL, and waits for its end.
func (c *child) kill() {
	c.killed.Store(true)
	_ = c.cmd.Process.Kill()
	<-c.exited
	checkKinds(c.t, c.dir)
}

// disconnect closes the client's connections.
func (c *child) disconnect() {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = c.client.Disconnect(ctx)
}

// stop ends the process as Ctrl-C does and expects a clean end.
func (c *child) stop() {
	c.t.Helper()
	c.disconnect()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := <-c.exited; err != nil {
		c.t.Fatalf("shutdown: %v\n%s", err, c.log)
	}
}

// resumed counts the interrupted index builds that the process has resumed.
func (c *child) resumed() int { return strings.Count(c.log.String(), "index build resumed") }
