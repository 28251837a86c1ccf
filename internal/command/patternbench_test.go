//go:build unix

package command_test

import (
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// The number of top categories, and of named categories with products.
const (
	benchTops  = 20
	benchNamed = 1000
)

// newBenchPatterns returns a service with an oplog, and with the categories, products, articles and
// comments of the patterns in bench.
func newBenchPatterns(b *testing.B) *hotPath {
	h := newSetPath(b)
	insert := func(coll string, docs []bsonx.Doc) {
		h.run(bsonx.NewDoc("insert", coll, "documents", docs, "$db", "db"))
	}
	var tree []bsonx.Doc
	add := func(parent, name string) string {
		tree = append(tree, bsonx.NewDoc("_id", int64(len(tree)), "name", name, "parent", parent+"/",
			"category", parent+"/"+name+"/"))
		return parent + "/" + name
	}
	for t := range benchTops {
		top := add("", fmt.Sprintf("top%02d", t))
		for m := range 4 {
			middle := add(top, fmt.Sprintf("middle%02d", m))
			for l := range 20 {
				add(middle, fmt.Sprintf("leaf%02d", l))
			}
		}
	}
	insert("tree", tree)
	index := func(coll, path string) {
		h.run(bsonx.NewDoc("createIndexes", coll, "indexes",
			[]bsonx.Doc{bsonx.NewDoc("name", path, "key", bsonx.NewDoc(path, 1))}, "$db", "db"))
	}
	index("tree", "category")
	index("tree", "parent")
	var products, articles []bsonx.Doc
	for i := range 10 * benchNamed {
		names := bsonx.NewDoc()
		products = append(products, bsonx.NewDoc("_id", int64(i), "cost", int64(i%97),
			"categories", []bsonx.Doc{bsonx.NewDoc("_id", int64(i/10), "names", names)}))
	}
	insert("products", products)
	index("products", "categories._id")
	for i := range benchNamed {
		articles = append(articles, bsonx.NewDoc("_id", int64(i), "title", fmt.Sprintf("article %d", i)))
	}
	insert("articles", articles)
	return h
}

// BenchmarkPatterns measures commands of the patterns in bench, without connections.
func BenchmarkPatterns(b *testing.B) {
	h := newBenchPatterns(b)
	update := func(coll string, pairs ...any) *request {
		return newRequest(commandDoc("update", coll, "ordered", true), "updates", bsonx.NewDoc(pairs...))
	}
	find := func(parent any) *request {
		return newRequest(commandDoc("find", "tree", "filter", bsonx.NewDoc("parent", parent)), "")
	}
	comment := bsonx.NewDoc("_id", int64(placeholder), "author", "somebody", "text",
		"what is said about the article, in some words")
	for _, c := range []struct {
		name    string
		request *request
		numbers int // number of documents that the request changes in turn
	}{
		{"children", find("/top07/middle02/"), 1},
		{"subtree", find(bsonx.Regex("^/top07/", "")), 1},
		{"addLocale", update("products", "q", bsonx.NewDoc("categories._id", placeholder),
			"u", bsonx.NewDoc("$inc", bsonx.NewDoc("categories.$.names.xx", 1)), "multi", true), benchNamed},
		{"incReturn", newRequest(commandDoc("findAndModify", "articles", "query", bsonx.NewDoc("_id", placeholder),
			"update", bsonx.NewDoc("$inc", bsonx.NewDoc("comments", int64(1))), "new", true, "fields",
			bsonx.NewDoc("comments", 1)), ""), benchNamed},
		{"pushBucket", update("comments", "q", bsonx.NewDoc("_id", placeholder), "u",
			bsonx.NewDoc("$inc", bsonx.NewDoc("count", int64(1)),
				"$push", bsonx.NewDoc("comments", comment)), "upsert", true), benchNamed},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			start := cpuTime(b)
			for b.Loop() {
				h.sendNumber(c.request, i%c.numbers)
				i++
			}
			b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
		})
	}
}
