package pebble

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// replayedLog is a log that Pebble replays while the store is opened. It ends after the last
// complete record that scanLog found.
//
// Pebble alone would read too far. It skips up to 18 zeros at the end of a block, which a newer
// format of its log writes there, and then the rest of a record whose start it did not find. In the
// format of this package, a loss of power can leave the same zeros in place of a small first chunk.
// Then this record would be missing, but the following records would be replayed.
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

// replayed returns the part of the file that Pebble may read, if the file is a log to replay.
func (fs *diskFS) replayed(name string, file vfs.File) vfs.File {
	if fs.guard.open.Load() || fs.kind(name) != logFile {
		return file
	}
	if end, ok := fs.logEnds[fs.PathBase(name)]; ok {
		return &replayedLog{File: file, rest: end}
	}
	return file
}
