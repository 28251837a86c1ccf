package expressions

import (
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

// TestDefinitionsAreComplete pins that every definition answers the questions that safety rests on,
// and that the answers agree.
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

// TestTotalOperators pins that an operator and its nodes say the same about values for all
// operands. $switch has no use here: it is total only with a default.
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
