package adversarial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// container is a server in a process of its own, in a control group if possible.
type container struct {
	uri string
	pid int
	cmd *exec.Cmd
}

// buildServer builds the program once for all tests, like a release.
var buildServer = sync.OnceValues(func() (string, error) { return build("CGO_ENABLED=0") })

// buildWithC builds the program once as `go build` does with a C compiler: the caches and memtables
// are outside of Go's heap.
var buildWithC = sync.OnceValues(func() (string, error) { return build("CGO_ENABLED=1") })

func build(env string) (string, error) {
	dir, err := os.MkdirTemp("", "sheaf-adversarial")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "sheaf")
	cmd := exec.Command("go", "build", "-o", bin, "github.com/sheafdb/sheaf/cmd/sheaf")
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, nil
}

// startContainer starts a server on a new directory in a control group of containerBytes, with a
// budget of half of that. It fills the caches of the server.
func startContainer(t *testing.T) *container {
	t.Helper()
	c := startServer(t, containerBytes/2, controlGroup(t))
	c.warm(t, containerBytes/2)
	return c
}

// warm fills the caches of a server with documents that have n bytes in total.
func (c *container) warm(t *testing.T, n int) {
	t.Helper()
	coll := c.client(t).Database("warm").Collection("c")
	w := &workload{size: 10_000}
	w.fill(t, coll, n/w.size)
	for range 2 {
		if _, err := coll.CountDocuments(t.Context(), bson.D{{"field9", ""}}); err != nil {
			t.Fatal(err)
		}
	}
	var status struct {
		Storage struct{ Cache struct{ Bytes int64 } }
	}
	if err := c.client(t).Database("admin").
		RunCommand(t.Context(), bson.D{{"serverStatus", 1}}).Decode(&status); err != nil {
		t.Fatal(err)
	}
	if got := status.Storage.Cache.Bytes; got < warmBytes {
		t.Errorf("the caches hold %d MiB, want at least %d", got>>20, warmBytes>>20)
	}
}

// warmBytes is the minimum size of a container's block cache before an attack: a third of the
// budget.
const warmBytes = containerBytes / 2 / 3

// startServer starts a server on a new directory with a memory budget, in a control group unless
// group is empty.
func startServer(t *testing.T, budget int64, group string) *container {
	t.Helper()
	return startServerOn(t, budget, group, "--dir", filepath.Join(t.TempDir(), "data"))
}

// startServerOn starts a server like startServer. store has the flags for the location of the data.
func startServerOn(t *testing.T, budget int64, group string, store ...string) *container {
	t.Helper()
	bin, err := buildServer()
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, bin, budget, group, store...)
}

func serve(t *testing.T, bin string, budget int64, group string, store ...string) *container {
	t.Helper()
	args := []string{
		bin, "serve", "--port", "0", "--ready-json", "--slow-ms", "-1",
		"--log-level", "error", "--memory-budget", strconv.FormatInt(budget, 10),
	}
	args = append(args, store...)
	cmd := exec.Command(args[0], args[1:]...)
	if group != "" {
		script := `echo $$ > "` + filepath.Join(group, "cgroup.procs") + `" && exec "$@"`
		cmd = exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &container{pid: cmd.Process.Pid, cmd: cmd}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ URI string }
	if err := errors.Join(err, json.Unmarshal(line, &ready)); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	c.uri = ready.URI
	return c
}

// controlGroup creates a control group with a memory limit of containerBytes. It returns the
// directory of the group, or "" if that is not permitted.
func controlGroup(t *testing.T) string {
	t.Helper()
	for parent, limit := range map[string]string{
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes",
		"/sys/fs/cgroup":        "memory.max",
	} {
		if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
			continue
		}
		dir := filepath.Join(parent, fmt.Sprintf("sheaf-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			for range 50 { // the kernel needs a moment to notice that the process has ended
				if os.Remove(dir) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
		if os.WriteFile(filepath.Join(dir, limit), []byte(strconv.Itoa(containerBytes)), 0o644) == nil {
			return dir
		}
	}
	return ""
}

// resetPeak resets VmHWM to the current memory of the server.
func (c *container) resetPeak(t *testing.T) {
	t.Helper()
	const peak = "5" // see proc_pid_clear_refs(5)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", c.pid), []byte(peak), 0); err != nil {
		t.Fatal(err)
	}
}

// status returns a field of /proc/<pid>/status of the server, in bytes.
func (c *container) status(t *testing.T, field string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		t.Fatalf("the server is gone: %v", err)
	}
	_, rest, found := strings.Cut(string(b), field+":")
	if !found {
		t.Fatalf("the server is gone: its status has no %s", field)
	}
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

func (c *container) client(t *testing.T) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(c.uri).SetMaxPoolSize(1000).
		SetRetryReads(false).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

func (c *container) dial(t *testing.T) net.Conn {
	t.Helper()
	u, err := url.Parse(c.uri)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Error(err)
		return nil
	}
	return conn
}

// watchPings pings until the returned function is called. That function reports the longest reply
// time and fails if it was too long.
func (c *container) watchPings(t *testing.T) (stop func()) {
	t.Helper()
	client := c.client(t)
	ctx, cancel := context.WithCancel(context.Background())
	longest, done := time.Duration(0), make(chan error, 1)
	go func() {
		for {
			start := time.Now()
			err := client.Database("admin").RunCommand(ctx, bson.D{{"ping", 1}}).Err()
			if ctx.Err() != nil {
				done <- nil
				return
			}
			longest = max(longest, time.Since(start))
			if err != nil {
				done <- err
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("ping: %v", err)
		}
		t.Logf("longest ping %v, peak %d MiB", longest.Round(time.Millisecond), c.status(t, "VmHWM")>>20)
		if longest > pingBound {
			t.Errorf("a ping took %v", longest)
		}
	}
}
