package admin

import (
	"bytes"
	"os"
	"strconv"
)

// processMemory returns the resident and the virtual memory of the process in bytes, from /proc. ok
// is false if they cannot be read.
func processMemory() (resident, virtual int64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, 0, false
	}
	pages := func(field []byte) int64 {
		n, err := strconv.ParseInt(string(field), 10, 64)
		ok = ok && err == nil
		return n * int64(os.Getpagesize())
	}
	ok = true
	virtual, resident = pages(fields[0]), pages(fields[1])
	return resident, virtual, ok
}
