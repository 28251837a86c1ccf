package server

import (
	"testing"
	"time"
)

// TestBackoff: failures of accept for six minutes make few lines, whatever their number.
func TestBackoff(t *testing.T) {
	t.Parallel()
	var b backoff
	now := time.Unix(1_000_000, 0)
	lines, tries := 0, 0
	for end := now.Add(6 * time.Minute); now.Before(end); tries++ {
		pause, log := b.failed(now)
		if log {
			lines++
		}
		if pause < acceptRetry || pause > maxAcceptRetry {
			t.Fatalf("a pause of %v", pause)
		}
		now = now.Add(pause)
	}
	if lines > 36 || tries > 400 {
		t.Errorf("%d lines, %d tries", lines, tries)
	}
	b.succeeded()
	if pause, _ := b.failed(now); pause != acceptRetry {
		t.Errorf("a pause of %v after a success", pause)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	var r refusals
	now := time.Unix(1_000_000, 0)
	lines := 0
	for range 672_000 {
		if _, log := r.note(now); log {
			lines++
		}
		now = now.Add(500 * time.Microsecond)
	}
	if lines > 40 {
		t.Errorf("%d lines", lines)
	}
}
