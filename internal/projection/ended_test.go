package projection

import (
	"context"
	"errors"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
)

func TestEndedOperationEvaluatesOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var running interrupt.Running
	running.Set(ctx)
	calls := 0
	long := expr.Func(func(*expr.Context) (bsonx.Value, error) {
		calls++
		cancel()
		return bsonx.Missing, ctx.Err()
	})
	opts := Options{Vars: expressions.Scope().WithScripts(js.Options{Running: &running})}
	p, err := newProjection(addition, bsonx.Empty,
		&node{fields: []field{{name: "x", action: compute, value: long}}}, &opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(nil, bsonx.NewDoc("a", 1), nil); !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d evaluations: %v", calls, err)
	}
}
