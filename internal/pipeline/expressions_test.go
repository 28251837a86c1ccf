package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// expressionPipelines lists the pipelines of the aggregation benchmark that spend most of their
// time in expressions.
var expressionPipelines = []struct{ name, stages string }{
	{"computed", `[{"$project": {
		"a": {"$multiply": ["$total", 1.19]}, "b": {"$year": "$created"}, "c": {"$month": "$created"}, "d": {"$size": "$items"},
		"e": {"$concat": ["$address.city", " ", "$address.zip"]}, "f": {"$cond": [{"$gte": ["$total", 1000]}, "large", "small"]},
		"g": {"$toUpper": "$status"}, "h": {"$strLenCP": "$note"}, "i": {"$mod": ["$customer", 7]}, "j": {"$round": [{"$divide": ["$total", 3]}, 2]}}},
		{"$group": {"_id": null, "a": {"$max": "$a"}, "b": {"$max": "$b"}, "c": {"$max": "$c"}, "d": {"$max": "$d"}, "e": {"$max": "$e"},
			"f": {"$max": "$f"}, "g": {"$max": "$g"}, "h": {"$max": "$h"}, "i": {"$max": "$i"}, "j": {"$max": "$j"}}}]`},
	{"months", `[{"$group": {"_id": {"$dateTrunc": {"date": "$created", "unit": "month"}}, "n": {"$sum": 1}, "total": {"$sum": "$total"}}}]`},
	{"runningTotal", `[{"$setWindowFields": {"partitionBy": "$customer", "sortBy": {"created": 1},
		"output": {"running": {"$sum": "$total", "window": {"documents": ["unbounded", "current"]}}}}},
		{"$group": {"_id": null, "total": {"$max": "$running"}}}]`},
}

// orderDocs returns n random orders of about 400 bytes each, like the documents of the aggregation
// benchmark.
func orderDocs(n int) []bsonx.Doc {
	rng := rand.New(rand.NewPCG(1, 2))
	docs := make([]bsonx.Doc, n)
	for i := range docs {
		var items []bsonx.Doc
		total := 0.0
		for range 1 + rng.IntN(5) {
			qty, price := int32(1+rng.IntN(9)), float64(1+rng.IntN(4000))/4
			items = append(items, bsonx.NewDoc("sku",
				fmt.Sprintf("sku-%03d", rng.IntN(200)), "qty", qty, "price", price))
			total += float64(qty) * price
		}
		docs[i] = bsonx.NewDoc(
			"_id", int64(i), "customer", int32(rng.IntN(1000)), "status", fmt.Sprintf("status%02d", rng.IntN(20)),
			"created", bsonx.Date(1672531200000+rng.Int64N(731*24*3600*1000)), "items", items, "total", total,
			"address", bsonx.NewDoc("street", strings.Repeat("s", 16), "city", strings.Repeat("c", 10), "zip",
				fmt.Sprintf("%05d", rng.IntN(100_000))),
			"note", strings.Repeat("n", 100))
	}
	return docs
}

func BenchmarkExpressions(b *testing.B) {
	docs := orderDocs(10_000)
	for _, c := range expressionPipelines {
		b.Run(c.name, func(b *testing.B) {
			p := mustParse(b, c.stages, parsing.Options{Vars: expressions.Scope()})
			b.ReportAllocs()
			for b.Loop() {
				drain(b, p, docs, nil)
			}
			b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
		})
	}
}

// TestExpressionsAllocateNothing checks that computed fields, and a $group by them, do not
// allocate per document.
func TestExpressionsAllocateNothing(t *testing.T) {
	docs := orderDocs(5000)
	for _, c := range []struct {
		stages  string
		disable parsing.Rule
	}{
		{expressionPipelines[0].stages, 0},
		{expressionPipelines[0].stages, parsing.RuleAbsorb},
		{expressionPipelines[1].stages, 0},
	} {
		p := mustParse(t, c.stages, parsing.Options{Vars: expressions.Scope(), Disable: c.disable})
		n := testing.AllocsPerRun(5, func() { drain(t, p, docs, nil) })
		// Sources, groups and chunks allocate a number of times that does not depend on the number
		// of documents.
		if n > 0.1*float64(len(docs)) {
			t.Errorf("%s: %v allocations for %d documents", c.stages, n, len(docs))
		}
	}
}
