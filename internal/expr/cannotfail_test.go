package expr_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
)

func TestCannotFail(t *testing.T) {
	t.Parallel()
	cannot := []string{
		`1`, `"$a.b"`, `"$$ROOT"`, `"$$NOW"`, `"$$REMOVE"`, `{"$literal": {"$divide": [1, 0]}}`,
		`{"a": "$a", "b": ["$b", null]}`, `[]`,
		`{"$eq": ["$a", "$b"]}`, `{"$ne": ["$a", 1]}`, `{"$cmp": ["$a", "$b"]}`, `{"$lt": ["$a", {"$type": "$b"}]}`,
		`{"$and": ["$a", {"$or": ["$b", {"$not": "$c"}]}]}`, `{"$cond": [{"$gt": ["$b", 1]}, "$c", "$$REMOVE"]}`,
		`{"$ifNull": ["$a", "$b", 0]}`,
		`{"$isArray": "$a"}`, `{"$isNumber": "$a"}`, `{"$let": {"vars": {"v": "$a"}, "in": ["$$v", "$b"]}}`,
		`{"$switch": {"branches": [{"case": "$a", "then": 1}], "default": 2}}`, `{"$add": [1, 2]}`,
	}
	can := []string{
		`{"$divide": [1, 0]}`, `{"$divide": [1, "$a"]}`, `{"$add": ["$a", 1]}`, `{"$size": "$a"}`,
		`{"$toInt": "$a"}`, `{"$year": "$a"}`,
		`{"$mergeObjects": ["$a"]}`, `{"$in": [1, "$a"]}`, `{"$meta": "textScore"}`,
		`{"$switch": {"branches": [{"case": "$a", "then": 1}]}}`,
		`{"a": {"b": [{"$abs": "$a"}]}}`, `{"$eq": [{"$abs": "$a"}, 1]}`,
		`{"$and": ["$a", {"$abs": "$a"}]}`, `{"$not": {"$abs": "$a"}}`,
		`{"$cond": ["$a", {"$abs": "$a"}, 1]}`, `{"$ifNull": [{"$abs": "$a"}, 1]}`,
		`{"$let": {"vars": {"v": {"$abs": "$a"}}, "in": ["$$v"]}}`,
		`{"$let": {"vars": {"v": "$a"}, "in": {"$abs": "$$v"}}}`, `{"$map": {"input": "$a", "in": 1}}`,
		`{"$filter": {"input": "$a", "cond": true}}`,
	}
	check := func(texts []string, want bool) {
		for _, text := range texts {
			e, err := expr.Parse(bsonxtest.Parse(t, `{"v": `+text+`}`).Lookup("v"), expressions.Scope())
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if got := expr.CannotFail(e); got != want {
				t.Errorf("%s: cannot fail: %t", text, got)
			}
		}
	}
	check(cannot, true)
	check(can, false)
}
