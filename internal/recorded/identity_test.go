package recorded

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// TestIdentity queries, under a collation that ignores case, documents whose _ids differ only in
// case. They must stay different documents.
func TestIdentity(t *testing.T) {
	t.Parallel()
	c := class{file: "identity.txt", setup: func(t *testing.T, db *mongo.Database) {
		for _, coll := range []string{"c", "indexed"} {
			must(t, db, d("insert", coll, "documents", bson.A{
				d("_id", "a", "p", "x", "q", "b", "k", 1), d("_id", "A", "p", "X", "q", "B", "k", 2),
				d("_id", "b", "p", "a", "q", "A", "k", 3),
				d("_id", "B", "p", "A", "q", "x", "k", 4), d("_id", "x", "p", bson.A{"b", "B"}, "q", 1, "k", 5),
				d("_id", "X", "p", nil, "k", 6),
			}))
		}
		must(t, db, d("createIndexes", "indexed", "indexes", bson.A{
			d("key", d("p", 1), "name", "p", "collation", d("locale", "en", "strength", 1)),
			d("key", d("q", 1), "name", "q", "collation", d("locale", "en", "strength", 1)),
			d("key", d("p", 1, "q", 1), "name", "pq", "collation", d("locale", "en", "strength", 1)),
		}))
	}}
	// The pipelines read only one document, because the recorded server remembers the result for
	// the previous document.
	byKey, first := d("$sort", d("k", 1)), d("$match", d("k", 1))
	for _, coll := range []string{"c", "indexed"} {
		graph := d("from", coll, "startWith", "$p", "connectFromField", "p", "connectToField", "_id", "as", "g")
		deep := append(graph[:len(graph):len(graph)], bson.E{"depthField", "n"})
		for name, pipeline := range map[string]bson.A{
			"graph": {first, d("$graphLookup", graph), d("$project", d("k", 1, "n", d("$size", "$g"))), byKey},
			"unwound": {
				first, d("$graphLookup", deep), d("$unwind", "$g"),
				d("$group", d("_id", nil, "n", d("$sum", 1))),
			},
			"by q": {
				first, d("$graphLookup",
					d("from", coll, "startWith", "$q", "connectFromField", "q", "connectToField", "p", "as", "g")),
				d("$project", d("k", 1, "n", d("$size", "$g"))), byKey,
			},
			"lookup": {
				d("$lookup", d("from", coll, "localField", "p", "foreignField", "_id", "as", "g")),
				d("$project", d("k", 1, "n", d("$size", "$g"))), byKey,
			},
			"or":    {d("$match", d("$or", bson.A{d("p", "a"), d("q", "A")})), d("$count", "n")},
			"in":    {d("$match", d("p", d("$in", bson.A{"a", "x"}))), d("$sort", d("q", 1)), d("$count", "n")},
			"union": {d("$unionWith", coll), d("$count", "n")},
			"window": {
				d("$setWindowFields", d("partitionBy", "$_id", "output", d("n", d("$sum", 1)))),
				d("$project", d("k", 1, "n", 1)), byKey,
			},
			"group": {
				d("$group", d("_id", "$_id", "n", d("$sum", 1))),
				d("$group", d("_id", nil, "n", d("$push", "$n"))),
			},
			"merge": {d("$merge", d("into", "out"+coll)), d("$count", "n")},
		} {
			cmd := d("aggregate", coll, "pipeline", pipeline, "cursor", d(), "collation",
				d("locale", "en", "strength", 1))
			c.cases = append(c.cases, question{
				name: coll + " " + name,
				ask:  func(ctx context.Context, db *mongo.Database) string { return answer(ctx, db, cmd) },
			})
		}
	}
	check(t, c)
}
