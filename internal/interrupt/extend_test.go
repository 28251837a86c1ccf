package interrupt_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
)

// TestExtend moves a large buffer. The bytes must stay, there must be room for the value, and the
// operation must be checked for each mebibyte.
func TestExtend(t *testing.T) {
	t.Parallel()
	operation := interrupttest.New(t.Context())
	var running interrupt.Running
	running.Set(operation)
	buf := bytes.Repeat([]byte("sheaf"), 2<<20)
	const value = 5 << 20
	larger, err := interrupt.Extend(buf, value, &running)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(larger, buf) || cap(larger)-len(larger) < value {
		t.Fatalf("%d bytes with room for %d, want %d with room for %d", len(larger),
			cap(larger)-len(larger), len(buf), value)
	}
	if operation.Looks != 10 {
		t.Errorf("%d looks, want 10", operation.Looks)
	}
	again, err := interrupt.Extend(larger, value-(1<<20), &running)
	if err != nil || &again[0] != &larger[0] {
		t.Errorf("moved again though there was room: %v", err)
	}
	operation.EndAfter(3)
	if _, err := interrupt.Extend(larger, 2*value, &running); !errors.Is(err, interrupttest.ErrEnded) {
		t.Errorf("%v after the operation ended", err)
	}
}

// TestExtendLeavesSmallBuffers checks that Extend does not move small buffers, because append is as
// good for them.
func TestExtendLeavesSmallBuffers(t *testing.T) {
	t.Parallel()
	buf := make([]byte, interrupt.LargeBuffer-1)
	same, err := interrupt.Extend(buf, 1<<20, nil)
	if err != nil || cap(same) != cap(buf) {
		t.Errorf("room for %d bytes: %v", cap(same)-len(same), err)
	}
}
