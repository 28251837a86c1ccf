package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a pseudo terminal: the screen that a person sees, and the
// device tty to which a program writes.
func openTerminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// onTerminal runs sheaf with standard error on a terminal, and returns the output. Whenever output
// arrives, it calls seen with all output so far.
func onTerminal(t *testing.T, stdin io.Reader, seen func(text string, p *os.Process), args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	screen, tty := openTerminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asSheaf+"=1")
	cmd.Stdin, cmd.Stderr = stdin, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	var text strings.Builder
	for buf := make([]byte, 4<<10); ; {
		n, err := screen.Read(buf)
		if err != nil {
			break // sheaf has closed its end
		}
		text.Write(buf[:n])
		seen(text.String(), cmd.Process)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %v\n%s", args, err, text.String())
	}
	return text.String()
}

// TestLogOnATerminal: the log on a terminal is text, unless a flag selects another format or a
// file.
func TestLogOnATerminal(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	for _, test := range []struct {
		args       []string
		text, json bool
	}{
		{nil, true, false},
		{[]string{"--log-format", "json"}, false, true},
		{[]string{"--log-file", file}, false, false},
	} {
		stopped := false
		stop := func(text string, p *os.Process) {
			if !stopped && strings.Contains(text, "Stop with Ctrl-C") {
				stopped = true
				if err := p.Signal(os.Interrupt); err != nil {
					t.Error(err)
				}
			}
		}
		out := onTerminal(t, nil, stop, append([]string{"serve", "--memory", "--port", "0"}, test.args...)...)
		if strings.Contains(out, "level=INFO") != test.text || strings.Contains(out, `{"t":{"$date"`) != test.json {
			t.Errorf("%v: %s", test.args, out)
		}
	}
	if log, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(log), `{"t":{"$date"`) {
		t.Errorf("the file: %v, %s", err, log)
	}
}

// TestImportShowsProgressOnATerminal imports until progress is shown, in bytes and in documents.
func TestImportShowsProgressOnATerminal(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	go func() {
		for {
			if _, err := fmt.Fprintf(out, "{\"a\": %q}\n", strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	}()
	done := func(text string, _ *os.Process) {
		if strings.Contains(text, "B/s") && strings.Contains(text, " documents") {
			_ = out.Close()
		}
	}
	text := onTerminal(t, in, done, "import", "-", "--dir", filepath.Join(t.TempDir(), "data"), "-c", "c")
	// No import reads gigabytes a second. A greater rate would only measure how fast a buffer was
	// filled.
	if !strings.Contains(text, "B/s") || strings.Contains(text, "it/s") || strings.Contains(text, "GB/s") {
		t.Errorf("the terminal shows %q", text)
	}
}

// TestQuietImportShowsNoProgress imports with --quiet. There are enough documents for a progress
// bar, but no bar may appear.
func TestQuietImportShowsNoProgress(t *testing.T) {
	t.Parallel()
	lines := strings.NewReader(strings.Repeat("{\"a\": 1}\n", 1000))
	text := onTerminal(t, lines, func(string, *os.Process) {}, "import", "-", "--quiet", "--dir",
		filepath.Join(t.TempDir(), "data"), "-c", "c")
	if text != "" {
		t.Errorf("the terminal shows %q", text)
	}
}
