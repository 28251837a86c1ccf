package recorded

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// kindIndexes are the indexes of each kind. Each kind has a collection of its own.
func kindIndexes() map[string]bson.A {
	english := d("locale", "en", "strength", 2)
	one := func(key bson.D, options ...any) bson.A {
		return bson.A{append(d("key", key, "name", "i"), d(options...)...)}
	}
	return map[string]bson.A{
		"plain": {
			d("key", d("a", 1), "name", "a"), d("key", d("b", 1), "name", "b"),
			d("key", d("c", -1), "name", "c"),
		},
		"compound": {d("key", d("a", 1, "b", -1, "c", 1), "name", "abc"), d("key", d("b", 1, "c", 1), "name", "bc")},
		"partial":  one(d("a", 1, "b", 1), "partialFilterExpression", d("a", d("$gt", 2))),
		"exists":   one(d("n", 1), "partialFilterExpression", d("n", d("$exists", true))),
		"sparse":   one(d("n", 1), "sparse", true),
		"unique":   one(d("c", 1), "unique", true),
		"hashed":   one(d("a", "hashed")),
		"prefix":   one(d("a", "hashed", "b", 1)),
		"wild":     one(d("$**", 1)),
		"wildo":    one(d("o.$**", 1)),
		"collated": one(d("s", 1, "a", 1), "collation", english),
		"multi":    one(d("m", 1, "b", 1)),
		"elements": one(d("arr.p", 1, "arr.q", 1, "a", 1)),
	}
}

// kindFilters are predicates that may or may not give bounds for several kinds of index.
var kindFilters = []string{
	`{}`, `{"a":3}`, `{"a":{"$gt":4}}`, `{"a":{"$gt":1}}`, `{"a":{"$in":[1,3,5]}}`, `{"a":3,"b":{"$lt":4}}`,
	`{"b":2,"c":{"$gt":50}}`, `{"a":null}`,
	`{"n":{"$gt":100}}`, `{"n":{"$exists":true}}`, `{"n":{"$ne":null}}`, `{"n":null}`, `{"c":{"$in":[7,8,9]}}`,
	`{"c":{"$gte":100,"$lt":120}}`,
	`{"s":"apple1"}`, `{"s":{"$gte":"b"},"a":2}`, `{"a":{"$regex":"^x"}}`, `{"s":{"$regex":"^apple1"}}`,
	`{"s":{"$in":["x",{"$regularExpression":{"pattern":"^apple1","options":""}}]}}`, `{"a":{"$in":[1,{"$regularExpression":{"pattern":"x","options":"i"}}]}}`, `{"o.x":3}`, `{"o.x":{"$gt":3},"o.y":1}`, `{"o":{"$exists":true}}`,
	`{"m":3,"b":2}`, `{"m":{"$in":[1,11]},"b":{"$gt":3}}`, `{"m":{"$elemMatch":{"$gte":2,"$lt":4}},"b":1}`,
	`{"m":{"$all":[1,11]},"b":1}`,
	`{"arr":{"$elemMatch":{"p":1,"q":{"$gt":0}}}}`, `{"arr":{"$elemMatch":{"p":1,"q":2}},"a":3}`,
	`{"arr.p":{"$gt":1,"$lt":3}}`, `{"arr.p":{"$in":[1,2]},"a":1}`,
	`{"$or":[{"a":1},{"b":2}]}`, `{"$or":[{"a":1,"b":2},{"a":2,"b":3}]}`, `{"$or":[{"a":3},{"c":{"$lt":10}}],"b":1}`,
	`{"$and":[{"$or":[{"a":1},{"a":2}]},{"b":3}]}`,
	`{"$nor":[{"a":{"$lt":5}}]}`, `{"a":{"$not":{"$gt":5}}}`, `{"a":{"$nin":[1,2]}}`,
	`{"$expr":{"$and":[{"$gt":["$a",5]},{"$eq":["$b",3]}]}}`, `{"$expr":{"$eq":["$n",null]}}`,
	`{"$expr":{"$gt":["$n",null]}}`, `{"a":{"$type":"int"}}`, `{"a":{"$mod":[5,0]}}`, `{"_id":{"$gt":150},"a":3}`,
}

// kindCommands are the explained commands: each filter in commands of each form, and forms without
// a filter.
func kindCommands(coll string) map[string]bson.D {
	out := map[string]bson.D{}
	pipe := func(name string, stages ...any) {
		out[name] = d("aggregate", coll, "pipeline", bson.A(stages), "cursor", d())
	}
	for _, text := range kindFilters {
		f := bsonxtest.MustParseD(text)
		out["find "+text] = d("find", coll, "filter", f)
		out["collated "+text] = d("find", coll, "filter", f, "collation", d("locale", "en", "strength", 2))
		out["covered "+text] = d("find", coll, "filter", f, "projection", d("_id", 0, "a", 1, "b", 1))
		out["sorted "+text] = d("find", coll, "filter", f, "sort", d("b", 1, "c", 1), "limit", 5)
		out["descending "+text] = d("find", coll, "filter", f, "sort", d("c", -1), "limit", 5)
		out["skipped "+text] = d("find", coll, "filter", f, "sort", d("a", 1), "skip", 7, "limit", 5)
		out["count "+text] = d("count", coll, "query", f)
		out["counted from "+text] = d("count", coll, "query", f, "skip", 3)
		out["counted up to "+text] = d("count", coll, "query", f, "limit", 3)
		out["distinct a "+text] = d("distinct", coll, "key", "a", "query", f)
		out["distinct s "+text] = d("distinct", coll, "key", "s", "query", f)
		out["collated distinct a "+text] = d("distinct", coll, "key", "a", "query", f, "collation",
			d("locale", "en", "strength", 2))
		out["collated distinct s "+text] = d("distinct", coll, "key", "s", "query", f, "collation",
			d("locale", "en", "strength", 2))
		pipe("unwound "+text, d("$unwind", "$t"), d("$match", f))
		pipe("set "+text, d("$set", d("z", d("$add", bson.A{"$a", 1}))), d("$match", f),
			d("$sort", d("a", 1)), d("$limit", 3))
		pipe("first "+text, d("$match", f), d("$sort", d("a", 1, "b", -1)),
			d("$group", d("_id", "$a", "b", d("$first", "$b"))))
		pipe("last "+text, d("$match", f), d("$sort", d("a", 1, "b", 1)),
			d("$group", d("_id", "$a", "b", d("$last", "$b"))))
		pipe("limited "+text, d("$match", f), d("$sort", d("b", 1, "c", 1)), d("$project", d("b", 1)),
			d("$skip", 2), d("$limit", 3))
		pipe("late "+text, d("$sort", d("a", 1)), d("$match", f), d("$limit", 4))
		pipe("joined "+text, d("$match", d("_id", d("$lt", 3))),
			d("$lookup", d("from", coll, "let", d("x", "$a"), "as", "r",
				"pipeline", bson.A{d("$match", f), d("$match", d("$expr", d("$eq", bson.A{"$a", "$$x"})))})))
	}
	for name, join := range map[string]bson.D{
		"a":    d("localField", "a", "foreignField", "a"),
		"n":    d("localField", "n", "foreignField", "n"),
		"s":    d("localField", "s", "foreignField", "s"),
		"m":    d("localField", "m", "foreignField", "m"),
		"o.x":  d("localField", "o.x", "foreignField", "o.x"),
		"eq n": d("let", d("x", "$n"), "pipeline", bson.A{d("$match", d("$expr", d("$eq", bson.A{"$n", "$$x"})))}),
		"gt a": d("let", d("x", "$a"), "pipeline", bson.A{d("$match", d("$expr", d("$gt", bson.A{"$a", "$$x"})))}),
		"both": d("let", d("x", "$a", "y", "$b"), "pipeline",
			bson.A{d("$match", d("$expr",
				d("$and", bson.A{d("$eq", bson.A{"$a", "$$x"}), d("$gte", bson.A{"$b", "$$y"})})))}),
		"behind": d("let", d("x", "$a"), "pipeline",
			bson.A{
				d("$match", d("b", 2)), d("$sort", d("c", 1)),
				d("$match", d("$expr", d("$eq", bson.A{"$a", "$$x"}))), d("$limit", 2),
			}),
		"sum": d("let", d("x", "$a"), "pipeline",
			bson.A{d("$match", d("$expr", d("$eq", bson.A{"$a", d("$add", bson.A{"$$x", 1})})))}),
		"mixed": d("localField", "a", "foreignField", "a", "pipeline", bson.A{d("$match", d("b", d("$gt", 3)))}),
	} {
		pipe("lookup "+name, d("$match", d("_id", d("$lt", 5))),
			d("$lookup", append(join, d("from", coll, "as", "r")...)))
	}
	for _, field := range []string{"a", "b", "c", "n", "s", "m", "o.x", "arr.p"} {
		pipe("sort "+field, d("$sort", d(field, 1)), d("$limit", 3))
		pipe("reverse "+field, d("$sort", d(field, -1)), d("$limit", 3))
		pipe("least "+field, d("$group", d("_id", nil, "v", d("$min", "$"+field))))
		pipe("values "+field, d("$group", d("_id", "$"+field)))
	}
	bounds := map[string][2]bson.D{"a": {d("a", 2), d("a", 5)}, "ab": {d("a", 2, "b", 3), d("a", 4, "b", 1)}}
	for name, b := range bounds {
		hint := bson.D{}
		for _, e := range b[0] {
			hint = append(hint, bson.E{e.Key, 1})
		}
		out["from "+name] = d("find", coll, "min", b[0], "hint", hint)
		out["between "+name] = d("find", coll, "min", b[0], "max", b[1], "hint", hint)
		out["up to "+name] = d("find", coll, "filter", d("b", 2), "max", b[1], "hint", hint)
	}
	return out
}

// looked returns how many keys and documents a query and its joins examined, from explain.
func looked(ctx context.Context, db *mongo.Database, cmd bson.D) string {
	reply, failed := run(ctx, db, d("explain", cmd, "verbosity", "executionStats"))
	if failed != "" {
		return failed
	}
	if stages, err := reply.LookupErr("stages"); err == nil {
		values, _ := stages.Array().Values()
		for _, stage := range values {
			if _, err := stage.Document().LookupErr("$lookup"); err == nil {
				keys, _ := stage.Document().Lookup("totalKeysExamined").AsInt64OK()
				docs, _ := stage.Document().Lookup("totalDocsExamined").AsInt64OK()
				return fmt.Sprintf("%d %d", keys, docs)
			}
		}
	}
	return examinedIn(reply)
}

// TestExaminedByKind checks that no command examines more keys and documents in total than on a
// MongoDB server, with indexes of every kind and in joins, except for the cases in
// testdata/weakerkinds.txt.
func TestExaminedByKind(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	checkExamined(t, "kinds", kindIndexes(), kindCommands)
}

// checkExamined compares the keys and documents that commands examine with testdata/<name>.txt,
// except for the cases in testdata/weaker<name>.txt. Each collection has the same documents and its
// own indexes.
func checkExamined(t *testing.T, name string, indexes map[string]bson.A,
	commandsOn func(coll string) map[string]bson.D,
) {
	t.Helper()
	c := class{file: name + ".txt", agrees: looksAtLess, setup: func(t *testing.T, db *mongo.Database) {
		for coll, indexes := range indexes {
			must(t, db, d("insert", coll, "documents", figureDocs()))
			must(t, db, d("createIndexes", coll, "indexes", indexes))
		}
	}}
	weaker := readWeaker(t, "testdata/weaker"+name+".txt")
	for coll := range indexes {
		commands := commandsOn(coll)
		for _, name := range slices.Sorted(maps.Keys(commands)) { // in order: joins keep plans for later commands
			c.cases = append(c.cases, figureCase(coll+" "+name, commands[name], weaker, looked))
		}
	}
	check(t, c)
}
