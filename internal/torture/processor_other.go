//go:build !unix

package torture

import "time"

// ProcessorTime returns the wall-clock time, because the system does not report processor time. One
// goroutine cannot use more than that.
func ProcessorTime() time.Duration { return time.Duration(now().UnixNano()) }
