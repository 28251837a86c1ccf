package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// TestLookupUnwind checks that a $lookup fused with the following $unwind, and narrowed to the
// fields that later stages read, gives the same results as the separate stages.
func TestLookupUnwind(t *testing.T) {
	t.Parallel()
	var docs, foreign []bsonx.Doc
	for i, k := range []string{`1`, `2.0`, `null`, `[1, 2]`, `"x"`, `[]`, `{"p": 1}`} {
		docs = append(docs, bsonxtest.Parse(t, fmt.Sprintf(`{"_id": %d, "k": %s, "r": "old", "o": {"a": 1, "r": 2, "b": 3}, "z": %d}`, i, k, i)))
		foreign = append(foreign,
			bsonxtest.Parse(t, fmt.Sprintf(`{"_id": %d, "k": %s, "q": {"n": %d}, "l": [{"n": %d}, 7]}`, 10+i, k, i,
				i%2)))
	}
	docs = append(docs, bsonxtest.Parse(t, `{"k": 1, "r": [], "_id": 50}`))
	colls := fakeCollections{"f": foreign, "indexedF": foreign}
	joins := []string{
		`{"from": "f", "localField": "k", "foreignField": "k", "as": "%[1]s"}`,
		`{"from": "indexedF", "localField": "k", "foreignField": "k", "as": "%[1]s"}`,
		`{"from": "f", "let": {"z": "$z"}, "pipeline": [{"$match": {"$expr": {"$lt": ["$q.n", "$$z"]}}}, {"$project": {"q": 1, "l": 1}}], "as": "%[1]s"}`,
		`{"from": "f", "localField": "k", "foreignField": "k", "pipeline": [{"$sort": {"_id": -1}}, {"$limit": 1}], "as": "%[1]s"}`,
		`{"pipeline": [{"$documents": [{"q": {"n": 1}}, {"q": {"n": 5}, "l": [{"n": 1}]}]}], "as": "%[1]s"}`,
	}
	unwinds := []string{
		`"$%[1]s"`, `{"path": "$%[1]s", "preserveNullAndEmptyArrays": true}`,
		`{"path": "$%[1]s", "includeArrayIndex": "i"}`,
		`{"path": "$%[1]s", "includeArrayIndex": "%[1]s.i"}`, `{"path": "$%[1]s", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "o.i"}`,
	}
	rests := []string{
		``,
		`, {"$match": {"%[1]s.q.n": {"$gt": 1}}}`,
		`, {"$match": {"%[1]s.q.n": {"$gt": 1}, "z": {"$lt": 5}, "$or": [{"%[1]s.l.n": 1}, {"%[1]s.l": 7}]}}`,
		`, {"$match": {"%[1]s.l": {"$elemMatch": {"n": 1}}, "$expr": {"$gt": ["$%[1]s.q.n", "$z"]}}}`,
		`, {"$match": {"%[1]s.0": {"$exists": false}, "%[1]s": {"$type": "object"}}}`,
		`, {"$match": {"%[1]s.k": null}}`,
		`, {"$group": {"_id": "$%[1]s.q.n", "n": {"$sum": 1}, "z": {"$push": "$z"}}}, {"$sort": {"_id": 1}}`,
		`, {"$group": {"_id": null, "n": {"$sum": 1}}}`,
		`, {"$project": {"o": 1, "i": 1}}`,
	}
	for _, as := range []string{"r", "n", "o.r", "o.x.y"} {
		for _, join := range joins {
			for _, unwind := range unwinds {
				for _, rest := range rests {
					text := fmt.Sprintf(`{"v": [{"$lookup": `+join+`}, {"$unwind": `+unwind+`}`+rest+`]}`, as)
					stages := bsonxtest.Parse(t, strings.TrimSuffix(text, "%!(EXTRA string="+as+")")).Lookup("v")
					want := outcomeOf(stages, docs, parsing.AllRules, colls.env())
					for _, rules := range []parsing.Rule{
						0, parsing.AllRules &^ parsing.RuleFuse,
						parsing.AllRules &^ parsing.RuleNarrow,
					} {
						got := outcomeOf(stages, docs, rules, colls.env())
						if got.err != nil || want.err != nil || !slices.EqualFunc(got.docs, want.docs, equalDocs) {
							t.Fatalf("%s\nwithout the rules %b: %v\n%s\nwithout any: %v\n%s",
								bsonx.FormatShell(stages), rules, got.err,
								show(t, got.docs), want.err, show(t, want.docs))
						}
					}
				}
			}
		}
	}
}

// TestLookupUnwindLong joins more data than a document can hold. With an $unwind it must succeed,
// because no document contains the whole array.
func TestLookupUnwindLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	var foreign []bsonx.Doc
	for i := range 20 {
		foreign = append(foreign, bsonx.NewDoc("_id", i, "long", long))
	}
	colls := fakeCollections{"f": foreign}
	docs := []bsonx.Doc{bsonx.NewDoc("_id", 1), bsonx.NewDoc("_id", 2)}
	lookup := `{"$lookup": {"from": "f", "localField": "a", "foreignField": "b", "as": "r"}}`
	stages := bsonxtest.Parse(t,
		`{"v": [`+lookup+`, {"$unwind": {"path": "$r", "includeArrayIndex": "i"}}]}`).Lookup("v")
	got := outcomeOf(stages, docs, 0, colls.env())
	if got.err != nil || len(got.docs) != 40 {
		t.Fatal(len(got.docs), got.err)
	}
	for i, d := range got.docs {
		if id, n := d.LookupPath("r", "_id").Int32(), d.Lookup("i").Int64(); id != int32(i%20) || n != int64(id) {
			t.Errorf("the %d-th is %d, with index %d", i, id, n)
		}
	}
	p := mustParse(t, `[`+lookup+`]`, parsing.Options{Vars: expressions.Scope()})
	if _, err := p.Run(&source.Slice{Docs: docs}, colls.env()).
		Next(context.Background()); mongoerr.CodeOf(err) != 4568 {
		t.Error(err)
	}
}

// TestUnwindAllocatesNothing checks that $unwind and a $group of the elements do not allocate per
// element.
func TestUnwindAllocatesNothing(t *testing.T) {
	docs := make([]bsonx.Doc, 500)
	for i := range docs {
		docs[i] = bsonxtest.Parse(t, fmt.Sprintf(`{"_id": %d, "a": "text", "items": [{"sku": "a", "qty": 1}, {"sku": "b", "qty": 2}, {"sku": "c", "qty": 3}], "z": 1}`, i))
	}
	p := mustParse(t, `[{"$unwind": "$items"}, {"$group": {"_id": "$items.sku", "n": {"$sum": "$items.qty"}}}]`, parsing.Options{Vars: expressions.Scope()})
	allocs := testing.AllocsPerRun(5, func() {
		drain(t, p, docs, nil)
	})
	if allocs > 200 {
		t.Errorf("%v allocations for 1500 elements", allocs)
	}
}

// BenchmarkUnwind unwinds the items of orders, and groups the items.
func BenchmarkUnwind(b *testing.B) {
	benchmarkOrders(b, `[{"$unwind": "$items"}, {"$group": {"_id": "$items.sku", "n": {"$sum": 1}, "total": {"$sum": "$items.qty"}}}]`)
}

// BenchmarkLookupUnwind joins orders with customers, and groups the pairs by country.
func BenchmarkLookupUnwind(b *testing.B) {
	benchmarkOrders(b, `[{"$lookup": {"from": "customers", "localField": "customer", "foreignField": "_id", "as": "c"}}, {"$unwind": "$c"},
		{"$group": {"_id": "$c.country", "n": {"$sum": 1}, "total": {"$sum": "$total"}}}]`)
}

func benchmarkOrders(b *testing.B, stages string) {
	docs := orderDocs(10_000)
	customers := make([]bsonx.Doc, 1000)
	for i := range customers {
		customers[i] = bsonx.NewDoc("_id", int32(i), "name", strings.Repeat("n", 50),
			"country", fmt.Sprint("country", i%25))
	}
	env := fakeCollections{"customers": customers}.env()
	p := mustParse(b, stages, parsing.Options{Vars: expressions.Scope()})
	b.ReportAllocs()
	for b.Loop() {
		drain(b, p, docs, env)
	}
	b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}
