//go:build unix

package main

import "syscall"

// ownerOnly sets the mode of a Unix socket before it has a name in the file system, so no other
// user can connect in between. Linux uses the mode of the descriptor. On other systems the call may
// have no effect, and the mode is set after listening.
func ownerOnly(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), socketMode) })
}
