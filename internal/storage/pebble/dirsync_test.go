package pebble

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// meetingFS makes two syncs of a directory run at the same time, as a flush and a compaction may.
type meetingFS struct {
	vfs.FS
	meeting *sync.WaitGroup
}

// OpenDir implements vfs.FS.
func (fs meetingFS) OpenDir(name string) (vfs.File, error) {
	file, err := fs.FS.OpenDir(name)
	return meetingDir{file, fs.meeting}, err
}

// Unwrap implements vfs.FS.
func (fs meetingFS) Unwrap() vfs.FS { return fs.FS }

type meetingDir struct {
	vfs.File
	meeting *sync.WaitGroup
}

// Sync implements vfs.File.
func (d meetingDir) Sync() error {
	d.meeting.Done()
	d.meeting.Wait()
	return d.File.Sync()
}

// TestDirectorySyncsMeet syncs the store's directory twice at the same time through one handle, as
// a flush and a compaction of Pebble do. The race detector finds errors.
func TestDirectorySyncsMeet(t *testing.T) {
	t.Parallel()
	e := open(t, "store", Options{FS: vfs.NewMem()})
	var meeting, done sync.WaitGroup
	dir, err := (&diskFS{FS: meetingFS{e.fs.FS, &meeting}, guard: e.guard, dir: e.dir}).OpenDir(e.dir)
	if err != nil {
		t.Fatal(err)
	}
	meeting.Add(2)
	for range 2 {
		done.Go(func() {
			if err := dir.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}
