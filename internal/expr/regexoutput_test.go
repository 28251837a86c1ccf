package expr_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestRegexOutputLimit lets $regexFindAll return as many long matches as its result may hold, and
// one more.
func TestRegexOutputLimit(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat("a", 32_000)
	spec := bsonx.NewDoc("$regexFindAll", bsonx.NewDoc("input", "$s", "regex", pattern))
	e, err := expr.Parse(bsonx.Document(spec), expressions.Scope())
	if err != nil {
		t.Fatal(err)
	}
	find := func(n int) (bsonx.Value, error) {
		return e.Eval(&expr.Context{Root: bsonx.Document(bsonx.NewDoc("s", strings.Repeat(pattern, n)))})
	}
	few, err := find(1000)
	if err != nil {
		t.Fatal(err)
	}
	more, err := find(1001)
	if err != nil {
		t.Fatal(err)
	}
	match := len(more.Data) - len(few.Data) // the keys of the elements have four digits from here on
	most := 1000 + (limits.RegexOutputBytes-(len(few.Data)-1))/match
	if _, err := find(most); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := find(most + 1); mongoerr.CodeOf(err) != 51151 {
		t.Errorf("beyond the limit: %v", err)
	}
}
