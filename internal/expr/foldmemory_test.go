package expr_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/memory"
)

// TestConstantsCount compiles expressions whose folded constants are much larger than their text,
// and checks that they count in the memory budget.
func TestConstantsCount(t *testing.T) {
	t.Parallel()
	one := `{"$range": [0, 100000]}` // an array of 1.1 MB
	each := func(n int, form string) string { return strings.TrimSuffix(strings.Repeat(form+", ", n), ", ") }
	for text, fits := range map[string]bool{
		one:                      true,
		`[` + each(4, one) + `]`: true,
		`[` + each(40, `{"$concatArrays": [["$x"], `+one+`]}`) + `]`:                                      false,
		`[` + each(40, `{"$concatArrays": ["$x", `+one+`, `+one+`]}`) + `]`:                               false,
		`{"$mergeObjects": [` + each(40, `{"a": `+one+`, "b": "$x"}`) + `]}`:                              false,
		`[` + each(40, `{"$size": `+one+`}`) + `]`:                                                        true,
		strings.Repeat(`[`, 50) + fmt.Sprintf("%q", strings.Repeat("x", 1<<20)) + strings.Repeat(`]`, 50): true,
	} {
		budget := memory.New(32 << 20)
		op := new(memory.Operation)
		op.Use(budget)
		var running interrupt.Running
		running.Set(operationContext{t.Context(), op})
		vars := expressions.Scope().WithScripts(js.Options{Running: &running})
		_, err := expr.Parse(bsonxtest.Parse(t, `{"v": `+text+`}`).Lookup("v"), vars)
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "ExceededMemoryLimit") {
			t.Errorf("%.80s: %v", text, err)
		}
		op.Release()
	}
}

// operationContext is a context with an operation that has a memory budget.
type operationContext struct {
	context.Context
	op *memory.Operation
}

func (c operationContext) Value(key any) any {
	if key == memory.OperationKey() {
		return c.op
	}
	return c.Context.Value(key)
}

// TestResultsCount evaluates operators with large results, and checks that the results count in
// the memory budget.
func TestResultsCount(t *testing.T) {
	t.Parallel()
	const n = 4 << 20
	doc := bsonx.NewDoc("s", strings.Repeat("xA", n/2))
	for text, least := range map[string]int64{
		`{"$strLenBytes": {"$toLower": "$s"}}`: 2 * n,
		`{"$size": {"$split": ["$s", "A"]}}`:   2 * n / 2 * 15,
	} {
		for limit, fits := range map[int64]bool{1 << 30: true, least - n/2: false} {
			budget := memory.New(limit)
			op := new(memory.Operation)
			op.Use(budget)
			var running interrupt.Running
			running.Set(operationContext{t.Context(), op})
			vars := expressions.Scope().WithScripts(js.Options{Running: &running})
			e, err := expr.Parse(bsonxtest.Parse(t, `{"v": `+text+`}`).Lookup("v"), vars)
			if err != nil {
				t.Fatal(err)
			}
			_, err = e.Eval(&expr.Context{Root: bsonx.Document(doc), Running: &running})
			if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "ExceededMemoryLimit") {
				t.Errorf("%s with %d bytes: %v", text, limit, err)
			}
			if peak := budget.Stats().Peak; fits && (peak < least || peak > 2*least) {
				t.Errorf("%s: %d bytes were counted, want %d", text, peak, least)
			}
		}
	}
}
