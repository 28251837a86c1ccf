//go:build unix

package sheaf_test

import (
	"io/fs"
	"syscall"
)

func blocks(info fs.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks * 512 }
