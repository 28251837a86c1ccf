//go:build unix

package admin

import (
	"runtime"
	"syscall"
	"time"
)

// processResources returns the resource usage of the process, from getrusage.
func processResources() (resources, bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return resources{}, false
	}
	resident := int64(u.Maxrss)
	if runtime.GOOS == "darwin" {
		resident >>= 10 // macOS reports bytes
	}
	return resources{
		user: time.Duration(u.Utime.Nano()), system: time.Duration(u.Stime.Nano()), maxResidentKB: resident,
		pageFaults: int64(u.Majflt), pageReclaims: int64(u.Minflt),
		blocksIn: int64(u.Inblock), blocksOut: int64(u.Oublock),
		voluntary: int64(u.Nvcsw), preempted: int64(u.Nivcsw),
	}, true
}
