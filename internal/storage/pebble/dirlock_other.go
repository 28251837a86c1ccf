//go:build !unix || aix || solaris

package pebble

import "io"

// flockDirectory does nothing: the file LOCK cannot be removed while it is open, or the system has
// no such locks.
func flockDirectory(string) (io.Closer, error) { return nopLock{}, nil }

// lockHolder returns 0, because this system does not tell which process has locked the file LOCK.
func lockHolder(string) int { return 0 }
