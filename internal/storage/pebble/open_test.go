package pebble

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
)

func TestReopen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for round := range 4 {
		e, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := e.Counter([]byte("counter")); err != nil || c.Count != int64(round) {
			t.Fatalf("counter %+v in round %d: %v", c, round, err)
		}
		if err := insert(e, uint64(round), storage.Buffered); err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e := open(t, dir, Options{})
	checkInserted(t, e, map[uint64]bool{0: true, 1: true, 2: true, 3: true})
}

func TestLocked(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	e := open(t, dir, Options{})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		link = dir
	}
	for _, name := range []string{dir, dir + "/../store", link} {
		_, err := Open(name, Options{})
		if !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "store") {
			t.Fatalf("opening %s again: %v", name, err)
		}
	}
	if _, err := Open(dir, Options{}); !strings.Contains(err.Error(), "this process has") {
		t.Fatalf("opening twice in a process: %v", err)
	}
	another := func(want string) {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$", "-test.v")
		cmd.Env = append(os.Environ(), crashDirEnv+"="+dir, crashBaseEnv+"=0")
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), storage.ErrLocked.Error()) || !strings.Contains(string(out), dir) ||
			!strings.Contains(string(out), want) {
			t.Fatalf("another process: %s", out)
		}
	}
	another("is open in another process")
	if runtime.GOOS == "linux" {
		another(fmt.Sprintf("(process %d)", os.Getpid()))
	}
	if runtime.GOOS != "windows" {
		// Removing the lock file must not allow a second opening.
		if err := os.Remove(filepath.Join(dir, lockFile)); err != nil {
			t.Fatal(err)
		}
		another("was removed")
		another("was removed")
		if _, err := Open(dir, Options{}); !errors.Is(err, storage.ErrLocked) {
			t.Fatalf("opening again without the lock file: %v", err)
		}
	}
	put(t, e, "a", "1")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	wantValue(t, open(t, dir, Options{}), "a", "1")
}

func TestFormat(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, file, content string
		want                error
		message             string
	}{
		{"newer", formatFile, "sheaf 999\n", storage.ErrFormat, "use a newer Sheaf"},
		{"flipped", formatFile, "sheaf 7\n", storage.ErrFormat, "SHEAF_FORMAT says format 7"},
		{"unknown", formatFile, "what\n", storage.ErrFormat, `"what"`},
		{"empty", formatFile, "", storage.ErrFormat, "SHEAF_FORMAT"},
		{"foreign", "photo.jpg", "x", storage.ErrFormat, "not a Sheaf store"},
		{"foreignLocked", "LOCK", "", nil, ""},
		{"volume", "lost+found", "", nil, ""},
		{"interrupted", formatFile + ".tmp", "she", nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o644); err != nil {
				t.Fatal(err)
			}
			e, err := Open(dir, Options{})
			if err == nil {
				_ = e.Close()
			}
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Fatalf("got %v, want %v with %q", err, c.want, c.message)
			}
			names, _ := os.ReadDir(dir)
			if c.name == "foreign" && len(names) != 1 {
				t.Fatalf("a foreign directory was written to: %v", names)
			}
		})
	}
}

func TestCheckpointOpens(t *testing.T) {
	t.Parallel()
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	e := open(t, dir, Options{})
	for n := range uint64(500) {
		if err := insert(e, n, storage.Buffered); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Checkpoint(copied); err != nil {
		t.Fatal(err)
	}
	put(t, e, "later", "1")
	again := open(t, copied, Options{})
	wantValue(t, again, "later", "")
	checkInserted(t, again, map[uint64]bool{0: true, 499: true})
	if err := e.Checkpoint(copied); err == nil {
		t.Fatal("a checkpoint into an existing directory")
	}
}

func TestCloseReportsLeaks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir, Options{})
	put(t, e, "a", "1")
	s := e.NewSnapshot()
	if err := e.Close(); err == nil || !strings.Contains(err.Error(), "1 snapshots were not closed") {
		t.Fatalf("a leaked snapshot: %v", err)
	}
	_ = s.Close()

	e = open(t, dir, Options{closeGrace: 20 * time.Millisecond})
	put(t, e, "a", "2")
	s = e.NewSnapshot()
	it, err := s.NewIter(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if err := e.Close(); err == nil || !strings.Contains(err.Error(), "1 iterators or borrowed values") {
		t.Fatalf("a leaked iterator: %v", err)
	}
	// The leaked iterator still works. When it is closed, the store is closed.
	if !it.First() || string(it.Key()) != "a" {
		t.Fatal("the iterator was cut off")
	}
	_ = it.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		again, err := Open(dir, Options{})
		if err == nil {
			wantValue(t, again, "a", "2")
			_ = again.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestFootprintChild is the process that TestFootprint measures.
func TestFootprintChild(t *testing.T) {
	dir := os.Getenv("SHEAF_TEST_FOOTPRINT_DIR")
	if dir == "" {
		t.Skip("started by TestFootprint only")
	}
	start := time.Now()
	e, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("openedMicros", time.Since(start).Microseconds())
	put(t, e, "a", "1")
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			fmt.Println("rssKB", fields[1])
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFootprint starts a process that opens an empty store, and checks how much memory it takes.
func TestFootprint(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("reads /proc")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFootprintChild$", "-test.v")
	cmd.Env = append(os.Environ(), "SHEAF_TEST_FOOTPRINT_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	values := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			values[fields[0]], _ = strconv.Atoi(fields[1])
		}
	}
	t.Logf("opened in %d µs, %d KB resident", values["openedMicros"], values["rssKB"])
	if limit := 36 << 10; values["rssKB"] == 0 || values["rssKB"] > limit && !raceEnabled {
		t.Errorf("an idle store takes %d KB, at most %d are wanted", values["rssKB"], limit)
	}
}

// TestPrivate checks the modes of all files of a store, even in a directory that was open to
// others, and with any umask.
func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	copied := filepath.Join(t.TempDir(), "copies", "copy")
	check := func() {
		t.Helper()
		for _, root := range []string{dir, filepath.Dir(copied)} {
			if err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := entry.Info()
				if errors.Is(err, os.ErrNotExist) {
					return nil // a compaction has removed the file meanwhile
				}
				want := os.FileMode(privateFile)
				if entry.IsDir() {
					want = privateDir
				}
				if err == nil && info.Mode().Perm() != want {
					t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	e := open(t, dir, Options{MemoryBudget: 8 << 20})
	for n := range uint64(2000) {
		if err := insert(e, n, storage.Buffered); err != nil {
			t.Fatal(err)
		}
		if n%500 == 0 {
			if err := e.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.Checkpoint(copied); err != nil {
		t.Fatal(err)
	}
	check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	// The files get the modes with which an earlier version created them.
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Chmod(filepath.Join(dir, name.Name()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
	check()
}

// TestCheckpointAfterOpen copies a store that was closed and opened again, before anything is
// written to it.
func TestCheckpointAfterOpen(t *testing.T) {
	t.Parallel()
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	e := open(t, dir, Options{})
	put(t, e, "a", "1")
	if err := errors.Join(e.db.Flush(), e.Close()); err != nil {
		t.Fatal(err)
	}
	// Without a log to replay, opening writes no manifest.
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, log := range logs {
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
	e = open(t, dir, Options{})
	if err := e.Checkpoint(copied); err != nil {
		t.Fatal(err)
	}
	wantValue(t, open(t, copied, Options{}), "a", "1")
}
