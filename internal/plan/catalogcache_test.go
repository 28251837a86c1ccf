package plan_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/plan/explain"
)

// TestKnownIndexesFollow checks that the planner's cached descriptions of indexes follow changes of
// the documents and of the catalog.
func TestKnownIndexesFollow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("a", bsonxtest.MustParse(`{"a": 1}`))
	f.insert(bsonxtest.MustParse(`{"_id": 1, "a": 4}`))
	found := func(filter string, want int) {
		t.Helper()
		got, err := f.find(f.query(filter), 0)
		if err != nil || len(got) != want {
			t.Errorf("%s: %d documents (%v), want %d", filter, len(got), err, want)
		}
	}
	planned := func(filter, want string) {
		t.Helper()
		q := text(f.explain(f.query(filter), explain.Find, explain.QueryPlanner).QueryPlanner)
		if !strings.Contains(q, want) {
			t.Errorf("%s: %s, want %s", filter, q, want)
		}
	}
	found(`{"a": {"$gt": 5, "$lt": 3}}`, 0)
	planned(`{"a": 1}`, `"isMultiKey":false`)
	f.insert(bsonxtest.MustParse(`{"_id": 2, "a": [1, 10]}`))
	found(`{"a": {"$gt": 5, "$lt": 3}}`, 1) // on a multikey index both bounds may not be combined
	planned(`{"a": 1}`, `"isMultiKey":true`)

	planned(`{"b": 1}`, `"COLLSCAN"`)
	f.index("b", bsonxtest.MustParse(`{"b": 1}`))
	planned(`{"b": 1}`, `"indexName":"b"`)
}
