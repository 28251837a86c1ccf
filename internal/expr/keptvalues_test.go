package expr_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestKeptValuesAreCounted evaluates operators that keep large values while they create others. The
// peak of the memory budget must cover all values that exist at the same time. An operator must
// reserve memory before it allocates a value.
func TestKeptValuesAreCounted(t *testing.T) {
	t.Parallel()
	const large = `{"$range": ["$zero", 100000]}` // an array of 1.1 MB
	size := int64(len(mustEval(t, memory.New(1<<30), large).Data))
	for text, least := range map[string]int64{
		`{"$map": {"input": R, "in": "$$this"}}`:                                              3,
		`{"$map": {"input": [1, 2, 3], "in": {"$concatArrays": [R, ["$$this"]]}}}`:            6,
		`{"$map": {"input": [1, 2, 3], "in": {"$map": {"input": R, "in": {"a": "$$this"}}}}}`: 8,
		`{"$filter": {"input": R, "cond": {"$gte": ["$$this", 0]}}}`:                          3,
		`{"$reduce": {"input": [1, 2], "initialValue": R, "in": R}}`:                          3,
		`{"$zip": {"inputs": [R, R]}}`:                                                        6,
		`{"$concatArrays": [R, R, R]}`:                                                        6,
		`{"$setUnion": [R, R]}`:                                                               4,
		`{"$eq": [R, R]}`:                                                                     3,
		`{"a": R, "b": R}`:                                                                    4,
		`[R, R]`:                                                                              4,
		`{"$let": {"vars": {"a": R, "b": R}, "in": {"$concatArrays": ["$$a", "$$b", ["$x"]]}}}`: 6,
	} {
		text := strings.ReplaceAll(text, "R", large)
		budget := memory.New(1 << 30)
		mustEval(t, budget, text)
		peak := budget.Stats().Peak
		// The budget counts values in steps of one mebibyte.
		if want := least*size - size/4; peak < want {
			t.Errorf("%s: %d bytes were counted, want at least %d", text, peak, want)
		}
		if _, err := evalWithin(t, memory.New(peak/2), text); mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit {
			t.Errorf("%s: %v with half of the memory", text, err)
		}
	}
}

// evalWithin evaluates an expression in an operation with the given memory budget.
func evalWithin(t *testing.T, budget *memory.Budget, text string) (bsonx.Value, error) {
	t.Helper()
	op := &memory.Operation{}
	op.Use(budget)
	defer op.Release()
	running := &interrupt.Running{}
	running.Set(context.WithValue(t.Context(), memory.OperationKey(), op))
	vars := expressions.Scope().WithScripts(js.Options{Running: running})
	e, err := expr.Parse(bsonxtest.Parse(t, `{"v": `+text+`}`).Lookup("v"), vars)
	if err != nil {
		t.Fatal(err)
	}
	return e.Eval(&expr.Context{Root: bsonx.Document(bsonxtest.Parse(t, `{"zero": 0, "x": 1}`))})
}

func mustEval(t *testing.T, budget *memory.Budget, text string) bsonx.Value {
	t.Helper()
	v, err := evalWithin(t, budget, text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
