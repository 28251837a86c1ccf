package plan_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/projection"
)

// TestOptionalProjection checks that an optional projection is applied if an index covers it, and
// not above a fetch.
func TestOptionalProjection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("a_1_b_1", bsonx.NewDoc("a", 1, "b", 1))
	for i := range 5 {
		f.insert(bsonx.NewDoc("_id", i, "a", i, "b", -i, "c", "x"))
	}
	for fields, want := range map[string]string{
		`{"_id": 0, "a": 1, "b": 1}`: `{ a: 3, b: -3 }`,
		`{"_id": 0, "a": 1, "c": 1}`: `{ _id: 3, a: 3, b: -3, c: "x" }`,
	} {
		q := f.query(`{"a": 3}`)
		p, err := projection.Parse(bsonxtest.MustParse(fields), projection.Options{Vars: expressions.Scope()})
		if err != nil {
			t.Fatal(err)
		}
		q.Projection, q.ProjectionSpec, q.OptionalProjection = p, bsonxtest.MustParse(fields), true
		got, err := f.find(q, 0)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if text := bsonx.FormatShell(bsonx.Document(got[0])); text != want {
			t.Errorf("%s: %s", fields, text)
		}
	}
}
