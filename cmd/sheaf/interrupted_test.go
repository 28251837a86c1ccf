//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptedImportSaysHowFarItGot interrupts an import whose input does not end. The
// collection must have as many documents as the message says.
func TestInterruptedImportSaysHowFarItGot(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	dir := filepath.Join(t.TempDir(), "data")
	cmd := exec.CommandContext(t.Context(), self, "import", "-", "--dir", dir, "-c", "c")
	cmd.Env = append(os.Environ(), asSheaf+"=1")
	cmd.Stdin = in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	for i := range 4500 {
		if _, err := fmt.Fprintf(out, "{\"_id\":%d,\"text\":%q}\n", i, strings.Repeat("x", 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Fatalf("the process ended with %v", err)
	}
	said := regexp.MustCompile(`^sheaf: -: interrupted \(interrupt signal received\): the (\d+) documents imported so far stay in test\.c; ` +
		`no (record from line (\d+) on went in|further record was read)\n$`).FindStringSubmatch(stderr.String())
	if said == nil {
		t.Fatalf("the process said %q", stderr.String())
	}
	imported, _ := strconv.Atoi(said[1])
	if from, _ := strconv.Atoi(said[3]); from != 0 && from != imported+1 {
		t.Errorf("it said %q", said[0])
	}
	if have := len(stored(t, dir)); have != imported {
		t.Errorf("the collection has %d documents, and it said %q", have, said[0])
	}
}

// cancelWriter is an output that interrupts a command when the command first writes to it.
type cancelWriter struct {
	interrupt context.CancelCauseFunc
	text      strings.Builder
}

func (w *cancelWriter) Write(p []byte) (int, error) {
	w.interrupt(errors.New("a test's signal"))
	return w.text.Write(p)
}

// TestInterruptedExportSaysHowFarItGot interrupts an export to standard output.
func TestInterruptedExportSaysHowFarItGot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	lines := strings.Repeat("{\"text\":\""+strings.Repeat("x", 1000)+"\"}\n", 300)
	if _, stderr, err := sheafCommand(t, "import", writeFile(t, "a.json", lines), "--dir", dir, "-c", "c"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &cancelWriter{interrupt: cancel}
	root := newRoot()
	root.SetArgs([]string{"export", "-", "--dir", dir, "-c", "c"})
	root.SetOut(out)
	root.SetErr(io.Discard)
	err := root.ExecuteContext(ctx)
	want := fmt.Sprintf("interrupted (a test's signal): the output ends after %d of about 300 documents", strings.Count(out.text.String(), "\n"))
	if err == nil || err.Error() != want || !strings.HasSuffix(out.text.String(), "}\n") {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestInterruptedCommandsNameTheSignal: the text for an interrupt says whether the work had begun.
// Other errors keep their text.
func TestInterruptedCommandsNameTheSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	other := errors.New("the disk is full")
	if err := explainInterrupt(ctx, context.Canceled); !errors.Is(err, context.Canceled) ||
		err.Error() != "context canceled" {
		t.Errorf("nobody interrupted it: %v", err)
	}
	cancel(errors.New("hangup signal received"))
	for want, err := range map[string]error{
		"interrupted (hangup signal received): the command is not finished": context.Canceled,
		"interrupted (hangup signal received): drop c: context canceled":    fmt.Errorf("drop c: %w", context.Canceled),
		"the disk is full": other,
	} {
		if got := explainInterrupt(ctx, err); got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	old := writeFile(t, "old.json", "{}\n")
	for path, want := range map[string]string{
		old: "7 of about 9 documents were read, and " + old + " is as it was before",
		filepath.Join(filepath.Dir(old), "new.json"): "7 of about 9 documents were read, and " +
			filepath.Join(filepath.Dir(old), "new.json") + " was not made",
	} {
		if got := leftByExport(path, 7, 9); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, err := interruptible(ctx, strings.NewReader("x")).Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a read after the end: %v", err)
	}
}

// TestDropWaitsForAReadableFile: an import with --drop does not drop the collection if the file
// cannot be read.
func TestDropWaitsForAReadableFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, stderr, err := sheafCommand(t, "import", writeFile(t, "a.json", "{\"_id\":1}\n"),
		"--dir", dir, "-c", "c"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if _, _, err := sheafCommand(t, "import", writeFile(t, "a.csv", "a,a\n1,2\n"), "--dir", dir,
		"-c", "c", "--drop"); err == nil {
		t.Error("a file with a column twice was imported")
	}
	expect(t, stored(t, dir), `{"_id":1}`)
}
