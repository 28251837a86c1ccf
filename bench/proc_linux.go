package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of the times in /proc. USER_HZ is 100 on every platform that Go supports.
const tick = 10 * time.Millisecond

// endWithParent makes the kernel send SIGTERM to the child if this program dies without closing the
// child.
func endWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// The child is in its own process group, so it does not get an interrupt from the terminal.
	// This program stops it instead, in an orderly way.
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
}

// asUser lets a command run as another user.
func asUser(cmd *exec.Cmd, uid, gid uint32) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
}

// cpuTime returns the processor time of processes and of their children, including children that
// have ended. It reports false if there is no process, or one has ended.
func cpuTime(pids []int) (time.Duration, bool) {
	if len(pids) == 0 {
		return 0, false
	}
	var ticks int64
	var sum time.Duration
	for _, pid := range pids {
		fields := statFields(fmt.Sprintf("/proc/%d/stat", pid))
		if fields == nil {
			return 0, false
		}
		// The time of the process itself is known in nanoseconds, the time of its dead children in
		// ticks.
		if own, ok := processClock(pid); ok {
			sum += own
			fields[11], fields[12] = "0", "0"
		}
		ticks += sumTicks(fields, 4)
	}
	// Not every kernel lists the children of a process, so this looks at all processes, with one
	// glob for all pids. cpuTime must be cheap, because settle also measures the time of this
	// program.
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		// A child that has ended since the glob is counted with its parent in the next call.
		fields := statFields(path)
		if fields == nil {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil || !slices.Contains(pids, parent) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			if own, ok := processClock(child); ok {
				sum += own
				continue
			}
		}
		ticks += sumTicks(fields, 2)
	}
	return sum + time.Duration(ticks)*tick, true
}

// processClock returns the processor time of a process, read from its CPU clock. The kernel derives
// the number of this clock from the process ID.
func processClock(pid int) (time.Duration, bool) {
	const scheduler = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// statFields returns the fields of a process that follow its name, which may contain spaces. It
// returns nil if the process does not exist.
func statFields(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 15 {
		return nil
	}
	return fields
}

// sumTicks adds up the first n of these fields: utime, stime, cutime and cstime.
func sumTicks(fields []string, n int) int64 {
	var sum int64
	for _, f := range fields[11 : 11+n] {
		v, err := strconv.ParseInt(f, 10, 64)
		if err == nil {
			sum += v
		}
	}
	return sum
}

// selfTime returns the processor time of this program.
func selfTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) (int64, bool) {
	n := statusBytes(pid, "VmRSS:")
	return n, n > 0
}

// privateBytes returns the anonymous resident memory of processes and their children. It excludes
// files and memory shared with other processes.
func privateBytes(pids []int) int64 {
	var sum int64
	for _, pid := range withChildren(pids) {
		sum += statusBytes(pid, "RssAnon:")
	}
	return sum
}

// withChildren returns the given processes that exist, and their children.
func withChildren(pids []int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var all []int
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		fields := statFields(path)
		if fields == nil {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err == nil && (slices.Contains(pids, pid) || slices.Contains(pids, parent)) {
			all = append(all, pid)
		}
	}
	return all
}

// resetPeak resets the peak of the resident memory of processes and their children. If the kernel
// cannot do this, peakBytes returns the peak since the start of the processes.
func resetPeak(pids []int) {
	for _, pid := range withChildren(pids) {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// peakBytes returns the peak resident memory of processes and their children since resetPeak. It
// counts the memory that the processes share once: the largest part that one of them used.
func peakBytes(pids []int) int64 {
	var own, shared int64
	all := withChildren(pids)
	for _, pid := range all {
		inShared := statusBytes(pid, "RssShmem:")
		shared = max(shared, inShared)
		own += statusBytes(pid, "VmHWM:") - inShared
	}
	return own + shared
}

// statusBytes returns the bytes of a field of a process's status that has the unit kB. It returns 0
// if there is no such field.
func statusBytes(pid int, field string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), field)
	if !ok {
		return 0
	}
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

// openFiles returns how many files this program may have open, or 0 if that is unknown.
func openFiles() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return int(min(r.Cur, 1<<20))
}

// machine returns the model of the processor and the size of the memory.
func machine() map[string]string {
	facts := map[string]string{}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			facts["cpu"] = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			if kb, err := strconv.Atoi(f[1]); err == nil {
				facts["memory"] = fmt.Sprintf("%d GB", (kb+512<<10)>>20)
			}
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		facts["kernel"] = strings.TrimSpace(string(b))
	}
	return facts
}

// loadAverage returns the load average of the last minute.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
