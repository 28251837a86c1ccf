//go:build !linux

package admin

// processMemory is not known here.
func processMemory() (resident, virtual int64, ok bool) { return 0, 0, false }
