//go:build unix

package pebble

import (
	"io/fs"
	"syscall"
)

// allocated returns the disk space of a file. Pebble allocates logs ahead, beyond their length.
func allocated(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
