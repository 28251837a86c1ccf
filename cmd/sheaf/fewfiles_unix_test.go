//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// serveWithFiles returns a server process that may open at most the given number of files.
func serveWithFiles(t *testing.T, files int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files),
		self, "serve", "--dir", filepath.Join(t.TempDir(), "data"), "--port", "0", "--ready-json")
	cmd.Env = append(os.Environ(), asSheaf+"=1")
	log := &bytes.Buffer{}
	cmd.Stderr = log
	return cmd, log
}

// TestFewFiles starts servers that may open only few files. If these are fewer than a store needs,
// the server says so and ends.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	for _, files := range []int{16, 40, leastStoreFiles + otherFiles} {
		cmd, log := serveWithFiles(t, files)
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() < 1 ||
			strings.Contains(log.String(), "goroutine ") {
			t.Errorf("%d files: %v\n%s", files, err, log)
		}
		// With a limit of 16 files, the Go runtime itself may not have enough.
		if files > 16 && !strings.Contains(log.String(), "raise the limit") {
			t.Errorf("%d files: %s", files, log)
		}
	}
}

// TestManyConnectionsOfFewFiles opens more connections than the server has files for. The clients
// that are connected must be able to continue, also with writes, and the log must stay short.
func TestManyConnectionsOfFewFiles(t *testing.T) {
	t.Parallel()
	cmd, log := serveWithFiles(t, 300)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		_ = cmd.Wait()
		t.Fatalf("the server did not start:\n%s", log)
	}
	var ready struct{ URI string }
	if err := json.Unmarshal(lines.Bytes(), &ready); err != nil {
		t.Fatal(err)
	}
	client, err := mongo.Connect(options.Client().ApplyURI(ready.URI))
	if err != nil {
		t.Fatal(err)
	}
	coll := client.Database("d").Collection("c")
	if _, err := coll.InsertOne(t.Context(), bson.D{{"_id", 0}}); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(ready.URI)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			break // the server refuses the connection, as expected
		}
		defer conn.Close()
		if i%40 != 0 {
			continue
		}
		if _, err := coll.InsertOne(t.Context(), bson.D{{"_id", i + 1}}); err != nil {
			t.Fatalf("beside %d connections: %v", i, err)
		}
	}
	if err := client.Disconnect(t.Context()); err != nil { // after this, Disconnect would look for the server
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	if n := strings.Count(log.String(), "\n"); n > 1000 {
		t.Errorf("%d lines in the log, which ends with %s", n, log.String()[log.Len()-1000:])
	}
}
