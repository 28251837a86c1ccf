package expressions

import (
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

// TestDefinitionsAreComplete checks each operator's definition. Name, Family, Total, Folds, Depends
// and StableAPI must be set. Folds, Total and NotInValidator must not contradict Depends.
func TestDefinitionsAreComplete(t *testing.T) {
	t.Parallel()
	for _, def := range slices.Concat(families()...) {
		if def.Name == "" || def.Family == "" {
			t.Errorf("%+v: it has no name or no family", def)
		}
		if def.Total == 0 || def.Folds == 0 || def.Depends == 0 || def.StableAPI == 0 {
			t.Errorf("%s: Total, Folds, Depends and StableAPI have no default", def.Name)
		}
		if def.Depends != expr.OnOperands && def.Folds != feature.No {
			t.Errorf("%s depends on more than its operands, so it must not fold", def.Name)
		}
		if !def.Depends.Repeatable() && def.Total != feature.No {
			t.Errorf("%s is not repeatable, so it is noticed how often it is evaluated", def.Name)
		}
		if def.Depends.Repeatable() && def.NotInValidator != nil {
			t.Errorf("%s is repeatable, so a validator may have it", def.Name)
		}
	}
}

// TestTotalOperators checks that CannotFail of an expression with one operator agrees with Total in
// the operator's definition. No such expression uses $switch, which is total only with a default.
func TestTotalOperators(t *testing.T) {
	t.Parallel()
	uses := bsonxtest.Parse(t, `{"uses": ["$a", ["$a", "$b"], ["$a", "$b", "$c"], {"vars": {"x": "$a"}, "in": "$$x"}]}`)
	for _, def := range slices.Concat(families()...) {
		for _, arg := range uses.Lookup("uses").Doc().Values() {
			e, err := expr.Parse(bsonx.Document(bsonx.NewDoc(def.Name, arg)), Scope())
			if err != nil {
				continue
			}
			if total := expr.CannotFail(e); total != (def.Total == feature.Yes) {
				t.Errorf("%s of %s is total: %v", def.Name, bsonx.FormatShell(arg), total)
			}
		}
	}
}
