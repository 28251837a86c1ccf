//go:build !linux

package load

import (
	"errors"
	"time"
)

// fineTimer is used on Linux only; on other systems, the runtime's timers are precise enough.
type fineTimer struct{}

func newFineTimer() *fineTimer { return nil }

func (t *fineTimer) wait(time.Duration) error { return errors.ErrUnsupported }

func (t *fineTimer) close() {}
