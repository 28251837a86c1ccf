package expr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// TestBindFieldsEnds checks that BindFields over many expressions returns an error after an
// interrupt.
func TestBindFieldsEnds(t *testing.T) {
	t.Parallel()
	list := make([]expr.Expr, 1<<14)
	for i := range list {
		var err error
		if list[i], err = expr.Parse(bsonx.String(fmt.Sprintf("$f%d", i)), expressions.Scope()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running interrupt.Running
	running.Set(ctx)
	if _, err := expr.BindFields(&running, list...); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := expr.BindFields(&running, list...); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the operation: %v", err)
	}
}
