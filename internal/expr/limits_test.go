package expr_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// TestGrowthIsBounded lists expressions that would exhaust the memory, with their error codes.
func TestGrowthIsBounded(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	double := func(initial, in string) string {
		return `{"$reduce": {"input": {"$range": ["$zero", 60]}, "initialValue": ` + initial + `, "in": ` + in + `}}`
	}
	const long = `{"$reduce": {"input": {"$range": ["$zero", 19]}, "initialValue": "0123456789", "in": {"$concat": ["$$value", "$$value"]}}}`
	nested := `"$x"`
	for range 40 {
		nested = `{"$let": {"vars": {"v": ` + nested + `}, "in": ["$$v", "$$v", "$$v"]}}`
	}
	for text, code := range map[string]mongoerr.Code{
		double(`"x"`, `{"$concat": ["$$value", "$$value"]}`):                                                               mongoerr.BSONObjectTooLarge,
		double(`["x"]`, `{"$concatArrays": ["$$value", "$$value"]}`):                                                       mongoerr.ExceededMemoryLimit,
		double(`["x"]`, `{"$map": {"input": [1, 2], "in": "$$value"}}`):                                                    mongoerr.ExceededMemoryLimit,
		double(`["x"]`, `["$$value", "$$value"]`):                                                                          mongoerr.ExceededMemoryLimit,
		double(`{}`, `{"a": "$$value", "b": "$$value"}`):                                                                   mongoerr.ExceededMemoryLimit,
		double(`{}`, `{"$setField": {"field": "a", "input": {"b": "$$value"}, "value": "$$value"}}`):                       mongoerr.ExceededMemoryLimit,
		double(`["x"]`, `{"$zip": {"inputs": ["$$value", "$$value", "$$value"]}}`):                                         mongoerr.ExceededMemoryLimit,
		`{"$range": ["$zero", 2000000000]}`:                                                                                mongoerr.ExceededMemoryLimit,
		`{"$range": ["$zero", -2000000000, -1]}`:                                                                           mongoerr.ExceededMemoryLimit,
		`{"$replaceAll": {"input": ` + long + `, "find": "0", "replacement": "0123456789012345678901234567890123456789"}}`: mongoerr.BSONObjectTooLarge,
		`{"$size": {"$split": [` + long + `, "0"]}}`:                                                                       0,
		nested: mongoerr.ExceededMemoryLimit,
		`{"$reduce": {"input": {"$range": ["$zero", 1000000]}, "initialValue": 1, "in": {"a": "$$value"}}}`:   mongoerr.Overflow,
		`{"$reduce": {"input": {"$range": ["$zero", 1000000]}, "initialValue": 1, "in": ["$$value"]}}`:        mongoerr.Overflow,
		`{"$size": {"$reduce": {"input": {"$range": ["$zero", 399]}, "initialValue": 1, "in": ["$$value"]}}}`: 0,
	} {
		if got, want := evaluate(t, bsonxtest.Parse(t, `{"v":`+text+`}`).Lookup("v"),
			bsonxtest.Parse(t, `{"zero": 0, "x": "0123456789"}`)), "error "+code.Name(); code != 0 && got != want {
			t.Errorf("%s: %.100s, want %s", text, got, want)
		}
	}
}

// TestLoopsEndWithTheirOperation checks that nested loops end soon after an interrupt of their
// operation.
func TestLoopsEndWithTheirOperation(t *testing.T) {
	t.Parallel()
	loop := `{"$add": ["$$this", 1]}`
	for range 6 {
		loop = `{"$size": {"$map": {"input": {"$range": ["$zero", 1000]}, "in": ` + loop + `}}}`
	}
	running := &interrupt.Running{}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	running.Set(ctx)
	vars := expressions.Scope().WithScripts(js.Options{Running: running})
	for _, text := range []string{
		loop, `{"$filter": {"input": {"$range": ["$zero", 1000000]}, "cond": {"$gt": ["$$this", 5]}}}`,
		`{"$reduce": {"input": {"$range": ["$zero", 1000000]}, "initialValue": 0, "in": {"$add": ["$$value", 1]}}}`,
	} {
		e, err := expr.Parse(bsonxtest.Parse(t, `{"v": `+text+`}`).Lookup("v"), vars)
		if err != nil {
			t.Fatal(err)
		}
		eval := &expr.Context{Root: bsonx.Document(bsonxtest.Parse(t, `{"zero": 0}`))}
		if _, err := e.Eval(eval); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
