package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
)

// TestBucket checks that Bucket gives the same results as the equivalent $switch.
func TestBucket(t *testing.T) {
	t.Parallel()
	inputs := []string{
		`{}`, `{"a": null}`, `{"a": {"$minKey": 1}}`, `{"a": {"$maxKey": 1}}`, `{"a": "x"}`,
		`{"a": [3]}`, `{"a": {"$numberDouble": "NaN"}}`, `{"a": {"$undefined": true}}`,
	}
	for i := range 12 {
		inputs = append(inputs, fmt.Sprintf(`{"a": %d}`, i-1), fmt.Sprintf(`{"a": %d.5}`, i-1))
	}
	for _, text := range []string{
		`[0, 1]`, `[0, 3, 4, 9]`, `["a", "x", "z"]`, `[null, {"$undefined": true}]`,
		`[{"$numberDouble": "NaN"}, 0, 5]`, `[[0], [3], [4]]`,
	} {
		boundaries := bsonxtest.Parse(t, `{"v": `+text+`}`).Lookup("v").Doc().Values()
		for _, otherwise := range []bsonx.Value{bsonx.Missing, bsonx.String("other")} {
			for _, input := range []string{"$a", ""} {
				for _, doc := range inputs {
					checkBucket(t, boundaries, otherwise, input, bsonxtest.Parse(t, doc))
				}
			}
		}
	}
}

// checkBucket evaluates Bucket and $switch over a document. If input is empty, the input is the
// value of the field a as a constant.
func checkBucket(t *testing.T, boundaries []bsonx.Value, otherwise bsonx.Value, input string, doc bsonx.Doc) {
	t.Helper()
	literal := func(v bsonx.Value) bsonx.Doc { return bsonx.NewDoc("$literal", v) }
	by := bsonx.String(input)
	if input == "" {
		if by = doc.Lookup("a"); by.IsMissing() {
			return
		}
		by = bsonx.Document(literal(by))
	}
	var branches []bsonx.Doc
	for i, low := range boundaries[:len(boundaries)-1] {
		within := []bsonx.Doc{
			bsonx.NewDoc("$gte", bsonx.NewArray(by, literal(low))),
			bsonx.NewDoc("$lt", bsonx.NewArray(by, literal(boundaries[i+1]))),
		}
		branches = append(branches, bsonx.NewDoc("case", bsonx.NewDoc("$and", within), "then", literal(low)))
	}
	choice := bsonx.NewDoc("branches", branches)
	var other expr.Expr
	if !otherwise.IsMissing() {
		choice = choice.With("default", bsonx.Document(literal(otherwise)))
		other = &expr.Const{Value: otherwise}
	}
	evaluate := func(parse func(*expr.Vars) (expr.Expr, error)) string {
		var failures expr.Failures
		e, err := parse(expressions.Scope().WithFailures(&failures))
		if err != nil {
			t.Fatal(err)
		}
		if err := failures.Err(); err != nil {
			return err.Error()
		}
		v, err := e.Eval(&expr.Context{Root: bsonx.Document(doc)})
		if err != nil {
			return err.Error()
		}
		return bsonx.FormatShell(v)
	}
	want := evaluate(func(vars *expr.Vars) (expr.Expr, error) {
		return expr.Parse(bsonx.Document(bsonx.NewDoc("$switch", choice)), vars)
	})
	got := evaluate(func(vars *expr.Vars) (expr.Expr, error) {
		in, err := expr.Parse(by, vars)
		return expr.Bucket(in, boundaries, other, vars), err
	})
	if got != want || strings.TrimSpace(got) == "" {
		t.Errorf("%s in %v: %s, want %s", bsonx.FormatShell(bsonx.Document(doc)), boundaries, got, want)
	}
}
