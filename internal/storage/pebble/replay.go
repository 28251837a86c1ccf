package pebble

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// replayedLog is a log that Pebble replays while the store is opened. It ends after the last whole
// record that scanLog found.
//
// Pebble alone would read too far. It passes over up to 18 zeros at the end of a block, which a
// newer format of its log leaves there, and then over the rest of a record whose start it did not
// find. In this package's format a loss of power leaves the same zeros where a small first chunk
// was lost: the record would be missing, and the ones after it would be there.
type replayedLog struct {
	vfs.File
	rest int64
}

// Read implements vfs.File.
func (f *replayedLog) Read(p []byte) (int, error) {
	if f.rest == 0 {
		return 0, io.EOF
	}
	n, err := f.File.Read(p[:min(int64(len(p)), f.rest)])
	f.rest -= int64(n)
	return n, err
}

// replayed returns the file as Pebble may read it, if it is a log to replay.
func (fs *diskFS) replayed(name string, file vfs.File) vfs.File {
	if fs.guard.open.Load() || fs.kind(name) != logFile {
		return file
	}
	if end, ok := fs.logEnds[fs.PathBase(name)]; ok {
		return &replayedLog{File: file, rest: end}
	}
	return file
}
