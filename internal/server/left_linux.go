package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// endsWithin reports whether the peer has closed its half of a socket with fewer than n bytes left
// to read. It reads nothing.
func endsWithin(nc net.Conn, n int) bool {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) == 0 {
			return
		}
		left, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ)
		ended = err == nil && left < n
	})
	return err == nil && ended
}
