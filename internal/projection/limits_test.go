package projection_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/projection"
)

// TestProductOfFieldsAndElements projects arrays with specifications that turn each element into a
// document with all fields. The result would take more memory than a machine has. The projection
// must fail with an error, and must notice an interrupt.
func TestProductOfFieldsAndElements(t *testing.T) {
	t.Parallel()
	spec := bsonx.NewBuilder(nil)
	spec.StartDoc()
	for i := range 2_000 {
		spec.Int32(fmt.Sprintf("v.f%d", i), 1)
	}
	spec.End()
	numbers := make([]any, 20_000)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	doc := bsonx.NewDoc("_id", 1, "v", bsonx.NewArray(numbers...))
	ctx, cancel := context.WithCancel(t.Context())
	var running interrupt.Running
	running.Set(ctx)
	vars, err := expressions.Scope().WithLet(bsonx.Empty, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	vars = vars.WithScripts(js.Options{Running: &running})
	p, err := projection.ParseAddFields(spec.Bytes(), projection.Options{Vars: vars})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Apply(nil, doc, nil); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
		t.Errorf("a document of a gigabyte: %v", err)
	}
	cancel()
	if _, err := p.Apply(nil, doc, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an operation that has ended: %v", err)
	}
}
