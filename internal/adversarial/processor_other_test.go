//go:build !unix

package adversarial

import (
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

// processorTime returns the time of the clock, which is no less than what the process has used on one processor.
func processorTime() time.Duration { return time.Duration(clock.System{}.Now().UnixNano()) }
