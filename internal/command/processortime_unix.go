//go:build unix

package command

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of the processor, in its own code and in the system's.
func processorTime() (user, system time.Duration, ok bool) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0, 0, false
	}
	return time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano()), true
}
