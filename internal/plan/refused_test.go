package plan_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/describe"
)

// TestDescribeArrays describes filters with arrays. Only the arrays of $and, $or and $nor hold
// predicates; the array of an $expr is a value.
func TestDescribeArrays(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`{"$expr": ["$a", 1, {"$add": [1, "$b"]}]}`: `$expr ["$a", {$const: 1}, {$add: [{$const: 1}, "$b"]}]` + "\n",
		`{"$or": [{"a": 1}, {"$expr": ["$a"]}]}`:    "$or\n    a $eq 1\n    $expr [\"$a\"]\n",
		`{"$nor": [{"a": {"$in": [1, 2]}}]}`:        "$nor\n    a $in [ 1 2]\n",
	} {
		f, err := filter.Parse(bsonxtest.MustParse(query), filter.Options{Vars: expressions.Scope(), AllowExpr: true})
		if err != nil {
			t.Fatal(query, err)
		}
		if got := describe.Filter(f.Root); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", query, got, want)
		}
	}
}
