package recorded

import (
	"context"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// A case is a pipeline of three parts: one of sortKeyFirst, one of sortKeyLast, and one of
// sortKeyUses, which reads the sort key. No two documents have equal values, because MongoDB omits
// a sort before another sort.
var (
	sortKeyFirst = map[string]string{
		"none": ``, "sort": `{"$sort": {"a": 1}},`, "two": `{"$sort": {"a": 1}}, {"$sort": {"b": 1}},`,
		"match": `{"$sort": {"b": 1}}, {"$match": {"a": {"$gt": 1}}},`, "limit": `{"$sort": {"b": -1}}, {"$limit": 2},`,
		"set": `{"$sort": {"b": 1}}, {"$set": {"q": 1}},`, "group": `{"$group": {"_id": "$_id", "a": {"$first": "$a"}, "b": {"$first": "$b"}}},`,
		"unwind": `{"$sort": {"a": 1}}, {"$unwind": "$b"},`,
	}
	sortKeyLast = map[string]string{
		"sort": `{"$sort": {"_id": 1}}`, "down": `{"$sort": {"b": -1}}`, "pair": `{"$sort": {"b": 1, "a": -1}}`,
		"bounded": `{"$sort": {"b": 1}}, {"$limit": 2}`, "skip": `{"$sort": {"b": 1}}, {"$skip": 1}`,
		"missing":   `{"$sort": {"zz": 1, "b": 1}}`,
		"window":    `{"$setWindowFields": {"sortBy": {"b": 1}, "output": {"r": {"$rank": {}}}}}`,
		"partition": `{"$setWindowFields": {"partitionBy": "$a", "sortBy": {"b": 1}, "output": {"r": {"$rank": {}}}}}`,
		"fill":      `{"$fill": {"sortBy": {"_id": 1}, "output": {"q": {"method": "locf"}}}}`,
		"count":     `{"$sortByCount": "$c"}`,
		"bucket":    `{"$bucketAuto": {"groupBy": "$a", "buckets": 1}}`,
		"boundary":  `{"$bucket": {"groupBy": "$a", "boundaries": [0, 4, 9]}}`,
		"match":     `{"$sort": {"_id": 1}}, {"$match": {"b": {"$ne": "q"}}}`,
	}
	sortKeyUses = map[string]string{
		"project": `{"$project": {"k": {"$meta": "sortKey"}}}`, "set": `{"$set": {"k": {"$meta": "sortKey"}}}`,
		"group":  `{"$group": {"_id": 1, "k": {"$push": {"$meta": "sortKey"}}}}`,
		"facet":  `{"$facet": {"f": [{"$project": {"k": {"$meta": "sortKey"}}}]}}`,
		"later":  `{"$set": {"w": 1}}, {"$project": {"k": {"$meta": "sortKey"}}}`,
		"window": `{"$setWindowFields": {"output": {"k": {"$push": {"$meta": "sortKey"}}}}}`,
	}
)

// TestSortKeys compares the sort keys after several sorts, and on a view that sorts, with the
// recorded server.
func TestSortKeys(t *testing.T) {
	t.Parallel()
	c := class{file: "sortkeys.txt", grouped: true, setup: func(t *testing.T, db *mongo.Database) {
		t.Helper()
		must(t, db, bson.D{{"insert", "c"}, {"documents", bson.A{
			bson.D{{"_id", 1}, {"a", 5}, {"b", "x"}, {"c", 1}},
			bson.D{{"_id", 2}, {"a", 4}, {"b", "y"}, {"c", 1}},
			bson.D{{"_id", 3}, {"a", 3}, {"b", "w"}, {"c", 2}},
		}}})
		must(t, db, bson.D{{"create", "v"}, {"viewOn", "c"}, {"pipeline", bson.A{
			bson.D{{"$sort", bson.D{{"a", 1}}}},
		}}})
	}}
	for first, head := range sortKeyFirst {
		for last, tail := range sortKeyLast {
			for use, read := range sortKeyUses {
				if first == "unwind" && (last == "sort" || last == "match") {
					continue // MongoDB moves the last sort before $unwind, and then omits the first one
				}
				if first == "group" && (last == "skip" || last == "bounded") {
					continue // an earlier sort does not order the documents of a group
				}
				pipeline := "[" + head + tail + "," + read + "]"
				c.cases = append(c.cases,
					question{use + " " + first + " " + last, func(ctx context.Context, db *mongo.Database) string {
						return metadataAnswer(ctx, db, pipeline)
					}})
			}
		}
	}
	for _, sort := range []string{`{"_id": 1}`, `{"b": -1}`, `{"c": 1, "b": 1}`, `{"zz": 1, "a": 1}`} {
		find := `{"find": "v", "projection": {"k": {"$meta": "sortKey"}}, "sort": ` + sort + `}`
		c.cases = append(c.cases,
			question{"view " + strings.ReplaceAll(sort, " ", ""), func(ctx context.Context, db *mongo.Database) string {
				return textAnswer(ctx, db, find)
			}})
	}
	check(t, c)
}
