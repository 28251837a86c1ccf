package admin

import (
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// tick is the unit of processor times in /proc/stat, in milliseconds.
const tick = 10

// cpuTimes are MongoDB's names for the columns of the line "cpu" in /proc/stat.
var cpuTimes = []string{
	"user_ms", "nice_ms", "system_ms", "idle_ms", "iowait_ms", "irq_ms", "softirq_ms",
	"steal_ms", "guest_ms", "guest_nice_ms",
}

// cpuCounts are the other lines of /proc/stat that MongoDB samples.
var cpuCounts = map[string]bool{
	"ctxt": true, "btime": true, "processes": true,
	"procs_running": true, "procs_blocked": true,
}

// memoryLines are the lines of /proc/meminfo that MongoDB samples.
var memoryLines = map[string]bool{
	"MemTotal": true, "MemFree": true, "Cached": true, "Dirty": true, "Buffers": true,
	"SwapTotal": true, "SwapFree": true,
	"SwapCached": true, "Active": true, "Inactive": true, "Active(anon)": true,
	"Inactive(anon)": true, "Active(file)": true,
	"Inactive(file)": true,
}

// diskColumns are MongoDB's names for the columns of a line of /proc/diskstats after the disk's
// name. Newer kernels have further columns, which are ignored.
var diskColumns = [...]string{
	"reads", "reads_merged", "read_sectors", "read_time_ms", "writes", "writes_merged",
	"write_sectors", "write_time_ms",
	"io_in_progress", "io_time_ms", "io_queued_ms",
}

// vmstatLines are the lines of /proc/vmstat that MongoDB samples.
var vmstatLines = map[string]bool{
	"balloon_deflate": true, "balloon_inflate": true, "nr_mlock": true, "numa_pages_migrated": true,
	"pgfault": true, "pgmajfault": true,
	"pswpin": true, "pswpout": true,
}

// systemMetrics returns a function that appends statistics of the machine: processors, memory and
// disks.
func systemMetrics() func(*bsonx.Builder) {
	root := os.DirFS("/")
	return func(b *bsonx.Builder) { appendSystemMetrics(b, root) }
}

func appendSystemMetrics(b *bsonx.Builder, root fs.FS) {
	b.StartDocField("cpu")
	b.Int64("num_cpus", int64(runtime.NumCPU()))
	eachLine(root, "proc/stat", func(name string, columns []string) {
		switch {
		case name == "cpu":
			for i, title := range cpuTimes[:min(len(cpuTimes), len(columns))] {
				if n, err := strconv.ParseInt(columns[i], 10, 64); err == nil {
					b.Int64(title, n*tick)
				}
			}
		case cpuCounts[name] && len(columns) > 0:
			appendColumn(b, name, columns[0])
		}
	})
	b.End()
	b.StartDocField("memory")
	eachLine(root, "proc/meminfo", func(name string, columns []string) {
		if name = strings.TrimSuffix(name, ":"); memoryLines[name] && len(columns) > 0 {
			appendColumn(b, name+"_kb", columns[0])
		}
	})
	b.End()
	appendDisks(b, root)
	b.StartDocField("vmstat")
	eachLine(root, "proc/vmstat", func(name string, columns []string) {
		if vmstatLines[name] && len(columns) > 0 {
			appendColumn(b, name, columns[0])
		}
	})
	b.End()
}

// appendDisks appends the counters of each disk. It skips partitions, loop devices and RAM disks,
// which have no device directory in /sys/block.
func appendDisks(b *bsonx.Builder, root fs.FS) {
	b.StartDocField("disks")
	eachLine(root, "proc/diskstats", func(_ string, columns []string) {
		if len(columns) < 2+len(diskColumns) {
			return
		}
		disk := columns[1]
		if _, err := fs.Stat(root, "sys/block/"+disk+"/device"); err != nil {
			return
		}
		b.StartDocField(disk)
		for i, title := range diskColumns {
			appendColumn(b, title, columns[2+i])
		}
		b.End()
	})
	b.End()
}

func appendColumn(b *bsonx.Builder, name, column string) {
	if n, err := strconv.ParseInt(column, 10, 64); err == nil {
		b.Int64(name, n)
	}
}

// eachLine calls fn with the first word and the remaining words of each line of a file. It does
// nothing if the file cannot be read.
func eachLine(root fs.FS, file string, fn func(name string, columns []string)) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 {
			fn(words[0], words[1:])
		}
	}
}
