// Package target finds the server that the conformance tests run against.
//
// SHEAF_URI is the URI of a running server. If it is not set, SHEAF_BIN is the path of the sheaf
// program. The tests start it on an empty temporary directory and stop it at the end. If neither is
// set, there is no server and the tests skip themselves.
package target

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	startTimeout = 20 * time.Second
	stopTimeout  = 20 * time.Second
)

// ErrNone means that neither SHEAF_URI nor SHEAF_BIN is set.
var ErrNone = errors.New("set SHEAF_URI to a server's URI, or SHEAF_BIN to the sheaf program")

// Find returns the URI of the server. The caller must call stop, which stops the server if Find has
// started it.
func Find() (uri string, stop func(), err error) {
	if uri := os.Getenv("SHEAF_URI"); uri != "" {
		return uri, func() {}, nil
	}
	if bin := os.Getenv("SHEAF_BIN"); bin != "" {
		return start(bin)
	}
	return "", nil, ErrNone
}

// Own starts a server for the caller alone if SHEAF_BIN is set. Otherwise it returns the server of
// Find. Tests that set fail points use it, because fail points affect all clients of a server.
func Own() (uri string, stop func(), err error) {
	if bin := os.Getenv("SHEAF_BIN"); bin != "" {
		return start(bin)
	}
	return Find()
}

// start runs the program on a free port and an empty directory. It waits for the line that contains
// the URI.
func start(bin string) (string, func(), error) {
	dir, err := os.MkdirTemp("", "sheaf-conformance-*")
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(bin, "serve", "--dir", dir, "--port", "0", "--ready-json", "--enable-test-commands")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start %s: %w", bin, err)
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		_ = os.RemoveAll(dir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	uris := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			var ready struct{ URI string }
			if json.Unmarshal(lines.Bytes(), &ready) == nil && ready.URI != "" {
				uris <- ready.URI
			}
		}
	}()
	select {
	case uri := <-uris:
		return uri, stop, nil
	case <-ctx.Done():
		stop()
		return "", nil, fmt.Errorf("%s said no URI within %s", bin, startTimeout)
	}
}
