//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestErrorsHaveOnePrefix: errors of the library, which begin with "sheaf: ", do not get that
// prefix a second time.
func TestErrorsHaveOnePrefix(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tooLong := filepath.Join(t.TempDir(), strings.Repeat("x", 300))
	for _, dir := range []string{file, filepath.Join(file, "below"), tooLong} {
		for name, args := range map[string][]string{
			"serve": {"serve", "--port", "0", "--dir", dir}, "import": {"import", file, "-c", "c", "--dir", dir},
			"sim": {"sim", "run", "cart-reserve", "--dir", dir},
		} {
			cmd := exec.CommandContext(t.Context(), self, args...)
			cmd.Env = append(os.Environ(), asSheaf+"=1")
			out, err := cmd.CombinedOutput()
			if text := string(out); err == nil || strings.Count(text, "sheaf: ") != 1 {
				t.Errorf("%s %.40s: %v, %s", name, dir, err, text)
			}
		}
	}
}

// TestSecondInterruptEndsTheProcess interrupts an import that waits for the writer of a named pipe.
// The first signal cannot end that wait.
func TestSecondInterruptEndsTheProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "import", pipe, "--dir",
		filepath.Join(t.TempDir(), "data"), "-c", "c")
	cmd.Env = append(os.Environ(), asSheaf+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("the process ended with %v", err)
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); !ok || !status.Signaled() ||
				status.Signal() != syscall.SIGINT {
				t.Errorf("the process ended with %v", err)
			}
			return
		case <-time.After(200 * time.Millisecond):
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
	}
}

// TestLastLineNamesTheSignal stops servers by the signals that a terminal and a service manager
// send.
func TestLastLineNamesTheSignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for sig, want := range map[syscall.Signal]string{
		syscall.SIGINT:  "Sheaf stopped (interrupt signal received). All data is on disk.\n",
		syscall.SIGTERM: "Sheaf stopped (terminated signal received). All data is on disk.\n",
		syscall.SIGHUP:  "Sheaf stopped (hangup signal received). All data is on disk.\n",
	} {
		if sig == syscall.SIGHUP && signal.Ignored(sig) {
			t.Log("hangup is ignored here, as by nohup: sheaf ignores it, too")
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, self, "serve", "--port", "0", "--dir", filepath.Join(t.TempDir(), "data"))
		cmd.Env = append(os.Environ(), asSheaf+"=1")
		out, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for lines := bufio.NewScanner(out); lines.Scan(); {
			text.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "Stop with Ctrl-C") {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Error(err)
				}
			}
			if sig == syscall.SIGHUP && strings.Contains(lines.Text(), "Shutting down") {
				// A shell that ends sends a second SIGHUP.
				if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Error(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil || !strings.HasSuffix(text.String(), want) {
			t.Errorf("%v: %v\n%s", sig, err, text.String())
		}
	}
}

// TestNohupKeepsTheServer starts a server that ignores SIGHUP, as with nohup. It must keep running.
func TestNohupKeepsTheServer(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `trap '' HUP; exec "$0" serve --memory --port 0 --ready-json 2>/dev/null`, self)
	cmd.Env = append(os.Environ(), asSheaf+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var r ready
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := pingURI(t, r.URI); err != nil {
			t.Fatalf("the server is gone: %v", err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestServerOutlivesTheReaderOfItsLog closes the pipe to which a server logs, and stops the server.
// Its shutdown must complete.
func TestServerOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "serve", "--port", "0", "--dir", filepath.Join(t.TempDir(), "data"))
	cmd.Env = append(os.Environ(), asSheaf+"=1")
	cmd.Stderr = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	for lines := bufio.NewScanner(read); lines.Scan() && !strings.Contains(lines.Text(), "Stop with Ctrl-C"); {
	}
	_ = read.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
