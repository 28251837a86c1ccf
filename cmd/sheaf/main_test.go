//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asSheaf in the environment makes the test's program run main.
const asSheaf = "TEST_RUNS_SHEAF"

func TestMain(m *testing.M) {
	if os.Getenv(asSheaf) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestErrorsHaveOnePrefix runs commands whose error comes from the library, which begins its errors
// with the same word.
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

// TestSecondInterruptEndsTheProcess interrupts an import that waits for its input, which the first signal cannot end.
func TestSecondInterruptEndsTheProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), self, "import", "-", "--dir", filepath.Join(t.TempDir(), "data"), "-c", "c")
	cmd.Env = append(os.Environ(), asSheaf+"=1")
	cmd.Stdin = in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("the process ended with %v", err)
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
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

// TestLastLineNamesTheSignal stops servers by signals, as a terminal and a service manager do.
func TestLastLineNamesTheSignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for signal, want := range map[syscall.Signal]string{
		syscall.SIGINT:  "Sheaf stopped (interrupt signal received). All data is on disk.\n",
		syscall.SIGTERM: "Sheaf stopped (terminated signal received). All data is on disk.\n",
	} {
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
				if err := cmd.Process.Signal(signal); err != nil {
					t.Error(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil || !strings.HasSuffix(text.String(), want) {
			t.Errorf("%v: %v\n%s", signal, err, text.String())
		}
	}
}
