package pebble

import (
	"io"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// diskFile is a file, or the store's directory, that was opened for writing.
type diskFile struct {
	vfs.File
	fs   *diskFS
	kind fileKind
	name string
	path string
	// written is the number of bytes written to a WAL file. Only one goroutine at a time uses a WAL
	// file: the log flusher, and after its end the code that closes the log. Other files may be
	// synced concurrently, so written and dirty are not used for them.
	written int64
	// dirty means that some bytes of a WAL file are not synced.
	dirty bool
}

// Write implements vfs.File.
func (f *diskFile) Write(p []byte) (int, error) {
	if f.kind == dataFile {
		return f.writeData(p)
	}
	rest := p
	err := f.fs.essential(f.kind, func() error {
		for len(rest) > 0 {
			n, err := f.File.Write(rest)
			rest = rest[n:]
			if err != nil {
				return err
			}
		}
		return nil
	})
	if f.kind == logFile {
		f.written, f.dirty = f.written+int64(len(p)-len(rest)), true
	}
	if err != nil {
		return len(p) - len(rest), err
	}
	f.fs.guard.space.written(len(p))
	return len(p), nil
}

func (f *diskFile) writeData(p []byte) (int, error) {
	if err := f.fs.guard.failure(); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	if isNoSpace(err) {
		f.fs.guard.space.missed()
		pause(retryDelay)
	}
	f.fs.giveUp(err)
	f.fs.guard.space.written(n)
	return n, err
}

// Sync implements vfs.File.
func (f *diskFile) Sync() error { return f.sync(f.File.Sync) }

// SyncData implements vfs.File.
func (f *diskFile) SyncData() error { return f.sync(f.File.SyncData) }

// SyncTo implements vfs.File. It starts to write and promises nothing unless it did a full sync.
func (f *diskFile) SyncTo(length int64) (fullSync bool, err error) {
	if f.kind == logFile {
		return false, nil
	}
	return f.File.SyncTo(length)
}

// sync syncs the file. It syncs a WAL file only if a durable commit waits.
func (f *diskFile) sync(do func() error) error {
	if f.kind == logFile && f.fs.guard.durable.Load() == 0 {
		return nil
	}
	return f.syncNow(do)
}

func (f *diskFile) syncNow(do func() error) error {
	f.fs.guard.fsyncs.Add(1)
	if f.kind == dataFile {
		err := do()
		f.fs.giveUp(err)
		return err
	}
	if f.kind == metaFile {
		return f.fs.essentialOnce(do)
	}
	f.dirty = false
	f.fs.unsynced.begin()
	if err := f.fs.essentialOnce(do); err != nil {
		return err
	}
	if err := f.advance(); err != nil || f.fs.guard.failure() != nil {
		return err
	}
	f.fs.unsynced.end(f.fs.order)
	return nil
}

// advance records how far the file is synced. A log without records needs no sync point, because
// its loss would not matter.
func (f *diskFile) advance() error {
	if f.fs.points == nil || f.written <= logHeader {
		return nil
	}
	return f.fs.essential(f.kind, func() error { return f.fs.points.advance(f.name, f.written) })
}

// Close implements vfs.File. It makes a WAL file durable first.
func (f *diskFile) Close() error {
	switch f.kind {
	case dataFile:
		err := f.File.Close()
		f.fs.giveUp(err)
		if err == nil {
			f.fs.learnTable(f.path)
		}
		return err
	case logFile:
		if f.dirty {
			_ = f.syncNow(f.File.SyncData) // freezes the store if it fails
		}
	case metaFile:
	}
	if err := f.File.Close(); err != nil {
		f.fs.guard.fail(err)
	}
	return nil
}

// Stat implements vfs.File. Pebble asks for the size of a WAL file that it reuses, and cannot
// handle an error.
func (f *diskFile) Stat() (info vfs.FileInfo, err error) {
	if f.kind != logFile {
		return f.File.Stat()
	}
	err = f.fs.essentialOnce(func() error {
		info, err = f.File.Stat()
		return err
	})
	if info == nil {
		return nullFile{}.Stat()
	}
	return info, err
}

// nullFile takes the writes of a frozen store and drops them.
type nullFile struct{}

func (nullFile) Close() error                              { return nil }
func (nullFile) Read([]byte) (int, error)                  { return 0, io.EOF }
func (nullFile) ReadAt([]byte, int64) (int, error)         { return 0, io.EOF }
func (nullFile) Write(p []byte) (int, error)               { return len(p), nil }
func (nullFile) WriteAt(p []byte, _ int64) (int, error)    { return len(p), nil }
func (nullFile) Preallocate(int64, int64) error            { return nil }
func (nullFile) Stat() (vfs.FileInfo, error)               { return nullInfo{}, nil }
func (nullFile) Sync() error                               { return nil }
func (nullFile) SyncTo(int64) (fullSync bool, err error)   { return false, nil }
func (nullFile) SyncData() error                           { return nil }
func (nullFile) Prefetch(offset int64, length int64) error { return nil }
func (nullFile) Fd() uintptr                               { return vfs.InvalidFd }

var _ vfs.File = nullFile{}

// nullInfo describes a nullFile.
type nullInfo struct{}

func (nullInfo) Name() string           { return "" }
func (nullInfo) Size() int64            { return 0 }
func (nullInfo) Mode() os.FileMode      { return 0 }
func (nullInfo) ModTime() time.Time     { return time.Time{} }
func (nullInfo) IsDir() bool            { return false }
func (nullInfo) Sys() any               { return nil }
func (nullInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
