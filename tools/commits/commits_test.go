package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	const body = "\n\nIt was wrong, and is right now.\n"
	longest := "server: " + strings.Repeat("x", maxLine-len("server: "))
	for message, want := range map[string]string{
		"server: what" + body:                "",
		"storage/pebble, table: what" + body: "",
		longest + body:                       "",
		longest + "x" + body:                 "73 characters",
		"server: " + strings.Repeat("é", maxLine-len("server: ")) + body: "",
		"what" + body:                    "form",
		"Fix the server: what" + body:    "form",
		"server:what" + body:             "form",
		"server: what." + body:           "period",
		"server: what\n":                 "no body",
		"server: what":                   "no body",
		"server: what\nmore\nand more\n": "no empty line",
		"server: what\n\n" + strings.Repeat("word ", 14) + "12\n":               "",
		"server: what\n\n" + strings.Repeat("word ", 14) + "123\n":              "73 characters",
		"server: what\n\nhttps://example.org/" + strings.Repeat("x", maxLine):   "",
		"server: what\n\n    " + strings.Repeat("code ", maxLine/5) + " here\n": "",
	} {
		got := strings.Join(faults(message), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// repository creates a git repository with an empty commit for each message.
func repository(t *testing.T, messages ...string) history {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	h := history{t.TempDir()}
	run(t, h, "init", "-q")
	for _, message := range messages {
		run(t, h, "-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-q", "--allow-empty", "-m", message)
	}
	return h
}

func run(t *testing.T, h history, args ...string) string {
	t.Helper()
	out, err := h.git(args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	h := repository(t, "old and wrong", "last of the old", "a: good\n\nBody.", "bad", "b: good\n\nBody.")
	last := run(t, h, "rev-parse", "HEAD~3")
	wrong, err := h.check(last)
	if err != nil || len(wrong) != 2 || !strings.HasSuffix(wrong[0], ": bad") {
		t.Errorf("%q, %v", wrong, err)
	}
	if wrong, err := h.check("HEAD"); err != nil || len(wrong) != 0 {
		t.Errorf("no commits: %q, %v", wrong, err)
	}
}

// TestCheckWithoutHistory: of a shallow clone, the newest message is checked. A folder outside of
// any repository is an error. In a subfolder of a repository, the commits are checked.
func TestCheckWithoutHistory(t *testing.T) {
	t.Parallel()
	h := repository(t, "first", "second", "third")
	first := run(t, h, "rev-parse", "HEAD~2")
	shallow := history{filepath.Join(t.TempDir(), "clone")}
	run(t, h, "clone", "-q", "--depth", "1", "file://"+h.dir, shallow.dir)
	none := history{filepath.Join(t.TempDir(), "none")}
	if err := os.Mkdir(filepath.Join(h.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if wrong, err := shallow.check(first); err != nil || len(wrong) != 2 {
		t.Errorf("shallow: %q, %v", wrong, err) // "third" has neither the form nor a body
	}
	if wrong, err := none.check(first); !errors.Is(err, errNoRepository) || wrong != nil {
		t.Errorf("none: %q, %v", wrong, err)
	}
	if _, err := (history{filepath.Join(h.dir, "sub")}).check(first); err != nil {
		t.Error(err)
	}
}
