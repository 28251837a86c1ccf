package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

func TestLogFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sheaf.log")
	at := clock.Fixed(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	l, err := openLogFile(path, rotateByRename, at)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write := func(text string) {
		t.Helper()
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(path, want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q: %v", path, got, err)
		}
	}
	write("one")
	if err := l.rotate(); err != nil {
		t.Fatal(err)
	}
	write("two")
	holds(path+".2026-03-04T05-06-07", "one")
	holds(path, "two")
	if err := l.rotate(); err == nil {
		t.Error("a log was overwritten")
	}
	write("three")
	holds(path, "twothree")

	l.reopen = true
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := l.rotate(); err != nil {
		t.Fatal(err)
	}
	write("four")
	holds(path+".moved", "twothree")
	holds(path, "four")
	if _, err := openLogFile(path, "copy", at); err == nil {
		t.Error("--log-rotate copy")
	}
}
