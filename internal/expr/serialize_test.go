package expr_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
)

// TestSerialize runs testdata/serialize/forms. Each line is an expression in Extended JSON; the
// output is its form in explain. The command accumulator takes accumulators instead. The variable
// $$c is the constant 7.
func TestSerialize(t *testing.T) {
	t.Parallel()
	vars := expressions.Scope().WithConst("c", bsonx.Int32(7))
	s := expr.Serializer{Vars: vars, Now: time.Unix(0, 0)}
	datadriven.RunTest(t, "testdata/serialize/forms", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			v := bsonxtest.Parse(t, `{"v":`+strings.TrimSpace(line)+`}`).Lookup("v")
			if d.Cmd == "accumulator" {
				use := v.Doc().First()
				v = accumulator.Serialize(s, string(use.Key), use.Value)
			} else {
				if _, err := expr.Parse(v, vars); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				v = s.Expression(v)
			}
			out.WriteString(bsonx.FormatShell(v) + "\n")
			if _, err := expr.Parse(v, expressions.Scope()); d.Cmd == "expression" && err != nil &&
				!strings.Contains(line, "$toString") {
				t.Errorf("%s: the form is no expression: %v", line, err)
			}
		}
		return out.String()
	})
}

// TestSerializeComparesByCollation checks that constants are folded with the collation of the
// scope.
func TestSerializeComparesByCollation(t *testing.T) {
	t.Parallel()
	fold, err := collation.Parse(bsonx.NewDoc("locale", "en", "strength", 2))
	if err != nil {
		t.Fatal(err)
	}
	s := expr.Serializer{Vars: expressions.Scope().WithCollation(fold)}
	got := s.Expression(bsonx.Document(bsonxtest.Parse(t, `{"$eq": ["a", "A"]}`)))
	if text := bsonx.FormatShell(got); text != "{ $const: true }" {
		t.Error(text)
	}
}
