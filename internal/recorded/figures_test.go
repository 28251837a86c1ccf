package recorded

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// figureIndexes are the key patterns of the indexes. Each index is in a collection of its own,
// which has the index's name.
var figureIndexes = map[string]bson.D{
	"a": d("a", 1), "ab": d("a", 1, "b", 1), "abc": d("a", 1, "b", -1, "c", 1), "s": d("s", 1),
	"m": d("m", 1), "oxy": d("o.x", 1, "o.y", 1),
	"arrp": d("arr.p", 1), "arrpq": d("arr.p", 1, "arr.q", 1), "ma": d("m", 1, "a", 1), "n": d("n", 1),
	"sa": d("s", 1, "a", 1), "bm": d("b", 1, "m", 1),
}

func figureDocs() bson.A {
	words := strings.Fields("apple banana cherry date elder apricot blue")
	var docs bson.A
	for i := range 200 {
		var n any
		if i%3 != 0 {
			n = i
		}
		docs = append(docs, d("_id", i, "a", i%10, "b", i%7, "c", i, "s", fmt.Sprint(words[i%7], i%5), "m",
			bson.A{i % 5, i%3 + 10}, "o", d("x", i%6, "y", i%4),
			"arr", bson.A{d("p", i%4, "q", i%3), d("p", i%6, "q", (i+1)%5)}, "n", n))
	}
	return docs
}

// figureFilters are predicates that give different kinds of index bounds.
var figureFilters = []string{
	`{"a":3}`, `{"a":{"$gt":6}}`, `{"a":1,"b":2}`, `{"m":3}`, `{"o.x":2}`, `{"a":{"$in":[1,2]},"b":{"$gt":3}}`,
	`{"$or":[{"a":1,"b":2},{"a":3}]}`,
	`{"s":{"$regex":"^ap"}}`, `{"s":{"$regex":"^apple1$"}}`, `{"s":{"$regex":"ap"}}`,
	`{"s":{"$regex":"^ap","$options":"i"}}`, `{"s":{"$regex":"^(ap|ba)"}}`,
	`{"s":{"$regex":"^ap.*"}}`, `{"s":{"$regex":"^ap?"}}`, `{"s":{"$not":{"$regex":"^ap"}}}`, `{"s":{"$in":["date1",{"$regularExpression":{"pattern":"^ap","options":""}}]}}`,
	`{"arr":{"$elemMatch":{"p":1}}}`, `{"arr":{"$elemMatch":{"p":1,"q":2}}}`,
	`{"arr":{"$elemMatch":{"p":{"$gt":1,"$lt":3}}}}`, `{"arr.p":1,"arr.q":1}`,
	`{"m":{"$elemMatch":{"$gt":1,"$lt":4}}}`, `{"m":{"$gt":1,"$lt":4}}`, `{"m":{"$all":[1,11]}}`, `{"m":[1,11]}`,
	`{"m":{"$size":2}}`, `{"n":null}`, `{"n":{"$ne":null}}`,
	`{"n":{"$exists":true}}`, `{"a":{"$ne":3}}`, `{"a":{"$exists":false}}`, `{"c":{"$gte":10,"$lte":20}}`,
	`{"$expr":{"$eq":["$a",3]}}`, `{"b":2}`,
}

// figureCommands are the explained commands: finds, counts, distincts and pipelines with each
// filter.
func figureCommands(coll string) map[string]bson.D {
	out := map[string]bson.D{}
	pipe := func(name string, stages ...any) {
		out[name] = d("aggregate", coll, "pipeline", bson.A(stages), "cursor", d())
	}
	for _, text := range figureFilters {
		f := bsonxtest.MustParseD(text)
		out["find "+text] = d("find", coll, "filter", f)
		out["covered "+text] = d("find", coll, "filter", f, "projection", d("a", 1, "_id", 0))
		out["sorted "+text] = d("find", coll, "filter", f, "sort", d("a", 1))
		out["top "+text] = d("find", coll, "filter", f, "sort", d("b", 1), "limit", 4)
		out["count "+text] = d("count", coll, "query", f)
		pipe("counted "+text, d("$match", f), d("$count", "n"))
		pipe("grouped "+text, d("$match", f), d("$group", d("_id", "$a", "n", d("$sum", 1))))
		pipe("unwound "+text, d("$addFields", d("t", 1)), d("$match", f))
	}
	for _, key := range []string{"a", "b", "c", "m", "o.x", "arr.p", "s", "n"} {
		for _, query := range []string{
			`{}`, `{"a":3}`, `{"a":{"$gt":3}}`, `{"m":{"$gte":1}}`,
			`{"` + key + `":{"$gt":2}}`, `{"` + key + `":{"$in":[1,3]}}`,
		} {
			out["distinct "+key+" "+query] = d("distinct", coll, "key", key, "query", bsonxtest.MustParseD(query))
		}
	}
	for name, match := range map[string]bson.D{"z": d("z", 3), "y": d("y", 2), "v": d("v", 3), "u": d("u", 2)} {
		pipe("renamed "+name, d("$project", d("z", "$a", "y", "$b", "v", "$m", "u", "$o.x")), d("$match", match))
	}
	for name, id := range map[string]any{"null": nil, "a": "$a", "{a}": d("a", "$a"), "m": "$m", "o.x": "$o.x"} {
		pipe("group "+name, d("$group", d("_id", id)))
		pipe("count by "+name, d("$group", d("_id", id, "n", d("$sum", 1))))
		pipe("first by "+name, d("$sort", d("a", 1, "b", 1)), d("$group", d("_id", id, "f", d("$first", "$b"))))
	}
	return out
}

// examined returns how many keys and documents a command examines, from explain.
func examined(ctx context.Context, db *mongo.Database, cmd bson.D) string {
	reply, failed := run(ctx, db, d("explain", cmd, "verbosity", "executionStats"))
	if failed != "" {
		return failed
	}
	return examinedIn(reply)
}

// examinedIn returns how many keys and documents were examined, from a reply of explain.
func examinedIn(reply bson.Raw) string {
	stats, err := reply.LookupErr("executionStats")
	if err != nil {
		stats, err = reply.LookupErr("stages", "0", "$cursor", "executionStats")
	}
	if err != nil {
		return "no figures"
	}
	keys, _ := stats.Document().Lookup("totalKeysExamined").AsInt64OK()
	docs, _ := stats.Document().Lookup("totalDocsExamined").AsInt64OK()
	return fmt.Sprintf("%d %d", keys, docs)
}

// TestExamined checks that no command examines more keys or documents than on a MongoDB server,
// except for the cases in testdata/weaker.txt. A case that improves must be removed from that list.
func TestExamined(t *testing.T) {
	t.Parallel()
	weaker := readWeaker(t, "testdata/weaker.txt")
	c := class{file: "examined.txt", setup: func(t *testing.T, db *mongo.Database) {
		for coll, key := range figureIndexes {
			must(t, db, d("insert", coll, "documents", figureDocs()))
			must(t, db, d("createIndexes", coll, "indexes", bson.A{d("key", key, "name", "i")}))
		}
	}}
	for coll := range figureIndexes {
		for name, cmd := range figureCommands(coll) {
			c.cases = append(c.cases, figureCase(coll+" "+name, cmd, weaker, examined))
		}
	}
	c.agrees = looksAtNoMore
	check(t, c)
}

// figureCase asks how many keys and documents a command examines. The answer ends with " weaker" if
// the command is listed as one that examines more than on MongoDB.
func figureCase(name string, cmd bson.D, weaker map[string]bool,
	figures func(context.Context, *mongo.Database, bson.D) string,
) question {
	return question{name: name, ask: func(ctx context.Context, db *mongo.Database) string {
		got := figures(ctx, db, cmd)
		if weaker[name] {
			got += " weaker"
		}
		return got
	}}
}

// looksAtNoMore reports whether a command examines at most as many keys and at most as many
// documents as recorded. For a command that is listed as weaker, it reports whether the command
// examines more.
func looksAtNoMore(got, want string) bool {
	return compareFigures(got, want,
		func(keys, docs, mostKeys, mostDocs int64) bool { return keys > mostKeys || docs > mostDocs })
}

// looksAtLess reports the same as looksAtNoMore, but for the sum of keys and documents.
func looksAtLess(got, want string) bool {
	return compareFigures(got, want,
		func(keys, docs, mostKeys, mostDocs int64) bool { return keys+docs > mostKeys+mostDocs })
}

func compareFigures(got, want string, isMore func(keys, docs, mostKeys, mostDocs int64) bool) bool {
	var keys, docs, mostKeys, mostDocs int64
	listed := strings.HasSuffix(got, " weaker")
	if n, _ := fmt.Sscan(strings.TrimSuffix(got, " weaker"), &keys, &docs); n != 2 {
		return false
	}
	if n, _ := fmt.Sscan(want, &mostKeys, &mostDocs); n != 2 {
		return false
	}
	return isMore(keys, docs, mostKeys, mostDocs) == listed
}

// readWeaker reads the names of the cases in which Sheaf examines more than MongoDB.
func readWeaker(t *testing.T, path string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			out[line] = true
		}
	}
	return out
}
