package recorded

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// argumentBases are valid commands, with * for the collection's name. The test adds one argument
// with one value to each.
var argumentBases = []struct{ name, command, base string }{
	{"find", "find", `{"find": "*"}`},
	{"findAndModify", "findAndModify", `{"findAndModify": "*", "query": {"a": 1}, "update": {"$set": {"q": 1}}}`},
	{"findAndModify-upsert", "findAndModify", `{"findAndModify": "*", "query": {"a": 7}, "update": {"$set": {"q": 1}}, "upsert": true}`},
	{"findAndModify-remove", "findAndModify", `{"findAndModify": "*", "query": {"a": 1}, "remove": true}`},
	{"update", "update", `{"update": "*", "updates": [{"q": {"a": 1}, "u": {"$set": {"q": 1}}}]}`},
	{"update-upsert", "update", `{"update": "*", "updates": [{"q": {"a": 7}, "u": {"$set": {"q": 1}}, "upsert": true}]}`},
	{"update-multi", "update", `{"update": "*", "updates": [{"q": {"a": 1}, "u": {"$set": {"q": 1}}, "multi": true}]}`},
	{"delete", "delete", `{"delete": "*", "deletes": [{"q": {"a": 1}, "limit": 1}]}`},
	{"distinct", "distinct", `{"distinct": "*", "key": "a"}`},
	{"count", "count", `{"count": "*", "query": {"a": 1}}`},
	{"aggregate", "aggregate", `{"aggregate": "*", "pipeline": [{"$match": {"a": 1}}], "cursor": {}}`},
}

// Values for arguments of one kind. Most are invalid, and some are valid only in some places.
const (
	filterValues = `[{"$foo":1},{"a":{"$foo":1}},{"$and":1},{"$and":[]},{"a":{"$in":1}},{"$text":{"$search":"x"}},{"a":{"$near":[0,0]}},{"$expr":{"$foo":1}},
		{"$expr":{"$eq":["$$x",1]}},{"$jsonSchema":{"bsonType":1}},{"a":{"$regex":"("}},{"a":{"$elemMatch":1}},{"a":{"$type":"x"}},{"a":{"$size":-1}},{"a":{"$mod":[0,1]}},
		{"a":{"$not":1}},{"$comment":1},{},1,"x",[],null]`
	projectionValues = `[{"a":1,"b":0},{"a":{"$foo":1}},{"a.$":1},{"$a":1},{"a..b":1},{"":1},{"a":{"$slice":"x"}},{"a":{"$elemMatch":1}},{"x":{"$meta":"sortKey"}},{"x":{"$meta":"textScore"}},
		{"x":{"$meta":"geoNearDistance"}},{"x":{"$meta":"recordId"}},{"x":{"$meta":"randVal"}},{"x":{"$meta":"foo"}},{"x":{"$meta":1}},{"x":"$$y"},{"x":{"$add":["$$y",1]}},{"a":1,"a.b":1},
		{"$recordId":1},{"a":{"$elemMatch":{"$foo":1}}},{},1,"x",[],null]`
	sortValues = `[{"a":0},{"a":2},{"a":"x"},{"$a":1},{"a..b":1},{"":1},{"$natural":2},{"$natural":1,"a":1},{"a":{"$meta":"foo"}},{"a":{"$meta":"textScore"}},{"a":{"$meta":"geoNearDistance"}},
		{"a":{"b":1}},{"a":true},{"a":1},{},1,"x",[],null]`
	hintValues      = `["foo",{"foo":1},{"a":1},"a",{"$natural":2},{"$natural":1,"a":1},{"$natural":1},{},"",{"a":"x"},1,true,[],null]`
	collationValues = `[{},{"locale":"xx"},{"strength":2},{"locale":"en","strength":9},{"locale":"en","foo":1},{"locale":1},{"locale":"en","caseLevel":1},"en",1,null]`
	letValues       = `[{"1a":1},{"a":"$b"},{"a":{"$foo":1}},{"":1},{"$a":1},{"A":1},{"a":"$$x"},{"a":1},1,"x",null,[]]`
	filtersValues   = `[[{"x":{"$foo":1}}],[{"x":1}],[{"x":1,"y":1}],[{"x.a":1},{"x.b":1}],[{}],[1],[{"$expr":1}],[{"X":1}],[{"$or":[]}],[],1,{},null]`
	modsValues      = `[{"$foo":1},{"a":1,"$set":{"b":1}},{"$set":{"b":1},"a":1},{"$set":1},{"$set":{"":1}},{"$set":{"a..b":1}},{"$set":{"a":1},"$inc":{"a":1}},{"$set":{"a.$[x]":1}},{"$set":{"a.$":1}},
		{"$inc":{"a":"x"}},{"$rename":{"a":"a"}},{"$push":{"a":{"$each":1}}},{"$bit":{"a":1}},{"$pop":{"a":2}},{"$set":{"_id":9}},{"$unset":1},{"$currentDate":{"a":1.5}},{"$pullAll":{"a":1}},
		[{"$set":{"a":{"$foo":1}}}],[{"$match":{}}],[{"$foo":1}],[1],[{}],[{"$set":{"a":"$$x"}}],[{"$set":{"a":{"$divide":[1,0]}}}],{},[],1,"x",null]`
	pipelineValues = `[[{"$foo":1}],[{}],[1],[{"$match":{"$foo":1}}],[{"$match":1}],[{"$match":{"$text":{"$search":"x"}}}],[{"$project":{}}],[{"$project":{"a":1,"b":0}}],[{"$sort":{"a":0}}],[{"$sort":{}}],
		[{"$limit":0}],[{"$limit":-1}],[{"$limit":"x"}],[{"$skip":-1}],[{"$limit":1e30}],[{"$limit":1.5}],[{"$limit":{"$numberDouble":"NaN"}}],[{"$skip":{"$numberDouble":"-Infinity"}}],[{"$skip":{"$numberDecimal":"1E30"}}],[{"$skip":-9e18}],[{"$group":{}}],[{"$group":{"_id":1,"a":1}}],[{"$group":{"_id":1,"a":{"$foo":1}}}],[{"$unwind":"a"}],[{"$unwind":{}}],[{"$lookup":{}}],
		[{"$lookup":{"from":"d"}}],[{"$out":""}],[{"$out":1}],[{"$merge":{}}],[{"$merge":1}],[{"$out":"x"},{"$match":{}}],[{"$geoNear":{}}],[{"$geoNear":{"near":[0,0],"distanceField":"d"}}],
		[{"$match":{}},{"$geoNear":{"near":[0,0],"distanceField":"d"}}],[{"$facet":{}}],[{"$facet":{"a":[{"$out":"x"}]}}],[{"$facet":{"a":1}}],[{"$indexStats":1}],[{"$match":{}},{"$indexStats":{}}],
		[{"$unionWith":1}],[{"$sample":{}}],[{"$sample":{"size":-1}}],[{"$count":""}],[{"$replaceRoot":1}],[{"$replaceWith":1}],[{"$set":{"a":{"$add":["x",1]}}}],[{"$set":{"x":"$$y"}}],[{"$set":{}}],
		[{"$unset":1}],[{"$sortByCount":1}],[{"$bucket":{}}],[{"$bucketAuto":{}}],[{"$graphLookup":{}}],[{"$redact":1}],[{"$documents":[]}],[{"$currentOp":{}}],[{"$set":{"x":{"$meta":"sortKey"}}}],
		[{"$limit":{"a":[1]}}],[{"$skip":["x",{"a":1}]}],[{"$sort":{"a":[1]}}],[{"$sort":{"a":{"$meta":{"a":[1]}}}}],[{"$group":{"_id":1,"a":{"$topN":{"n":1,"output":1,"sortBy":{"a":[1]}}}}}],
		[{"$bucket":{"groupBy":"$a","boundaries":[1,2],"default":["$a",{"b":1}]}}],[{"$bucket":{"groupBy":"$a","boundaries":[{"$add":["$a",1]},2]}}],[{"$group":{"_id":1,"a.b":1}}],[{"$group":{"_id":1,"$a":1}}],[{"$group":{"_id":1,"a":{"b":1,"$add":1}}}],
		[{"$group":{"_id":1,"a":{"$sum":1,"b":1}}}],[{"$group":{"_id":1,"a.b":{"$sum":1}}}],[{"$merge":{"x":1}}],[{"$merge":{"into":null}}],[{"$merge":{"into":"x","on":null}}],
		[{"$merge":{"into":"x","let":null}}],[{"$merge":{"into":"x","whenMatched":null}}],[{"$merge":{"into":"x","whenNotMatched":null}}],[{"$out":{"db":null,"coll":"x"}}],
		[{"$out":{"db":"recorded","coll":null}}],[{"$out":{"db":"recorded","coll":"x","timeseries":null}}],[{"$unionWith":{"coll":null}}],[{"$unionWith":{"coll":"x","pipeline":null}}],
		[{"$densify":{"field":null,"range":{"step":1,"bounds":"full"}}}],[{"$densify":{"field":"a","range":null}}],[{"$densify":{"field":"a","range":{"step":null,"bounds":"full"}}}],
		[{"$densify":{"field":"a","range":{"step":1,"bounds":"full","unit":null}}}],[{"$fill":{"output":null}}],[{"$fill":{"output":{"a":{"method":null}}}}],
		[{"$fill":{"output":{"a":{"method":null,"value":1}}}}],[{"$fill":{"partitionBy":null,"output":{"a":{"value":1}}}}],[{"$setWindowFields":{"output":null}}],
		[{"$group":{"_id":1,"a":{"$percentile":{"input":"$a","p":[0.5],"method":null}}}}],[{"$collStats":{"latencyStats":null,"count":null}}],[{"$collStats":{"storageStats":{"scale":null}}}],
		[{"$project":{"x":{"$meta":"sortKey"}}}],[{"$project":{"x":{"$meta":"textScore"}}}],[{"$sort":{"a":{"$meta":"geoNearDistance"}}}],[],1,{},null,"x"]`
	flagValues   = `[1,0,"x",null,{},[]]`
	numberValues = `[-1,0,1,1.5,1e20,"x",true,null,{},{"$numberDouble":"NaN"},{"$numberLong":"9223372036854775807"},{"$numberLong":"-9223372036854775808"}]`
	idValues     = `["x",1,null,{}]`
	// Only routers and drivers with queryable encryption send these arguments.
	encryptionValues = `[1,null,{},{"a":1},{"schema":1},{"schema":{},"type":"x"},{"schema":{},"crudProcessed":1}]`
	strictValues     = `[true,1,0,"x",null,{},[]]`
)

// argumentValues has the values to test for each argument, by command.
var argumentValues = map[string]map[string]string{
	"find": {
		"filter": filterValues, "projection": projectionValues, "sort": sortValues, "hint": hintValues,
		"collation": collationValues, "let": letValues,
		"allowDiskUse": flagValues, "allowPartialResults": flagValues, "awaitData": flagValues,
		"noCursorTimeout": flagValues, "oplogReplay": flagValues, "returnKey": flagValues,
		"showRecordId": flagValues, "singleBatch": flagValues, "tailable": `[true,1,"x",null]`,
		"batchSize": numberValues, "limit": numberValues, "skip": numberValues,
		"max": `[{"a":1},{"b":1},{},1,null]`, "min": `[{"a":1},{"b":1},{},1,null]`, "collectionUUID": idValues,
		"encryptionInformation": encryptionValues,
	},
	"findAndModify": {
		"query": filterValues, "fields": projectionValues, "sort": sortValues, "hint": hintValues,
		"collation": collationValues, "let": letValues, "arrayFilters": filtersValues,
		"update": modsValues, "remove": flagValues, "new": flagValues, "upsert": flagValues,
		"bypassDocumentValidation": flagValues, "bypassEmptyTsReplacement": flagValues,
		"encryptionInformation": encryptionValues, "isTimeseriesNamespace": strictValues,
	},
	"update": {
		"let": letValues, "ordered": flagValues, "bypassDocumentValidation": flagValues,
		"bypassEmptyTsReplacement": flagValues, "collectionUUID": idValues,
		"encryptionInformation": encryptionValues, "isTimeseriesNamespace": strictValues,
		"updates": `[[],[1],[{}],[{"q":{}}],[{"u":{}}],1,{},null]`, "updates.q": filterValues,
		"updates.u": modsValues, "updates.sort": sortValues,
		"updates.hint": hintValues, "updates.collation": collationValues, "updates.arrayFilters": filtersValues,
		"updates.c": letValues, "updates.multi": flagValues, "updates.upsert": flagValues,
		"updates.upsertSupplied": flagValues,
	},
	"delete": {
		"let": letValues, "ordered": flagValues, "bypassDocumentValidation": flagValues, "collectionUUID": idValues,
		"encryptionInformation": encryptionValues, "isTimeseriesNamespace": strictValues,
		"deletes": `[[],[1],[{}],[{"q":{}}],[{"limit":1}],1,{},null]`, "deletes.q": filterValues,
		"deletes.hint": hintValues, "deletes.collation": collationValues, "deletes.limit": numberValues,
	},
	"distinct": {
		"key": `["","$a","a..b",".a","a.","a\u0000b","a.$b",1,null]`, "query": filterValues,
		"hint": hintValues, "collation": collationValues,
	},
	"count": {
		"query": filterValues, "hint": hintValues, "collation": collationValues, "limit": numberValues,
		"skip": numberValues, "fields": projectionValues, "queryOptions": `[1,null]`,
		"encryptionInformation": encryptionValues,
	},
	"aggregate": {
		"pipeline": pipelineValues, "cursor": `[{"x":1},1,null]`, "cursor.batchSize": numberValues, "hint": hintValues,
		"collation": collationValues, "let": letValues, "allowDiskUse": flagValues,
		"bypassDocumentValidation": flagValues, "explain": `[1,"x",null]`, "collectionUUID": idValues,
		"encryptionInformation": encryptionValues,
		"exchange":              `[{"policy":"roundrobin","consumers":1},{"policy":"broadcast","consumers":2},{"consumers":1},{"policy":"roundrobin"},{"policy":"x","consumers":1},{"policy":"keyRange","consumers":1},{"policy":"roundrobin","consumers":0},{"policy":"roundrobin","consumers":-1},{"policy":"roundrobin","consumers":101},{"policy":"roundrobin","consumers":1,"bufferSize":-1},{"policy":"roundrobin","consumers":1,"x":1},{},1,null]`,
		"fromMongos":            strictValues, "fromRouter": strictValues,
		"isMapReduceCommand": strictValues, "needsMerge": strictValues,
	},
}

// otherArguments are the arguments that TestArguments does not test, each with the reason.
var otherArguments = map[string]string{
	"options": "removed", "ntoreturn": "removed", "readOnce": "internal", "term": "internal",
	"originalCollation": "internal", "originalQuery": "internal", "sampleId": "internal",
	"stmtId": "of retryable writes, which the recorded server has not", "stmtIds": "as stmtId",
	"updates.sampleId": "internal", "deletes.sampleId": "internal",
	"updates.allowShardKeyUpdatesWithoutFullShardKeyInQuery": "of clusters", "unwrapOptions": "internal",
	"encryptionInformation.type": "in the values of encryptionInformation", "encryptionInformation.schema": "as type",
	"encryptionInformation.crudProcessed": "as type",
	"exchange.consumers":                  "in the values of exchange", "exchange.policy": "as consumers",
	"exchange.orderPreserving": "as consumers", "exchange.bufferSize": "as consumers", "exchange.key": "as consumers",
	"exchange.boundaries": "as consumers", "exchange.consumerIds": "as consumers",
}

// withArgument returns a command with one more argument. An existing argument of that name is
// replaced.
func withArgument(cmd bson.D, name string, v any) bson.D {
	cmd = slices.Clone(cmd)
	name, field, nested := strings.Cut(name, ".")
	i := slices.IndexFunc(cmd, func(e bson.E) bool { return e.Key == name })
	if i < 0 {
		i, cmd = len(cmd), append(cmd, bson.E{name, bson.D{}})
	}
	switch list, ok := cmd[i].Value.(bson.A); {
	case !nested:
		cmd[i].Value = v
	case ok:
		cmd[i].Value = bson.A{withArgument(list[0].(bson.D), field, v)}
	default:
		cmd[i].Value = withArgument(cmd[i].Value.(bson.D), field, v)
	}
	return cmd
}

// argumentCases lists every command with each value of each argument, on an existing and on a
// missing collection.
func argumentCases(t *testing.T) []question {
	t.Helper()
	var out []question
	for _, b := range argumentBases {
		for _, name := range fieldsOf(t, b.command) {
			values, ok := argumentValues[b.command][name]
			if _, other := otherArguments[name]; !ok && !other {
				t.Fatalf("the argument %s of %s has no values", name, b.command)
			}
			if !ok {
				continue
			}
			for _, v := range valuesOf(values) {
				for _, coll := range []string{"there", "missing"} {
					cmd := withArgument(bsonxtest.MustParseD(strings.ReplaceAll(b.base, "*", coll)), name, v)
					said := inJSON(bson.D{{name, v}})
					out = append(out, question{
						name: coll + " " + b.name + said,
						ask: func(ctx context.Context, db *mongo.Database) string {
							return argumentAnswer(ctx, db, cmd)
						},
					})
				}
			}
		}
	}
	return out
}

// argumentAnswer runs a command and undoes its changes. It returns "ok", or the code, name and text
// of the error.
func argumentAnswer(ctx context.Context, db *mongo.Database, cmd bson.D) string {
	err := db.RunCommand(ctx, cmd).Err()
	if name := cmd[0].Key; err == nil && (name == "update" || name == "delete" || name == "findAndModify") {
		if err := fillArguments(ctx, db); err != nil {
			return err.Error()
		}
	}
	return errorAnswer(err)
}

// errorAnswer returns "ok" if err is nil, or its code, name and text.
func errorAnswer(err error) string {
	var refused mongo.CommandError
	var failed mongo.WriteException
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &refused):
		return fmt.Sprintf("error %d %s %s", refused.Code, refused.Name,
			oneLine(strings.TrimPrefix(refused.Message, groupingPrefix)))
	case errors.As(err, &failed) && len(failed.WriteErrors) > 0:
		return fmt.Sprintf("write error %d %s", failed.WriteErrors[0].Code, oneLine(failed.WriteErrors[0].Message))
	default:
		return err.Error()
	}
}

// oneLine returns a text without line ends.
func oneLine(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }

// fillArguments restores the original state of the existing collection, and drops the missing one.
func fillArguments(ctx context.Context, db *mongo.Database) error {
	if err := db.Collection("missing").Drop(ctx); err != nil {
		return err
	}
	there := db.Collection("there")
	if _, err := there.DeleteMany(ctx, d()); err != nil {
		return err
	}
	_, err := there.InsertMany(ctx, []any{d("_id", 1, "a", 1, "b", "x"), d("_id", 2, "a", bson.A{1, 2})})
	return err
}

// newerTexts converts error texts of the recorded server, which is newer than MongoDB 8.0, to the
// texts of 8.0.
var newerTexts = strings.NewReplacer("error enumerating plans for query", "error processing query",
	`Collation: { locale: "simple" }\n`, "")

// otherArgumentAnswers match accepted differences: Sheaf's answer, a tab, and the recorded answer.
var otherArgumentAnswers = []*regexp.Regexp{
	regexp.MustCompile(`\$natural hint.*\t(ok|.*in compound hint)`),      // 9.0 reads the hint differently
	regexp.MustCompile(`'oplogReplay' should be.*\t.*field oplogReplay`), // 8.0 has the same text as for other booleans
	// The recorded server parses the arguments of $lookup differently.
	regexp.MustCompile(`\$lookup\t|'from' is empty\t.*'\$lookup\.as'`),
	regexp.MustCompile(`\t.*'count\.queryOptions' is an unknown field`), // an option of 8.0
	regexp.MustCompile(`deletes\.q' is missing.*\t.*deletes\.limit'`),   // another one of two errors is reported
	regexp.MustCompile(`40602.*\t.*\$geoNear (needs|requires)`),         // the recorded server omits an empty $match
}

// sameArgument reports whether two answers agree, except for differences between versions.
func sameArgument(got, want string) bool {
	want = newerTexts.Replace(want)
	plain := func(text string) string { return typeList.ReplaceAllStringFunc(text, sortedWords) }
	both := got + "\t" + want
	return plain(got) == plain(want) ||
		slices.ContainsFunc(otherArgumentAnswers, func(r *regexp.Regexp) bool { return r.MatchString(both) })
}

// TestArguments compares the replies of commands for each argument with invalid or unusual values,
// on an existing and on a missing collection. An argument of a command must have values here.
func TestArguments(t *testing.T) {
	t.Parallel()
	check(t, class{
		file: "arguments.txt", grouped: true, cases: argumentCases(t), agrees: sameArgument,
		setup: func(t *testing.T, db *mongo.Database) {
			t.Helper()
			must(t, db, d("create", "there"))
			must(t, db, d("createIndexes", "there", "indexes", bson.A{d("key", d("a", 1), "name", "a")}))
			if err := fillArguments(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		},
	})
}
