package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/relief"
	"github.com/sheafdb/sheaf/internal/torture"
)

// start runs sheaf serve with arguments until the test ends, and returns its ready line.
func start(t *testing.T, args ...string) (ready, context.CancelFunc, <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	// The server uses its directory until it has ended.
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	r, w := io.Pipe()
	cmd := newRoot()
	cmd.SetArgs(append([]string{"serve", "--ready-json", "--port", "0"}, args...))
	cmd.SetOut(w)
	cmd.SetErr(io.Discard)
	done := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		_ = w.CloseWithError(io.ErrUnexpectedEOF)
		done <- err
		close(ended)
	}()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatalf("not ready: %v, %v", err, <-done)
	}
	var out ready
	if err := json.Unmarshal(line, &out); err != nil {
		t.Fatal(err)
	}
	return out, cancel, done
}

func pingURI(t *testing.T, uri string, more ...bson.E) error {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	return client.Database("admin").RunCommand(t.Context(), append(bson.D{{"ping", 1}}, more...)).Err()
}

func TestServe(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	r, stop, done := start(t, "--dir", filepath.Join(t.TempDir(), "data"), "--unix-socket", socket)
	if err := pingURI(t, r.URI); err != nil {
		t.Error(err)
	}
	if err := pingURI(t, "mongodb://"+strings.ReplaceAll(socket, "/", "%2F")+"/?directConnection=true"); err != nil {
		t.Error(err)
	}
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not stop")
	}
}

func TestShutdownCommandStopsTheServer(t *testing.T) {
	logFile := filepath.Join(t.TempDir(), "sheaf.log")
	r, _, done := start(t, "--memory", "--log-file", logFile)
	client, err := mongo.Connect(options.Client().ApplyURI(r.URI).
		SetServerMonitoringMode(options.ServerMonitoringModePoll).
		SetServerSelectionTimeout(time.Second)) // Disconnect looks for the stopped server for that time
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{"logRotate", 1}}).Err(); err != nil {
		t.Error(err)
	}
	if logs, err := filepath.Glob(logFile + "*"); err != nil || len(logs) != 2 {
		t.Errorf("logs after a rotation: %v %v", logs, err)
	}
	// The shutdown does not wait for the lock that blocks writers.
	if err := client.Database("admin").
		RunCommand(t.Context(), bson.D{{"fsync", 1}, {"lock", true}}).Err(); err != nil {
		t.Error(err)
	}
	go func() { _, _ = client.Database("d").Collection("c").InsertOne(context.Background(), bson.D{}) }()
	_ = client.Database("admin").RunCommand(t.Context(), bson.D{
		{"shutdown", 1}, {"force", true}, {"timeoutSecs", 5},
	}).Err()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not stop")
	}
}

func TestFriendlyErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	dir := filepath.Join(t.TempDir(), "data")
	start(t, "--dir", dir)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("prot: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"is in use, perhaps by another server": {"--memory", "--port", port},
		"directory is in use":                  {"--dir", dir, "--port", "0"},
		"--log-level loud":                     {"--log-level", "loud"},
		"--memory-budget lots":                 {"--memory-budget", "lots"},
		"--sync maybe":                         {"--sync", "maybe"},
		`unknown setting "prot"`:               {"--config", bad},
		"cannot read the configuration file":   {"--config", bad + ".missing"},
		"nothing to listen on":                 {"--memory", "--port", "-1"},
	} {
		cmd := newRoot()
		cmd.SetArgs(append([]string{"serve"}, args...))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if err := cmd.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
		cancel()
	}
}

func TestSettingsFromFileAndEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sheaf.yaml")
	if err := os.WriteFile(path, []byte("port: 1\nbind: [127.0.0.1, \"::1\"]\nslow-ms: 7\nmax-connections: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHEAF_CONFIG", path)
	t.Setenv("SHEAF_SLOW_MS", "8")
	var f serveFlags
	cmd := &cobra.Command{}
	f.register(cmd)
	if err := cmd.ParseFlags([]string{"--max-connections", "9"}); err != nil {
		t.Fatal(err)
	}
	if err := applyConfig(cmd); err != nil {
		t.Fatal(err)
	}
	if f.port != 1 || f.bind != "127.0.0.1,::1" || f.slowMillis != 8 || f.maxConnections != 9 {
		t.Errorf("%+v", f)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1024": 1024, "512MiB": 512 << 20, "1GB": 1e9, "1.5g": 3 << 29, " 64 mb ": 64e6, "2k": 2048, "10b": 10,
		"": 0, "x": 0, "-1": 0, "0": 0, "1TiB": 0, "1e300": 0,
	} {
		if n, err := parseSize(text); n != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %d: %v", text, n, err)
		}
	}
	if n := memoryBudget(0); n <= 0 || n > maxBudget {
		t.Errorf("the default memory budget is %d", n)
	}
}

func TestURI(t *testing.T) {
	for want, a := range map[string]net.Addr{
		"mongodb://127.0.0.1:5/?directConnection=true":     &net.TCPAddr{IP: net.IPv4zero, Port: 5},
		"mongodb://[::1]:5/?directConnection=true":         &net.TCPAddr{IP: net.IPv6loopback, Port: 5},
		"mongodb://%2Ftmp%2Fs.sock/?directConnection=true": &net.UnixAddr{Name: "/tmp/s.sock", Net: "unix"},
	} {
		if got := uriOf(a); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}

func TestFlagsOutOfRangeAreRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"--port 65536: it must be":                          {"--port", "65536"},
		"--port -2: it must be":                             {"--port", "-2"},
		"--max-connections -3: it must be between 1":        {"--max-connections", "-3"},
		"--max-connections 0: it must be between 1":         {"--max-connections", "0"},
		"--slow-ms -2: it must be":                          {"--slow-ms", "-2"},
		"--memory-budget 1KiB: it must be at least 16MiB":   {"--memory-budget", "1KiB"},
		"--oplog-size 1MiB: it must be at least 64MiB":      {"--oplog-size", "1MiB"},
		"leave out --memory or --dir":                       {"--memory", "--dir", "data"},
		"--dir is empty":                                    {"--dir", ""},
		"leave out --standalone or --replSet":               {"--standalone", "--replSet", "rs1"},
		"leave out --standalone or --oplog-size":            {"--standalone", "--oplog-size", "1GiB"},
		"--replSet is empty":                                {"--replSet", ""},
		"--log-rotate needs a --log-file":                   {"--log-rotate", "rename"},
		"--log-format xml: it must be json or text":         {"--log-format", "xml"},
		"--advertise here: it must be a host and a port":    {"--advertise", "here"},
		"--advertise h:70000: it must be a host and a port": {"--advertise", "h:70000"},
		`--bind "127.0.0.1," has an empty address`:          {"--bind", "127.0.0.1,"},
		"this machine cannot resolve the name":              {"--bind", "no-such-host.invalid"},
	} {
		if !slices.Contains(args, "--dir") {
			args = append(args, "--memory")
		}
		if !slices.Contains(args, "--port") {
			args = append(args, "--port", "0")
		}
		cmd := newRoot()
		cmd.SetArgs(append([]string{"serve"}, args...))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := cmd.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
		cancel()
	}
}

func TestBudgetAboveTheMemoryIsRefused(t *testing.T) {
	available := relief.AvailableMemory()
	if available <= 0 {
		t.Skip("the memory of this machine is not known")
	}
	for _, c := range []struct {
		budget  int64
		refused bool
	}{{available, false}, {available + 1, true}, {1 << 50, true}} {
		f := serveFlags{
			memory: true, replSet: "rs0", maxConnections: 1, sync: "default",
			memoryBudget: strconv.FormatInt(c.budget, 10),
		}
		err := f.check(func(string) bool { return false })
		if refused := err != nil &&
			strings.Contains(err.Error(), "has only"); refused != c.refused || err != nil && !refused {
			t.Errorf("%d bytes of %d: %v", c.budget, available, err)
		}
	}
}

func TestUnixSocketReplacesOnlyADeadSocket(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := listenUnix(t.Context(), file); err == nil {
		_ = l.Close()
		t.Error("a regular file was taken for a socket")
	} else if !strings.Contains(err.Error(), "is not a socket") {
		t.Error(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Errorf("the file: %q, %v", data, err)
	}
	socket := filepath.Join(dir, "s.sock")
	l, err := listenUnix(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != socketMode {
		t.Errorf("mode of the socket: %v, %v", info.Mode(), err)
	}
	if _, err := listenUnix(t.Context(), socket); err == nil ||
		!strings.Contains(err.Error(), "another server listens") {
		t.Errorf("a socket in use: %v", err)
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // the socket file stays, as after the death of a server
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = listenUnix(t.Context(), socket); err != nil {
		t.Fatalf("a dead server's socket: %v", err)
	}
	_ = l.Close()
}

func TestBindSeveralAddresses(t *testing.T) {
	if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		t.Skip("this machine has no IPv6:", err)
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for bind, want := range map[string]int{
		"0.0.0.0,::": 2, "*": 2, "::": 1, "127.0.0.1,::": 2,
		"127.0.0.1,127.0.0.1": 1, "127.0.0.1,[::1]": 2,
	} {
		ls, err := listenTCP(t.Context(), bind, 0)
		if err != nil {
			t.Errorf("--bind %s: %v", bind, err)
			continue
		}
		ports := map[int]bool{}
		for _, l := range ls {
			ports[l.Addr().(*net.TCPAddr).Port] = true
		}
		if len(ls) != want || len(ports) != 1 {
			t.Errorf("--bind %s: %d listeners on the ports %v", bind, len(ls), ports)
		}
		closeAll(ls)
	}
}

func TestExposedServerWarns(t *testing.T) {
	for bind, want := range map[string]int{"127.0.0.1": 0, "0.0.0.0": 1} {
		r, _, _ := start(t, "--memory", "--bind", bind)
		client, err := mongo.Connect(options.Client().ApplyURI(r.URI).
			SetServerMonitoringMode(options.ServerMonitoringModePoll))
		if err != nil {
			t.Fatal(err)
		}
		var reply struct {
			Total int      `bson:"totalLinesWritten"`
			Log   []string `bson:"log"`
		}
		err = client.Database("admin").
			RunCommand(t.Context(), bson.D{{"getLog", "startupWarnings"}}).Decode(&reply)
		if err != nil || reply.Total != want || len(reply.Log) != want {
			t.Errorf("--bind %s: %+v, %v", bind, reply, err)
		}
		for _, line := range reply.Log {
			if !strings.Contains(line, "Access control is not enabled") {
				t.Error(line)
			}
		}
		if err := client.Disconnect(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestFarewellSaysWhy(t *testing.T) {
	logFile := filepath.Join(t.TempDir(), "log")
	_, stop, done := start(t, "--memory", "--log-file", logFile)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := lines[len(lines)-1]
	if !strings.Contains(last, `"Now exiting"`) || !strings.Contains(last, `"reason":"its caller ended it"`) {
		t.Errorf("the last line: %s", last)
	}
}

func TestVersionNamesTheCommit(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skip("this is no checkout of git")
	}
	bin := filepath.Join(t.TempDir(), "sheaf")
	if out, err := exec.Command("go", "build", "-buildvcs=true", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, arg := range []string{"--version", "version"} {
		out, err := exec.Command(bin, arg).Output()
		if err != nil {
			t.Fatal(err)
		}
		if want := "(commit " + strings.TrimSpace(string(head)); !strings.HasPrefix(string(out), "sheaf ") ||
			!strings.Contains(string(out), want) {
			t.Errorf("%s prints %q without %q", arg, out, want)
		}
	}
}
