package load

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fineTimer is a timer of the kernel. It wakes the runtime's poller with a precision of some
// microseconds.
type fineTimer struct{ file *os.File }

// newFineTimer returns a fine timer, or nil if the kernel has none.
func newFineTimer() *fineTimer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return &fineTimer{os.NewFile(uintptr(fd), "timer")}
}

// wait waits for d, which must be more than zero.
func (t *fineTimer) wait(d time.Duration) error {
	conn, err := t.file.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	if err := conn.Control(func(fd uintptr) {
		set = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}, nil)
	}); err != nil {
		return err
	}
	if set != nil {
		return set
	}
	var times [8]byte
	_, err = t.file.Read(times[:])
	return err
}

func (t *fineTimer) close() { _ = t.file.Close() } // no data was written to the file
