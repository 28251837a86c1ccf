package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// TestCollatedPlansAgreeWithScan compares index plans with a scan, for several collations of the
// query and of the index.
func TestCollatedPlansAgreeWithScan(t *testing.T) {
	t.Parallel()
	english := bsonx.NewDoc("locale", "en", "strength", 2)
	co, err := collation.Parse(english)
	if err != nil {
		t.Fatal(err)
	}
	values := []string{`"a"`, `"A"`, `"b"`, `"B"`, `1`, `2`, `1.0`, `2.5`, `null`, `{"x": "A"}`, `true`}
	filters := []string{
		`{"a": {"$mod": [2, 0]}}`, `{"a": {"$type": "int"}}`, `{"a": {"$type": "string"}}`, `{"a": {"$regex": "^a"}}`,
		`{"a": {"$regex": "B"}, "b": 1}`,
		`{"a": "A"}`, `{"a": {"$gt": "a"}}`, `{"a": {"$gte": 1}, "b": {"$type": "int"}}`,
		`{"a": {"$in": ["b", 1]}, "b": {"$mod": [2, 1]}}`,
		`{"$or": [{"a": 1, "b": "a"}, {"a": 2}], "b": {"$gt": 0}}`, `{"a": {"$exists": true}}`,
	}
	rapid.Check(t, func(r *rapid.T) {
		f := newFixture(&quiet{t, r})
		defer f.store.Close()
		for i := range rapid.IntRange(1, 30).Draw(r, "documents") {
			d := fmt.Sprintf(`{"_id": %d`, i)
			for _, name := range []string{"a", "b"} {
				if rapid.IntRange(0, 9).Draw(r, "has") > 0 {
					d += `, "` + name + `": ` + pick(r, "value", values)
				}
			}
			f.insert(bsonxtest.MustParse(d + "}"))
		}
		var options []any
		if rapid.Bool().Draw(r, "collated index") {
			options = append(options, "collation", english)
		}
		if rapid.Bool().Draw(r, "sparse") {
			options = append(options, "sparse", true)
		}
		f.planner.SetCollatedRegex(rapid.Bool().Draw(r, "collated regex"))
		f.index("i", bsonxtest.MustParse(pick(r, "key",
			[]string{`{"a": 1}`, `{"a": 1, "b": -1}`, `{"b": 1, "a": 1}`})), options...)
		for _, text := range filters {
			q := f.query(text, pick(r, "sort", []string{"", `{"b": 1}`, `{"a": -1}`}))
			if rapid.IntRange(0, 3).Draw(r, "collated query") > 0 {
				q.Collation = co
				if q.Filter, err = filter.Parse(bsonxtest.MustParse(text),
					filter.Options{Vars: expressions.Scope(), Collation: co}); err != nil {
					r.Fatal(err)
				}
			}
			scan := *q
			scan.Hint = bsonx.Document(bsonx.NewDoc("$natural", 1))
			if got, want := f.ids(r, q), f.ids(r, &scan); !slices.Equal(got, want) {
				r.Fatalf("%s: %v, want %v", text, got, want)
			}
		}
	})
}

// TestCollatedRegex checks that a regular expression reads an index with a collation only if
// SetCollatedRegex allows it.
func TestCollatedRegex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, a := range []string{`"abc"`, `"ABd"`, `5`, `"b"`, `["abx", "c"]`} {
		f.insert(bsonxtest.MustParse(fmt.Sprintf(`{"_id": %d, "a": %s}`, i, a)))
	}
	f.index("i", bsonxtest.MustParse(`{"a": 1}`), "collation", bsonx.NewDoc("locale", "en", "strength", 2))
	for _, c := range []struct {
		on   bool
		want string
	}{{false, "COLLSCAN"}, {true, "IXSCAN"}, {false, "COLLSCAN"}} {
		f.planner.SetCollatedRegex(c.on)
		q := f.query(`{"a": {"$regex": "^ab"}}`, "")
		e, err := f.tryExplain(&explain.Request{Query: q, Verbosity: explain.QueryPlanner})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(e.QueryPlanner); !strings.Contains(got, `"`+c.want+`"`) {
			t.Errorf("%v: %s", c.on, got)
		}
		docs, err := f.find(q, 10)
		if err != nil || len(docs) != 2 {
			t.Errorf("%v: %d documents, %v", c.on, len(docs), err)
		}
	}
}

// ids returns the sorted _ids of a query's documents.
func (f *fixture) ids(r *rapid.T, q *query.Query) []int64 {
	docs, err := f.find(q, 3)
	if err != nil {
		r.Fatal(err)
	}
	var out []int64
	for _, d := range docs {
		id, _ := d.Lookup("_id").AsInt64()
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}
