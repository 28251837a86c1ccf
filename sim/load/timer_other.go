//go:build !linux

package load

import (
	"errors"
	"time"
)

// fineTimer is for Linux; the runtime's timers of other systems are finer.
type fineTimer struct{}

func newFineTimer() *fineTimer { return nil }

func (t *fineTimer) wait(time.Duration) error { return errors.ErrUnsupported }

func (t *fineTimer) close() {}
