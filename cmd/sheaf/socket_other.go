//go:build !unix

package main

import "syscall"

// ownerOnly does nothing, because sockets have no modes on this system.
func ownerOnly(string, string, syscall.RawConn) error { return nil }
