package recorded

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// formIndexes are the indexes of each collection, by the collection's name.
func formIndexes() map[string]bson.A {
	one := func(key bson.D, options ...any) bson.A {
		return bson.A{append(d("key", key, "name", "i"), d(options...)...)}
	}
	return map[string]bson.A{
		"three":   {d("key", d("a", 1), "name", "a"), d("key", d("b", 1), "name", "b"), d("key", d("c", 1), "name", "c")},
		"abc":     one(d("a", 1, "b", 1, "c", 1)),
		"both":    {d("key", d("a", 1, "c", 1), "name", "ac"), d("key", d("b", 1, "c", 1), "name", "bc")},
		"dotted":  one(d("o.x", 1, "o.y", -1)),
		"id":      one(d("a", 1, "_id", 1)),
		"first":   one(d("m", 1, "b", 1)),
		"within":  one(d("a", 1, "arr.p", 1, "arr.q", 1)),
		"partial": one(d("b", 1, "a", 1), "partialFilterExpression", d("a", d("$gt", 2))),
		"nulls":   one(d("n", 1, "a", 1)),
		"words":   one(d("s", 1, "a", 1)),
	}
}

// formFilters are the predicates that the commands of all forms use.
var formFilters = []string{
	`{}`, `{"a":3}`, `{"a":{"$gt":3}}`, `{"b":{"$gte":2}}`, `{"a":{"$in":[1,3,5]}}`,
	`{"a":{"$in":[5,1]},"b":{"$in":[2,4]}}`, `{"a":{"$gt":2,"$lt":7},"b":3}`, `{"b":3,"a":{"$gt":4}}`,
	`{"a":3,"c":{"$gt":50}}`, `{"a":{"$ne":3}}`, `{"a":{"$in":[3,4]},"c":{"$lt":90}}`, `{"o.x":3}`,
	`{"o.x":{"$gt":1},"o.y":2}`, `{"o.x":{"$in":[1,2]},"o.y":{"$gte":1}}`,
	`{"m":3}`, `{"m":{"$gt":2},"b":3}`, `{"m":{"$gt":1,"$lt":3}}`, `{"m":{"$elemMatch":{"$gt":1,"$lt":3}}}`,
	`{"a":3,"m":{"$gt":1,"$lt":12}}`, `{"a":{"$in":[1,2]},"m":{"$elemMatch":{"$gt":1,"$lt":4}}}`,
	`{"arr":{"$elemMatch":{"p":{"$gt":0,"$lt":3},"q":{"$gt":1,"$lt":4}}}}`, `{"arr":{"$elemMatch":{"p":{"$in":[1,2]},"q":{"$gte":2}}}}`, `{"a":3,"arr":{"$elemMatch":{"p":1,"q":{"$lt":3}}}}`,
	`{"arr":{"$elemMatch":{"p":1,"q":2}},"arr.p":{"$gt":0}}`, `{"arr.p":1,"arr.q":{"$gt":1}}`, `{"arr":{"$all":[{"$elemMatch":{"p":1,"q":2}},{"$elemMatch":{"p":2}}]}}`,
	`{"s":{"$regex":"^(apple|banana)1"}}`, `{"s":{"$regex":"^apple1|^banana"}}`,
	`{"s":{"$regex":"^b","$options":"m"}}`, `{"s":{"$regex":"^b","$options":"s"}}`,
	`{"s":{"$regex":"^ b #c","$options":"x"}}`,
	`{"s":{"$regex":"\\Aapple"}}`, `{"s":{"$regex":"^\\Qban\\E"}}`, `{"s":{"$regex":"^app[lm]e"}}`,
	`{"s":{"$regex":"^appl.e*"}}`, `{"s":{"$regex":"^apple\\d"},"a":{"$gt":3}}`, `{"s":{"$regex":"na"},"a":2}`,
	`{"s":{"$in":[{"$regularExpression":{"pattern":"^app","options":""}},{"$regularExpression":{"pattern":"^b","options":""}},"date2"]}}`,
	`{"s":{"$not":{"$regex":"^b"}}}`, `{"s":{"$nin":[{"$regularExpression":{"pattern":"^b","options":""}}]}}`, `{"s":{"$gte":"b","$lt":"c","$ne":"blue1"}}`, `{"s":{"$regex":"^b","$gt":"bl"}}`,
	`{"$or":[{"a":3,"b":1},{"a":3,"b":4}]}`, `{"a":3,"$or":[{"b":1},{"c":{"$gt":100}}]}`, `{"$or":[{"a":3},{"b":2}]}`,
	`{"$or":[{"a":{"$lt":2}},{"a":{"$gt":8}}]}`, `{"$or":[{"a":1},{"a":1,"b":2}]}`,
	`{"$or":[{"a":1,"c":{"$gt":50}},{"b":2,"c":{"$gt":50}}]}`, `{"c":{"$gt":50},"$or":[{"a":1},{"b":2}]}`, `{"$or":[{"a":3},{"$and":[{"a":4},{"b":2}]}]}`, `{"$and":[{"$or":[{"a":1},{"b":2}]},{"$or":[{"a":2},{"b":3}]}]}`,
	`{"n":null}`, `{"n":{"$exists":true}}`, `{"n":{"$gt":50},"a":3}`, `{"n":{"$in":[null,4]}}`,
	`{"n":{"$exists":false}}`, `{"n":{"$ne":null},"a":4}`, `{"n":null,"a":{"$gt":5}}`, `{"n":{"$type":"number"}}`,
	`{"a":{"$gt":5},"b":{"$lt":3}}`, `{"a":4,"b":{"$lt":3}}`, `{"a":{"$exists":true},"b":2}`,
	`{"$expr":{"$eq":["$a",3]},"b":2}`, `{"$nor":[{"a":3},{"a":5}]}`,
	`{"a":{"$not":{"$in":[1,2,3]}}}`, `{"a":3,"_id":{"$gt":100}}`,
	`{"a":{"$gte":3,"$lte":3}}`, `{"a":{"$gt":3},"$and":[{"a":{"$lt":6}},{"b":1}]}`, `{"a":{"$all":[3]}}`,
	`{"a":{"$eq":null}}`, `{"a":{"$lt":null}}`, `{"a":{"$gte":null}}`, `{"m":{"$size":2},"a":1}`,
	`{"m":{"$ne":3}}`, `{"m":{"$nin":[3,11]}}`,
	`{"m":[1,11]}`, `{"m":{"$in":[[1,11],[2,10]]}}`, `{"m":{"$gte":[1,11]}}`,
	`{"o":{"x":1,"y":1}}`, `{"o":{"$gt":{"x":2}}}`,
}

// formCommands are the commands with each filter, and commands without a filter.
func formCommands(coll string) map[string]bson.D {
	out := map[string]bson.D{}
	pipe := func(name string, stages ...any) {
		out[name] = d("aggregate", coll, "pipeline", bson.A(stages), "cursor", d())
	}
	for _, text := range formFilters {
		f := bsonxtest.MustParseD(text)
		match := d("$match", f)
		out["find "+text] = d("find", coll, "filter", f)
		out["count "+text] = d("count", coll, "query", f)
		out["counted within "+text] = d("count", coll, "query", f, "skip", 2, "limit", 5)
		out["computed cover "+text] = d("find", coll, "filter", f, "projection",
			d("_id", 0, "z", d("$add", bson.A{"$a", "$b"})))
		for _, key := range []string{"a", "b", "m", "o.x"} {
			out["distinct "+key+" "+text] = d("distinct", coll, "key", key, "query", f)
		}
		pipe("groups "+text, match, d("$group", d("_id", "$b")))
		pipe("top "+text, match,
			d("$group", d("_id", "$a", "v", d("$top", d("sortBy", d("a", 1, "b", 1), "output", "$b")))))
		pipe("projected "+text, match, d("$project", d("a", 1, "b", 1, "_id", 0)),
			d("$sort", d("a", 1, "b", 1)), d("$limit", 4))
		pipe("renamed "+text, match, d("$project", d("z", "$a")), d("$sort", d("z", 1)), d("$limit", 4))
		pipe("replaced "+text, d("$sort", d("a", 1)), d("$unset", "s"), match, d("$limit", 4))
		pipe("skipped "+text, match, d("$sort", d("a", 1)), d("$skip", 3),
			d("$project", d("a", 1, "_id", 0)), d("$limit", 4))
		pipe("cut "+text, match, d("$limit", 6), d("$group", d("_id", "$a")))
		pipe("ranked "+text, match, d("$setWindowFields", d("sortBy", d("a", 1), "output", d("r", d("$rank", d())))))
		pipe("joined "+text, d("$match", d("_id", d("$lt", 3))),
			d("$lookup", d("from", coll, "localField", "a", "foreignField", "a", "as", "r", "pipeline", bson.A{match})))
		pipe("counted join "+text, d("$match", d("_id", d("$lt", 3))),
			d("$lookup", d("from", coll, "as", "r", "pipeline", bson.A{match, d("$sort", d("a", 1)), d("$limit", 1)})))
	}
	for name, stage := range map[string]bson.D{
		"nested":  d("$project", d("w", d("x", "$o.x", "y", "$a"))),
		"flat":    d("$project", d("w", "$o.x", "v", "$a")),
		"deep":    d("$project", d("w.x", "$a", "w.y", "$b")),
		"whole":   d("$project", d("w", "$o", "v", "$b")),
		"set":     d("$addFields", d("w", "$o", "v", "$a")),
		"kept":    d("$project", d("o.x", 1, "a", 1, "b", 1)),
		"dropped": d("$project", d("s", 0, "o.y", 0)),
		"root":    d("$replaceRoot", d("newRoot", "$o")),
		"merged":  d("$replaceWith", d("$mergeObjects", bson.A{"$$ROOT", d("v", 1)})),
	} {
		for _, text := range []string{
			`{"w.x":3}`, `{"w":3}`, `{"v":{"$gt":7}}`, `{"w.x":{"$gt":7},"w.y":2}`,
			`{"o.x":2}`, `{"a":2}`, `{"x":2}`, `{"w":2,"v":3}`, `{"$or":[{"v":3},{"w.x":1}]}`,
		} {
			pipe("behind "+name+" "+text, stage, d("$match", bsonxtest.MustParseD(text)))
		}
		for _, by := range []bson.D{d("a", 1), d("v", 1), d("w.x", 1), d("o.x", 1), d("a", -1, "b", -1)} {
			pipe("sorted behind "+name+" "+toJSON(by), stage, d("$sort", by), d("$limit", 3))
		}
	}
	return out
}

func toJSON(doc bson.D) string {
	text, err := bson.MarshalExtJSON(doc, false, false)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestExaminedByForm checks that no form of a command examines more keys and documents in total
// than on a MongoDB server, except for the cases in testdata/weakerforms.txt.
func TestExaminedByForm(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	checkExamined(t, "forms", formIndexes(), formCommands)
}
