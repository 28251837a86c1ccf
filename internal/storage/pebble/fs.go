package pebble

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
)

// fileKind says how diskFS treats a file.
type fileKind uint8

const (
	// dataFile is a table or any other file whose writes may fail: Pebble tries again.
	dataFile fileKind = iota
	// logFile is a WAL file.
	logFile
	// metaFile is the manifest or a file that belongs to it. Pebble gives up if it cannot write
	// such a file.
	metaFile
)

// retryDelay keeps Pebble from retrying a failing flush in a busy loop.
const retryDelay = 100 * time.Millisecond

// pause sleeps in the computer's time. It comes between two attempts to use the disk, or between
// two looks at the progress of another goroutine. Neither follows the clock of the engine.
func pause(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // see the comment
}

// diskFS is the file system that Pebble sees. See the package comment.
type diskFS struct {
	vfs.FS
	guard *guard
	dir   string
	stall time.Duration
	clock clock.Clock
	// seals writes the seals of the manifest. It is set when the store is opened.
	seals *sealer
	// tables are the tables that existed when the store was opened. They are checked when they are
	// first read.
	tables tableChecks
	// tableIDs has the ids of the tables. It is nil until the store is opened.
	tableIDs *tableIDs
	// logEnds are the ends of the logs that Pebble replays, by file name.
	logEnds map[string]int64
	// points writes the sync points of the logs. It is nil until the logs were checked.
	points *syncPoints
	// unsynced is the list of unsynced commits of the engine. An fsync of the WAL empties it.
	unsynced *unsynced
	// order is the Order of the engine. An fsync of the WAL makes stamps safe in it.
	order *storage.Order
}

// kind tells how to treat a file. Only the store's own directory has special files. Pebble syncs a
// checkpoint in another directory itself.
func (fs *diskFS) kind(name string) fileKind {
	if filepath.Dir(name) != fs.dir {
		return dataFile
	}
	base := fs.PathBase(name)
	switch {
	case strings.HasSuffix(base, ".log"):
		return logFile
	case strings.HasPrefix(base, "MANIFEST-"), strings.HasPrefix(base, "OPTIONS-"), strings.HasPrefix(base, "marker."),
		strings.HasPrefix(base, "temporary."), strings.HasSuffix(base, ".dbtmp"):
		return metaFile
	default:
		return dataFile
	}
}

// compactionWrites is Pebble's mark for the tables of compactions.
const compactionWrites vfs.DiskWriteCategory = "pebble-compaction"

// errOpening stops compactions while the store is being opened. Pebble starts one as soon as its
// first flush ends. On a full disk the compaction would take the space of the next flush, and its
// failed writes would end the opening. Pebble tries the compaction again later.
var errOpening = errors.New("storage: no compaction before the store is open")

// Create implements vfs.FS.
func (fs *diskFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == compactionWrites && !fs.guard.open.Load() {
		pause(waitStep)
		return nil, errOpening
	}
	kind := fs.kind(name)
	if kind == metaFile && strings.HasPrefix(fs.PathBase(name), "marker.") {
		// A file that a marker names must survive a loss of power if the marker survives it.
		if err := fs.essentialOnce(func() error { return syncDirectory(fs.FS, fs.dir) }); err != nil {
			return nil, err
		}
	}
	file, err := fs.open(kind, name, func() (vfs.File, error) { return fs.FS.Create(name, category) })
	inner, ok := file.(*diskFile)
	if err != nil || !ok || kind != metaFile {
		return file, err
	}
	var number uint64
	if n, _ := fmt.Sscanf(fs.PathBase(name), "MANIFEST-%d", &number); n == 1 {
		return &manifestFile{diskFile: inner, number: number}, nil
	}
	return file, nil
}

// ReuseForWrite implements vfs.FS.
func (fs *diskFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	fs.forget(oldname)
	return fs.open(fs.kind(newname), newname, func() (vfs.File, error) {
		return fs.FS.ReuseForWrite(oldname, newname, category)
	})
}

// open creates a file for writing. If the store is frozen, or if an essential file cannot be
// created, it returns a file that drops its writes.
func (fs *diskFS) open(kind fileKind, name string, make func() (vfs.File, error)) (vfs.File, error) {
	if err := fs.guard.failure(); err != nil {
		// While the store is opened or closed, flushes must end, even if their writes are dropped.
		if kind == dataFile && fs.guard.open.Load() && !fs.guard.closing.Load() {
			pause(retryDelay)
			return nil, err
		}
		return nullFile{}, nil
	}
	var file vfs.File
	err := fs.retry(kind, func() error {
		var err error
		file, err = make()
		return err
	})
	switch {
	case err == nil:
		return &diskFile{File: file, fs: fs, kind: kind, name: fs.PathBase(name), path: name}, nil
	case kind != dataFile || fs.giveUp(err):
		fs.guard.fail(err)
		return nullFile{}, nil
	}
	pause(retryDelay)
	return nil, err
}

// giveUp freezes a store that is being opened, or closed while its flushes fail. Otherwise Pebble
// would try to write the table for ever. giveUp reports whether it froze the store.
func (fs *diskFS) giveUp(err error) bool {
	g := fs.guard
	if err == nil || g.open.Load() && (!g.closing.Load() || g.flushErrors.Load() < maxFlushErrors) {
		return false
	}
	g.fail(err)
	return true
}

// retry runs an operation. If the disk of an open store is full, retry repeats an operation on a
// WAL file or the manifest until there is space or the store is closed. New commits are refused
// meanwhile. retry does not repeat operations on tables, because Pebble repeats them.
func (fs *diskFS) retry(kind fileKind, do func() error) error {
	err := do()
	if err == nil || !isNoSpace(err) {
		return err
	}
	space := &fs.guard.space
	space.missed()
	if kind == dataFile || !fs.guard.open.Load() {
		return err
	}
	fs.guard.log.Error("storage: no space left on the disk, writes wait for it", "error", err)
	space.waiting.Add(1)
	defer space.waiting.Add(-1)
	begin := fs.clock.Now()
	for !fs.guard.closing.Load() && (fs.stall == 0 || clock.Since(fs.clock, begin) < fs.stall) {
		pause(waitStep)
		if err = do(); err == nil || !isNoSpace(err) {
			fs.guard.log.Warn("storage: writes continue", "waited", clock.Since(fs.clock, begin))
			return err
		}
	}
	return err
}

// essential runs an operation whose failure Pebble cannot handle. If the operation fails, essential
// freezes the store. In a frozen store it does nothing.
func (fs *diskFS) essential(kind fileKind, do func() error) error {
	if fs.guard.failure() != nil {
		return nil
	}
	if err := fs.retry(kind, do); err != nil {
		fs.guard.fail(err)
	}
	return nil
}

// essentialOnce does the same as essential for a sync, but does not repeat a failed sync: it is
// unknown what is on the disk, and the next sync may succeed without having written it.
func (fs *diskFS) essentialOnce(do func() error) error {
	if fs.guard.failure() != nil {
		return nil
	}
	if err := do(); err != nil {
		fs.guard.fail(err)
	}
	return nil
}

// forget drops the sync point of a log that is no longer needed.
func (fs *diskFS) forget(name string) {
	if fs.points != nil && fs.kind(name) == logFile {
		fs.points.forget(fs.PathBase(name))
	}
}

// Remove implements vfs.FS.
func (fs *diskFS) Remove(name string) error {
	if fs.guard.failure() != nil {
		return nil
	}
	fs.forget(name)
	if number, ok := tableNumber(fs.PathBase(name)); ok && filepath.Dir(name) == fs.dir {
		fs.tableIDs.forget(number)
	}
	return fs.FS.Remove(name)
}

// RemoveAll implements vfs.FS.
func (fs *diskFS) RemoveAll(name string) error {
	if fs.guard.failure() != nil {
		return nil
	}
	return fs.FS.RemoveAll(name)
}

// Rename implements vfs.FS.
func (fs *diskFS) Rename(oldname, newname string) error {
	if kind := fs.kind(newname); kind != dataFile {
		return fs.essential(kind, func() error { return fs.FS.Rename(oldname, newname) })
	}
	if err := fs.guard.failure(); err != nil {
		return err
	}
	return fs.FS.Rename(oldname, newname)
}

// Link implements vfs.FS.
func (fs *diskFS) Link(oldname, newname string) error {
	if err := fs.guard.failure(); err != nil {
		return err
	}
	if err := fs.FS.Link(oldname, newname); err != nil {
		return err
	}
	fs.learnTable(newname) // an ingested table
	return nil
}

// OpenDir implements vfs.FS.
func (fs *diskFS) OpenDir(name string) (vfs.File, error) {
	file, err := fs.FS.OpenDir(name)
	if err != nil || fs.PathBase(name) != fs.PathBase(fs.dir) {
		return file, err
	}
	return &diskFile{File: file, fs: fs, kind: metaFile}, nil
}

// Unwrap implements vfs.FS.
func (fs *diskFS) Unwrap() vfs.FS { return fs.FS }
