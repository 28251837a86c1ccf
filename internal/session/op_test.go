package session

import (
	"context"
	"testing"
	"time"
)

// TestDoneAfterFinish calls Done after the operation has ended, as a derived context may do. The
// next operation of the connection must have a new channel.
func TestDoneAfterFinish(t *testing.T) {
	t.Parallel()
	var op Op
	op.Begin(context.Background(), 1, time.Now())
	op.Finish()
	select {
	case <-op.Done():
	default:
		t.Error("an operation that ended is not done")
	}
	op.Begin(context.Background(), 2, time.Now())
	select {
	case <-op.Done():
		t.Error("an operation that runs is done")
	default:
	}
	op.Finish()
}
