//go:build unix && !aix && !solaris

package pebble

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// flockDirectory locks a directory itself. If the file system cannot do that, only the file LOCK is
// locked.
func flockDirectory(dir string) (io.Closer, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return flock{d}, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(errHeld, d.Close())
	}
	return nopLock{}, d.Close()
}

// flock is a locked directory.
type flock struct{ dir *os.File }

// Close unlocks the directory explicitly. Closing alone is not enough: a child process shares the
// open file from its fork to its exec, and the lock would last until the child closes it.
func (l flock) Close() error {
	return errors.Join(syscall.Flock(int(l.dir.Fd()), syscall.LOCK_UN), l.dir.Close())
}

// lockHolder returns the id of the process that has locked the file LOCK, or 0 if it is unknown.
func lockHolder(dir string) int {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	spec := syscall.Flock_t{Type: syscall.F_RDLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &spec); err != nil || spec.Type == syscall.F_UNLCK {
		return 0
	}
	return int(spec.Pid)
}
