//go:build unix

package main

import "syscall"

// ownerOnly gives a Unix socket its mode before it has a name in the file system, so that no other user can connect in
// between. Linux takes the mode of the descriptor; elsewhere the call may do nothing, and the mode is set after listening.
func ownerOnly(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), socketMode) })
}
