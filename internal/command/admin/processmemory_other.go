//go:build !linux

package admin

// processMemory returns false, because the values are only known on Linux.
func processMemory() (resident, virtual int64, ok bool) { return 0, 0, false }
