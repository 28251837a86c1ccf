package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// start runs sheaf serve with arguments until the test ends and returns its ready line.
func start(t *testing.T, args ...string) (ready, context.CancelFunc, <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
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
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	return client.Database("admin").RunCommand(t.Context(), append(bson.D{{Key: "ping", Value: 1}}, more...)).Err()
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
	client, err := mongo.Connect(options.Client().ApplyURI(r.URI).SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "logRotate", Value: 1}}).Err(); err != nil {
		t.Error(err)
	}
	if logs, err := filepath.Glob(logFile + "*"); err != nil || len(logs) != 2 {
		t.Errorf("logs after a rotation: %v %v", logs, err)
	}
	// It does not wait for the lock that keeps writers out.
	if err := client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}).Err(); err != nil {
		t.Error(err)
	}
	go func() { _, _ = client.Database("d").Collection("c").InsertOne(context.Background(), bson.D{}) }()
	_ = client.Database("admin").RunCommand(t.Context(), bson.D{
		{Key: "shutdown", Value: 1}, {Key: "force", Value: true}, {Key: "timeoutSecs", Value: 5},
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
		"is in use by another process":         {"--dir", dir, "--port", "0"},
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
	if n, err := memoryBudget(""); err != nil || n <= 0 || n > maxBudget {
		t.Errorf("default budget %d: %v", n, err)
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
