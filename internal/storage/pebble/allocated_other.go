//go:build !unix

package pebble

import "io/fs"

// allocated returns the length of a file, because this system does not tell how much disk space it
// takes.
func allocated(info fs.FileInfo) int64 { return info.Size() }
