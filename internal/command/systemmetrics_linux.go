package command

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// tick is the unit of the processors' times in /proc/stat, in milliseconds.
const tick = 10

// cpuTimes are the columns of a processor's line in /proc/stat, by MongoDB's names.
var cpuTimes = []string{
	"user_ms", "nice_ms", "system_ms", "idle_ms", "iowait_ms", "irq_ms", "softirq_ms", "steal_ms", "guest_ms", "guest_nice_ms",
}

// cpuCounts are further lines of /proc/stat.
var cpuCounts = map[string]bool{"ctxt": true, "btime": true, "processes": true, "procs_running": true, "procs_blocked": true}

// memoryLines are the lines of /proc/meminfo that MongoDB samples.
var memoryLines = map[string]bool{
	"MemTotal": true, "MemFree": true, "Cached": true, "Dirty": true, "Buffers": true, "SwapTotal": true, "SwapFree": true,
	"SwapCached": true, "Active": true, "Inactive": true, "Active(anon)": true, "Inactive(anon)": true, "Active(file)": true,
	"Inactive(file)": true,
}

// appendSystemMetrics appends what the machine's processors and memory do.
func appendSystemMetrics(b *bsonx.Builder) {
	b.StartDocField("cpu")
	b.Int64("num_cpus", int64(runtime.NumCPU()))
	eachLine("/proc/stat", func(name string, columns []string) {
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
	eachLine("/proc/meminfo", func(name string, columns []string) {
		if name = strings.TrimSuffix(name, ":"); memoryLines[name] && len(columns) > 0 {
			appendColumn(b, name+"_kb", columns[0])
		}
	})
	b.End()
}

func appendColumn(b *bsonx.Builder, name, column string) {
	if n, err := strconv.ParseInt(column, 10, 64); err == nil {
		b.Int64(name, n)
	}
}

// eachLine calls fn with the first word of each line of a file, and the others; a file that cannot be read has no lines.
func eachLine(file string, fn func(name string, columns []string)) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 {
			fn(words[0], words[1:])
		}
	}
}
