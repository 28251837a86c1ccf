package pebble

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// twoTables makes a store with two tables of the same size but with different keys, and closes it.
func twoTables(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewMem()
	e, err := Open("store", Options{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"old", "new"} {
		for n := range 100 {
			put(t, e, fmt.Sprintf("%s%03d", prefix, n), prefix)
		}
		if err := e.(*Engine).db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return disk
}

func sstFiles(t *testing.T, disk vfs.FS) (names []string) {
	t.Helper()
	list, err := disk.List("store")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if strings.HasSuffix(name, ".sst") {
			names = append(names, "store/"+name)
		}
	}
	return names
}

// TestExchangedTables exchanges the names of two tables of the same size. Their checksums are
// right, but their keys are not.
func TestExchangedTables(t *testing.T) {
	t.Parallel()
	disk := twoTables(t)
	names := sstFiles(t, disk)
	if len(names) != 2 {
		t.Fatalf("tables: %v", names)
	}
	a, b := readFile(t, disk, names[0]), readFile(t, disk, names[1])
	if len(a) != len(b) {
		t.Fatalf("the tables have %d and %d bytes", len(a), len(b))
	}
	writeFile(t, disk, names[0], b)
	writeFile(t, disk, names[1], a)
	e := open(t, "store", Options{FS: disk})
	for n := range 100 {
		_, closer, err := e.Get(fmt.Appendf(nil, "new%03d", n))
		if err == nil {
			_ = closer.Close()
			t.Fatal("a table answered for another")
		}
		checkCorrupt(t, err, ".sst")
	}
}

// TestRemains opens directories that have only some small files of a store with data, with and
// without the format file.
func TestRemains(t *testing.T) {
	t.Parallel()
	whole := twoTables(t)
	e, err := Open("store", Options{FS: whole})
	if err != nil {
		t.Fatal(err)
	}
	put(t, e, "more", "1")
	files := map[string][]byte{}
	for _, name := range []string{sealFile, syncPointsFile, tableIDsFile, formatFile} {
		files[name] = readFile(t, whole, "store/"+name)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{
		{formatFile},
		{sealFile},
		{syncPointsFile},
		{tableIDsFile},
		{sealFile, formatFile},
		{syncPointsFile, formatFile},
		{tableIDsFile, formatFile},
		{tableIDsFile, syncPointsFile},
		{tableIDsFile, syncPointsFile, formatFile},
	} {
		disk := vfs.NewMem()
		if err := disk.MkdirAll("store", 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			writeFile(t, disk, "store/"+name, files[name])
		}
		e, err := Open("store", Options{FS: disk})
		if err == nil {
			t.Errorf("%v: opened as an empty store", names)
			_ = e.Close()
		} else if !errors.Is(err, storage.ErrCorrupt) {
			t.Errorf("%v: %v", names, err)
		}
	}
}

// TestUnsealed opens stores without a seal, because the format is older or the seal was lost. A
// manifest that knows all tables is accepted. If there are more tables, records of the manifest may
// be missing.
func TestUnsealed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, format string
		orphan       bool
		want         string
	}{
		{"old", "sheaf 1\n", false, ""},
		{"oldWithOrphan", "sheaf 1\n", true, "does not know the tables 999999.sst"},
		{"lost", fmt.Sprintf("sheaf %d\n", formatVersion), false, ""},
		{"lostWithOrphan", fmt.Sprintf("sheaf %d\n", formatVersion), true, sealFile + " is missing or damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			disk := twoTables(t)
			writeFile(t, disk, "store/"+formatFile, []byte(c.format))
			if err := disk.Remove("store/" + sealFile); err != nil {
				t.Fatal(err)
			}
			if c.orphan {
				writeFile(t, disk, "store/999999.sst", readFile(t, disk, sstFiles(t, disk)[0]))
			}
			before := diskContents(t, disk)
			e, err := Open("store", Options{FS: disk})
			if c.want != "" {
				if !errors.Is(err, storage.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				if !maps.Equal(before, diskContents(t, disk)) {
					t.Error("a refused store was changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantValue(t, e, "new007", "new")
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if got := string(readFile(t, disk, "store/"+formatFile)); got != fmt.Sprintf("sheaf %d\n", formatVersion) {
				t.Errorf("the format is %q", got)
			}
			if seals, intact, _, err := readSeals(disk, "store"); err != nil || !intact || len(seals) == 0 {
				t.Errorf("seals %v, intact %v: %v", seals, intact, err)
			}
		})
	}
}

// TestOrphans leaves a table that no manifest knows, like an interrupted flush. It must be removed
// when the manifest is proven complete.
func TestOrphans(t *testing.T) {
	t.Parallel()
	disk := twoTables(t)
	writeFile(t, disk, "store/999999.sst", readFile(t, disk, sstFiles(t, disk)[0]))
	e := open(t, "store", Options{FS: disk})
	wantValue(t, e, "new007", "new")
	e.db.TestOnlyWaitForCleaning()
	if _, err := disk.Stat("store/999999.sst"); err == nil {
		t.Error("the table of an interrupted flush is still there")
	}
}

func diskContents(t *testing.T, disk vfs.FS) map[string]string {
	t.Helper()
	names, err := disk.List("store")
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, name := range names {
		if name != "LOCK" {
			contents[name] = string(readFile(t, disk, "store/"+name))
		}
	}
	return contents
}
