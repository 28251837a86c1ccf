//go:build !unix

package command

import "time"

// processorTime is not known here.
func processorTime() (user, system time.Duration, ok bool) { return 0, 0, false }
