//go:build !unix

package torture

import "time"

// ProcessorTime returns the time of the clock, which is no less than what one goroutine has used.
func ProcessorTime() time.Duration { return time.Duration(now().UnixNano()) }
