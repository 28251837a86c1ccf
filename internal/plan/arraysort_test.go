package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// TestArraySortsAgreeWithScan sorts by fields of array elements, with several indexes and with a
// scan, and compares the orders.
func TestArraySortsAgreeWithScan(t *testing.T) {
	t.Parallel()
	outer := t
	paths := []string{"a.x", "a.y", "a", "a.0.x", "c"}
	keys := []string{
		`{"a.x": 1, "a.y": 1}`, `{"a.x": -1, "a.y": 1, "c": 1}`, `{"a.y": 1, "c": 1, "a.x": 1}`,
		`{"c": 1, "a.x": 1, "a.y": -1}`,
		`{"a": 1, "a.x": 1}`, `{"a.0.x": 1, "a.x": 1}`, `{"a.x": 1, "a.0.x": -1}`, `{"a.x": 1, "a": 1}`,
	}
	filters := []string{
		`{}`, `{"a.y": 1}`, `{"a.x": {"$gte": 1}}`, `{"c": 1}`, `{"c": {"$in": [1, 2]}}`,
		`{"a": {"$elemMatch": {"x": 1, "y": 2}}}`, `{"a.x": null}`,
	}
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture(&quiet{outer, t})
		defer f.store.Close()
		var docs []bsonx.Doc
		for i := range rapid.IntRange(2, 25).Draw(t, "documents") {
			docs = append(docs, bsonxtest.MustParse(fmt.Sprintf(`{"_id": %d, "a": %s, "c": %d}`, i, genElements(t),
				rapid.IntRange(0, 2).Draw(t, "c"))))
		}
		f.index("i", bsonxtest.MustParse(pick(t, "key", keys)))
		docs = f.insertValid(docs, 0)
		for range 12 {
			var sort []string
			for _, p := range rapid.Permutation(paths).Draw(t, "sort")[:rapid.IntRange(1, 3).Draw(t, "fields")] {
				sort = append(sort, fmt.Sprintf("%q: %d", p, rapid.SampledFrom([]int{1, -1}).Draw(t, "direction")))
			}
			f.compareQuery(t, docs, pick(t, "filter", filters), "{"+strings.Join(sort, ", ")+"}")
		}
	})
}

// genElements returns an array of documents, or another value in its place, as JSON.
func genElements(t *rapid.T) string {
	var parts []string
	for range rapid.IntRange(0, 3).Draw(t, "elements") {
		var fields []string
		for _, name := range []string{"x", "y"} {
			if v := pick(t, "value", []string{"1", "2", "3", "null", "[1, 3]", "[]", ""}); v != "" {
				fields = append(fields, fmt.Sprintf("%q: %s", name, v))
			}
		}
		parts = append(parts, "{"+strings.Join(fields, ", ")+"}")
	}
	switch rapid.IntRange(0, 11).Draw(t, "form") {
	case 0:
		return pick(t, "other", []string{"1", "null", "[2, 1]", `{"x": 2, "y": 1}`, `[[{"x": 1}]]`})
	default:
		return "[" + strings.Join(parts, ", ") + "]"
	}
}
