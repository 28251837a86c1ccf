//go:build !unix

package pebble

import "io/fs"

// allocated returns the length of a file: this system does not tell how much of the disk it takes.
func allocated(info fs.FileInfo) int64 { return info.Size() }
