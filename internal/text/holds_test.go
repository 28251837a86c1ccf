package text

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestWordsAreHeld checks that scoring a document ends with its operation, and that the memory of
// its words is counted.
func TestWordsAreHeld(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, "w%d ", i)
	}
	doc := bsonx.NewDoc("a", b.String())
	spec, err := NewSpec(bsonx.NewDoc("weights", bsonx.NewDoc("a", 1), "default_language", "none", "language_override",
		"language", "textIndexVersion", 3))
	if err != nil {
		t.Fatal(err)
	}
	var running interrupt.Running
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	running.Set(ctx)
	var ended Scorer
	ended.Serve(&running)
	if err := ended.Score(spec, doc); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	op := new(memory.Operation)
	op.Use(memory.New(16 << 20))
	defer op.Release()
	running.Set(context.WithValue(t.Context(), memory.OperationKey(), op))
	var held Scorer
	held.Serve(&running)
	if err := held.Score(spec, doc); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
		t.Errorf("without memory: %v", err)
	}
}
