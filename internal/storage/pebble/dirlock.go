package pebble

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

const lockFile = "LOCK"

// errHeld means that a directory is locked already.
var errHeld = errors.New("the directory is locked")

// dirLock prevents that a store is opened twice. The lock of the file LOCK is not enough: if
// someone removes the file, another process can create a new one and lock that. So the directory is
// locked, too, if the system can do that.
type dirLock struct {
	file *pebble.Lock
	dir  io.Closer
}

// Close releases the locks.
func (l *dirLock) Close() error { return errors.Join(l.file.Close(), l.dir.Close()) }

// nopLock is the lock of a directory in memory.
type nopLock struct{}

func (nopLock) Close() error { return nil }

// lockDirectory locks a directory and its file LOCK, so that no other engine can open the store. It
// returns storage.ErrLocked if the store is open.
func lockDirectory(fs vfs.FS, dir string) (*dirLock, error) {
	path := fs.PathJoin(dir, lockFile)
	if info, err := fs.Stat(path); err == nil && info.Size() > 0 {
		// Locking would truncate the file.
		return nil, fmt.Errorf("%w: file %s must be empty; remove it if it does not belong to the store",
			storage.ErrCorrupt, path)
	}
	file, err := pebble.LockDirectory(dir, fs)
	if err != nil {
		return nil, lockError(dir, err)
	}
	l := &dirLock{file: file, dir: nopLock{}}
	if vfs.Root(fs) == vfs.Default {
		if l.dir, err = flockDirectory(dir); err != nil {
			return nil, errors.Join(lockError(dir, err), file.Close())
		}
	}
	return l, nil
}

// lockError explains why a directory cannot be locked.
func lockError(dir string, err error) error {
	switch {
	case errors.Is(err, iofs.ErrPermission), errors.Is(err, syscall.EROFS), isNoSpace(err):
		return fmt.Errorf("storage/pebble: cannot lock %s: %w", dir, err)
	case strings.Contains(err.Error(), "held by current process"):
		return fmt.Errorf("%w: this process has %s open already; use that database, or close it first", storage.ErrLocked, dir)
	case errors.Is(err, errHeld):
		return fmt.Errorf("%w: %s is open already, and its file %s was removed; stop the other process or name another directory",
			storage.ErrLocked, dir, lockFile)
	}
	// lockHolder opens and closes the file LOCK. If this process had locked the file, closing it
	// would release the lock. The cases above exclude that.
	holder := ""
	if pid := lockHolder(dir); pid > 0 {
		holder = fmt.Sprintf(" (process %d)", pid)
	}
	return fmt.Errorf("%w: %s is open in another process%s; stop it or name another directory (%w)", storage.ErrLocked, dir, holder, err)
}
