package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
)

// TestOneOf compares queries with OneOf, which allows reading only one row for each value of a
// field, with the same queries without it. The first or last rows of each value must be the same
// for all plans.
func TestOneOf(t *testing.T) {
	t.Parallel()
	jumps := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		pick := func(from ...string) string { return from[rng.IntN(len(from))] }
		f := newFixture(t)
		for i, key := range []string{
			`{"a": 1}`, `{"a": 1, "b": -1}`, `{"a": -1, "b": 1}`,
			`{"b": 1, "a": 1}`, `{"o.p": 1, "b": 1}`,
		} {
			if rng.IntN(2) == 0 {
				f.index(fmt.Sprint("ix", i), bsonxtest.MustParse(key), "sparse", rng.IntN(6) == 0)
			}
		}
		values := []string{"1", "1.0", "2", `"x"`, "null", `{"q": 1}`, "true", `{"$numberDecimal": "2.0"}`}
		if rng.IntN(3) == 0 {
			values = append(values, "[1, 2]", "[]")
		}
		for i := range 40 {
			text := fmt.Sprintf(`{"_id": %d`, i)
			for _, name := range []string{"a", "b"} {
				if rng.IntN(5) > 0 {
					text += fmt.Sprintf(`, %q: %s`, name, pick(values...))
				}
			}
			text += fmt.Sprintf(`, "o": {"p": %s}}`, pick(values...))
			f.insertValid([]bsonx.Doc{bsonxtest.MustParse(text)}, 0)
		}
		for range 20 {
			field := pick("a", "b", "o.p")
			sort := pick("", fmt.Sprintf(`{%q: 1}`, field), fmt.Sprintf(`{%q: -1, "b": 1}`, field),
				fmt.Sprintf(`{%q: 1, "b": -1}`, field), `{"b": 1}`)
			if strings.Count(sort, `"b"`) > 1 {
				sort = `{"b": 1}`
			}
			predicate := pick("{}", fmt.Sprintf(`{%q: {"$gte": 1}}`, field),
				fmt.Sprintf(`{%q: {"$in": [1, "x", null]}}`, field), `{"b": {"$gt": 1}}`)
			fields := ""
			if rng.IntN(2) == 0 {
				fields = fmt.Sprintf(`{"_id": 0, %q: 1}`, field)
			}
			jumps += checkOneOf(t, f, func() *query.Query { return f.query(predicate, sort) },
				field, fields, rng.IntN(2) == 0)
			if t.Failed() {
				t.Fatalf("seed %d: %s of %s, sort %s, fields %s", seed, field, predicate, sort, fields)
			}
		}
	}
	if jumps < 100 {
		t.Errorf("only %d queries jumped over rows", jumps)
	}
}

func checkOneOf(t *testing.T, f *fixture, query func() *query.Query, field, fields string, last bool) (jumps int) {
	t.Helper()
	var found [2]map[string]string
	for i := range found {
		q := query()
		last := last && len(q.Sort) > 0
		if fields != "" {
			p, err := projection.Parse(bsonxtest.MustParse(fields), projection.Options{Vars: expressions.Scope()})
			if err != nil {
				t.Fatal(err)
			}
			q.Projection, q.ProjectionSpec, q.OptionalProjection = p, bsonxtest.MustParse(fields), true
		}
		if i == 1 {
			q.OneOf, q.LastOf = field, last
		}
		rows, err := f.find(q, 2+i)
		if err != nil {
			return 0 // the sort keys are parallel arrays
		}
		found[i] = map[string]string{}
		jumped := i == 1 && strings.Contains(text(f.explain(q, explain.Find, explain.QueryPlanner).
			QueryPlanner), "DISTINCT_SCAN")
		if jumped {
			jumps++
		}
		for _, row := range rows {
			// A distinct scan for the last rows reads backwards. The order of rows that the sort
			// considers equal is not defined.
			value := bsonx.Null
			if v := lookup(row, field); !v.IsMissing() {
				value = v
			}
			group := string(keystring.Append(nil, value, false))
			if _, ok := found[i][group]; ok && (!last || jumped) {
				continue
			}
			found[i][group] = ""
			if fields != "" {
				continue
			}
			for it := q.Sort.Iter(); it.Next(); {
				v := lookup(row, string(it.Key()))
				if v.IsMissing() {
					v = bsonx.Null
				}
				found[i][group] += fmt.Sprintf("%x ", keystring.Append(nil, v, false))
			}
		}
	}
	if fmt.Sprint(found[0]) != fmt.Sprint(found[1]) {
		t.Errorf("\n%q, and where one of each is read\n%q", found[0], found[1])
	}
	return jumps
}

func lookup(row bsonx.Doc, path string) bsonx.Value {
	name, below, nested := strings.Cut(path, ".")
	v := row.Lookup(name)
	if !nested || v.Type != bsonx.TypeDocument {
		return v
	}
	return lookup(v.Doc(), below)
}
