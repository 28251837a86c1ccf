package recorded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// groupIDs are the forms of a $group's _id, on fields that are missing, null, numbers, arrays and
// documents.
var groupIDs = []string{
	`{"a":"$a"}`, `{"a":"$a","b":"$b"}`, `"$a"`, `["$a"]`, `["$a","$b"]`, `{"a":{"b":"$a"}}`,
	`{"a":{"b":"$a","c":"$b"}}`, `{"a":["$a"]}`,
	`{"a":"$a.x"}`, `{"a":{"$ifNull":["$a","$$REMOVE"]}}`, `{"a":"$$REMOVE"}`, `{"a":"$a","b":{"$literal":1}}`,
	`{"a":"$a","b":"$$REMOVE"}`, `{"a":{},"b":"$a"}`,
	`{"a":{"$literal":1}}`, `{"a":{"$add":["$a.x",1]}}`, `{"x":{"y":{"z":"$a"}}}`, `{"a":["$a","$b"]}`, `"$a.x"`,
	`{"$ifNull":["$b","$$REMOVE"]}`,
	`{"a":"$$ROOT.a"}`, `{"a":{"$getField":"a"}}`, `{"a":{"b":["$a"]}}`, `{"a":"$a","b":{}}`,
	`{"$mergeObjects":[{"a":"$a"}]}`, `{}`, `[]`,
	`{"a":{"$first":["$a"]}}`, `{"a":{"b":"$a"},"c":"$b"}`, `{"a":{"b":"$a"},"c":{"d":"$b"}}`, `null`, `1`,
	`"$$REMOVE"`, `{"_id":"$a"}`, `{"a":{}}`, `{"$type":"$a"}`, `{"k":{"$isArray":"$a"}}`,
}

// TestGroupIDs groups by each form of an _id: with and without an index, sorted, after a $project,
// and with accumulators that read one document per group.
func TestGroupIDs(t *testing.T) {
	t.Parallel()
	docs := bson.A{
		d("_id", 1), d("_id", 2, "a", nil), d("_id", 3, "a", 1, "b", 2), d("_id", 4, "a", 1, "b", nil),
		d("_id", 5, "a", 1.0), d("_id", 6, "b", nil),
		d("_id", 7, "a", bson.A{}, "b", 1), d("_id", 8, "a", d(), "b", 1),
		d("_id", 9, "a", d("x", nil)), d("_id", 10, "a", d("x", 1)),
		d("_id", 11, "a", bson.Undefined{}), d("_id", 12, "a", int64(1), "b", 2),
		d("_id", 13, "a", d("x", 1.0), "b", d()),
	}
	c := class{file: "groups.txt", setup: func(t *testing.T, db *mongo.Database) {
		for coll, key := range map[string]bson.D{
			"none": nil, "a": d("a", 1),
			"ab": d("a", 1, "b", 1), "down": d("a", -1),
		} {
			must(t, db, d("insert", coll, "documents", docs))
			if key != nil {
				must(t, db, d("createIndexes", coll, "indexes", bson.A{d("key", key, "name", "i")}))
			}
		}
	}}
	sort := d("$sort", d("a", 1, "_id", 1))
	for i, text := range groupIDs {
		id := bsonxtest.MustParseD(`{"v":` + text + `}`)[0].Value
		for _, coll := range []string{"none", "a", "ab", "down"} {
			for name, pipeline := range map[string]bson.A{
				"alone": {d("$group", d("_id", id))}, "counted": {d("$group", d("_id", id, "n", d("$sum", 1)))},
				"first":   {sort, d("$group", d("_id", id, "f", d("$first", "$_id"), "l", d("$last", "$_id")))},
				"pushed":  {d("$sort", d("_id", 1)), d("$group", d("_id", id, "n", d("$push", "$_id")))},
				"shaped":  {d("$project", d("a", 1, "b", 1, "_id", 0)), d("$group", d("_id", id, "n", d("$sum", 1)))},
				"twice":   {d("$group", d("_id", id)), d("$group", d("_id", d("k", "$_id.a"), "n", d("$sum", 1)))},
				"matched": {d("$match", d("a", d("$gte", nil))), d("$group", d("_id", id, "n", d("$sum", 1)))},
			} {
				cmd := d("aggregate", coll, "pipeline", pipeline, "cursor", d())
				c.cases = append(c.cases, question{
					name: fmt.Sprintf("%02d %s %s %s", i, text, coll, name),
					ask: func(ctx context.Context, db *mongo.Database) string {
						rows := strings.Split(answer(ctx, db, cmd), " {\"_id\"")
						rows[0] = strings.TrimPrefix(rows[0], "{\"_id\"")
						slices.Sort(rows)
						return strings.Join(rows, " ")
					},
				})
			}
		}
	}
	check(t, c)
}
