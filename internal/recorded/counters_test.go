package recorded

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/sheaftest"
)

// countedFields are the counters of serverStatus that are compared, including all fields of a
// subdocument.
var countedFields = []string{
	"opcounters", "asserts", "metrics/document", "metrics/queryExecutor", "metrics/operation/scanAndOrder",
	"metrics/operation/writeConflicts",
	"metrics/commands", "metrics/aggStageCounters", "metrics/operatorCounters", "metrics/cursor/totalOpened",
	"metrics/cursor/moreThanOneBatch",
}

// counterCommand is a case: commands, one per line, after which counters are compared. A line that
// begins with "!" only prepares. The id of the last opened cursor replaces cursor ids.
type counterCommand struct{ name, commands string }

const (
	makeView   = `!{"create":"v","viewOn":"c","pipeline":[{"$match":{"a":{"$gt":3}}}]}` + "\n"
	makeIndex  = `!{"createIndexes":"c","indexes":[{"key":{"a":1},"name":"a_1"}]}` + "\n"
	makeCapped = `!{"create":"cap","capped":true,"size":100000}` + "\n" +
		`!{"insert":"cap","documents":[{"_id":1},{"_id":2}]}` + "\n"
	makeSeries = `!{"create":"ts","timeseries":{"timeField":"t","metaField":"m"}}` + "\n" +
		`!{"insert":"ts","documents":[{"t":{"$date":"2026-01-01T00:00:00Z"},"m":1,"v":1},{"t":{"$date":"2026-01-01T00:00:01Z"},"m":1,"v":2}]}` + "\n"
)

// counterCommands are commands in all forms that the counters distinguish. The collection c has
// twelve documents.
var counterCommands = []counterCommand{
	{"insert one", `{"insert":"c","documents":[{"_id":100}]}`},
	{"insert several", `{"insert":"c","documents":[{"_id":100},{"_id":101},{"_id":102}]}`},
	{"insert into a new collection", `{"insert":"new","documents":[{"_id":100}]}`},
	{"insert a duplicate", `{"insert":"c","documents":[{"_id":1}]}`},
	{"insert a duplicate among others", `{"insert":"c","documents":[{"_id":100},{"_id":1},{"_id":101}]}`},
	{"insert a duplicate unordered", `{"insert":"c","documents":[{"_id":100},{"_id":1},{"_id":101}],"ordered":false}`},
	{"insert an invalid _id", `{"insert":"c","documents":[{"_id":[1]}]}`},
	{"insert into a view", makeView + `{"insert":"v","documents":[{"_id":1}]}`},
	{"insert into an invalid name", `{"insert":"a$b","documents":[{"_id":1}]}`},
	{"insert with an unknown field", `{"insert":"c","documents":[{"_id":100}],"x":1}`},
	{"insert without documents", `{"insert":"c"}`},
	{"insert an empty batch", `{"insert":"c","documents":[]}`},
	{"insert into capped", makeCapped + `{"insert":"cap","documents":[{"_id":3},{"_id":4}]}`},

	{"update one", `{"update":"c","updates":[{"q":{"a":1},"u":{"$set":{"z":1}}}]}`},
	{"update by _id", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"z":1}}}]}`},
	{"update by index", makeIndex + `{"update":"c","updates":[{"q":{"a":1},"u":{"$set":{"z":1}}}]}`},
	{"update many", `{"update":"c","updates":[{"q":{"a":{"$gte":5}},"u":{"$inc":{"b":1}},"multi":true}]}`},
	{"update without a change", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"a":1}}}]}`},
	{"update many without a change", `{"update":"c","updates":[{"q":{"b":0},"u":{"$set":{"b":0}},"multi":true}]}`},
	{"update none", `{"update":"c","updates":[{"q":{"_id":99},"u":{"$set":{"z":1}}}]}`},
	{"update upserts", `{"update":"c","updates":[{"q":{"_id":99},"u":{"$set":{"z":1}},"upsert":true}]}`},
	{"update upserts by another field", `{"update":"c","updates":[{"q":{"a":99},"u":{"$set":{"z":1}},"upsert":true}]}`},
	{"update upserts what is there", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"z":1}},"upsert":true}]}`},
	{"update replaces", `{"update":"c","updates":[{"q":{"_id":1},"u":{"z":1}}]}`},
	{"update by pipeline", `{"update":"c","updates":[{"q":{"_id":1},"u":[{"$set":{"z":{"$add":["$a",1]}}},{"$unset":"b"}]}]}`},
	{"update with array filters", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"k.$[e]":9}},"arrayFilters":[{"e":1}]}]}`},
	{"update with three statements", `{"update":"c","updates":[{"q":{"a":1},"u":{"$set":{"z":1}}},{"q":{"a":1},"u":{"$set":{"z":1}}},{"q":{"a":99},"u":{"$set":{"z":1}},"upsert":true}]}`},
	{"update fails", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"_id":5}}}]}`},
	{"update fails first", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"_id":5}}},{"q":{"_id":2},"u":{"$set":{"z":1}}}]}`},
	{"update fails unordered", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$set":{"_id":5}}},{"q":{"_id":2},"u":{"$set":{"z":1}}}],"ordered":false}`},
	{"update with a bad modifier", `{"update":"c","updates":[{"q":{"_id":1},"u":{"$foo":{"z":1}}}]}`},
	{"update with a bad query", `{"update":"c","updates":[{"q":{"$foo":1},"u":{"$set":{"z":1}}}]}`},
	{"update with an unknown field", `{"update":"c","updates":[{"q":{},"u":{"$set":{"z":1}}}],"x":1}`},
	{"update with an unknown field in a statement", `{"update":"c","updates":[{"q":{},"u":{"$set":{"z":1}},"x":1}]}`},
	{"update without a collection", `{"update":"none","updates":[{"q":{},"u":{"$set":{"z":1}}}]}`},
	{"update by operators", `{"update":"c","updates":[{"q":{"a":{"$in":[1,2]},"k":{"$elemMatch":{"$gt":0}}},"u":{"$set":{"z":1}},"multi":true}]}`},

	{"delete one", `{"delete":"c","deletes":[{"q":{"a":1},"limit":1}]}`},
	{"delete by _id", `{"delete":"c","deletes":[{"q":{"_id":1},"limit":1}]}`},
	{"delete many", `{"delete":"c","deletes":[{"q":{"a":{"$gt":4}},"limit":0}]}`},
	{"delete all", `{"delete":"c","deletes":[{"q":{},"limit":0}]}`},
	{"delete none", `{"delete":"c","deletes":[{"q":{"_id":99},"limit":1}]}`},
	{"delete with two statements", `{"delete":"c","deletes":[{"q":{"a":1},"limit":1},{"q":{"a":77},"limit":0}]}`},
	{"delete with a bad query", `{"delete":"c","deletes":[{"q":{"$foo":1},"limit":1}]}`},
	{"delete with a bad limit", `{"delete":"c","deletes":[{"q":{},"limit":3}]}`},
	{"delete with an unknown field", `{"delete":"c","deletes":[{"q":{},"limit":1}],"x":1}`},
	{"delete without a collection", `{"delete":"none","deletes":[{"q":{},"limit":0}]}`},

	{"findAndModify updates", `{"findAndModify":"c","query":{"_id":1},"update":{"$set":{"z":1}}}`},
	{"findAndModify scans", `{"findAndModify":"c","query":{"a":1},"update":{"$set":{"z":1}}}`},
	{"findAndModify returns new", `{"findAndModify":"c","query":{"_id":1},"update":{"$set":{"z":1}},"new":true}`},
	{"findAndModify without a change", `{"findAndModify":"c","query":{"_id":1},"update":{"$set":{"a":1}}}`},
	{"findAndModify upserts", `{"findAndModify":"c","query":{"_id":99},"update":{"$set":{"z":1}},"upsert":true}`},
	{"findAndModify upserts and returns new", `{"findAndModify":"c","query":{"_id":99},"update":{"$set":{"z":1}},"upsert":true,"new":true}`},
	{"findAndModify updates none", `{"findAndModify":"c","query":{"_id":99},"update":{"$set":{"z":1}}}`},
	{"findAndModify removes", `{"findAndModify":"c","query":{"_id":1},"remove":true}`},
	{"findAndModify removes sorted", `{"findAndModify":"c","query":{"b":0},"sort":{"a":-1},"remove":true}`},
	{"findAndModify removes none", `{"findAndModify":"c","query":{"_id":99},"remove":true}`},
	{"findAndModify by pipeline", `{"findAndModify":"c","query":{"_id":1},"update":[{"$set":{"z":{"$add":["$a",1]}}}]}`},
	{"findAndModify fails", `{"findAndModify":"c","query":{"_id":1},"update":{"$set":{"_id":5}}}`},
	{"findAndModify with an unknown field", `{"findAndModify":"c","query":{"_id":1},"remove":true,"x":1}`},
	{"findAndModify without a collection", `{"findAndModify":"none","query":{"_id":1},"remove":true}`},

	{"bulkWrite inserts", `{"bulkWrite":1,"ops":[{"insert":0,"document":{"_id":100}},{"insert":0,"document":{"_id":101}}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite of each kind", `{"bulkWrite":1,"ops":[{"insert":0,"document":{"_id":100}},{"update":0,"filter":{"_id":100},"updateMods":{"$set":{"b":1}}},{"delete":0,"filter":{"_id":100}}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite of two collections", `{"bulkWrite":1,"ops":[{"insert":0,"document":{"_id":100}},{"insert":1,"document":{"_id":100}}],"nsInfo":[{"ns":"recorded.c"},{"ns":"recorded.new"}]}`},
	{"bulkWrite updates many", `{"bulkWrite":1,"ops":[{"update":0,"filter":{"a":{"$gt":4}},"updateMods":{"$set":{"z":1}},"multi":true}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite upserts", `{"bulkWrite":1,"ops":[{"update":0,"filter":{"_id":99},"updateMods":{"$set":{"z":1}},"upsert":true}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite without a change", `{"bulkWrite":1,"ops":[{"update":0,"filter":{"_id":1},"updateMods":{"$set":{"a":1}}}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite deletes many", `{"bulkWrite":1,"ops":[{"delete":0,"filter":{"a":{"$gt":4}},"multi":true}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite fails", `{"bulkWrite":1,"ops":[{"insert":0,"document":{"_id":1}},{"insert":0,"document":{"_id":100}}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite fails unordered", `{"bulkWrite":1,"ordered":false,"ops":[{"insert":0,"document":{"_id":1}},{"update":0,"filter":{"_id":1},"updateMods":{"$set":{"_id":2}}},{"insert":0,"document":{"_id":100}}],"nsInfo":[{"ns":"recorded.c"}]}`},
	{"bulkWrite with an unknown field", `{"bulkWrite":1,"ops":[{"insert":0,"document":{"_id":100}}],"nsInfo":[{"ns":"recorded.c"}],"x":1}`},

	{"find", `{"find":"c","filter":{"a":{"$gt":3}}}`},
	{"find all", `{"find":"c"}`},
	{"find by _id", `{"find":"c","filter":{"_id":1}}`},
	{"find by index", makeIndex + `{"find":"c","filter":{"a":5}}`},
	{"find covered", makeIndex + `{"find":"c","filter":{"a":5},"projection":{"_id":0,"a":1}}`},
	{"find sorted by index", makeIndex + `{"find":"c","sort":{"a":1},"limit":3}`},
	{"find sorted", `{"find":"c","sort":{"a":-1},"limit":2}`},
	{"find a regex literal", `{"find":"c","filter":{"s":{"$regularExpression":{"pattern":"x","options":""}}}}`},
	{"find a regex", `{"find":"c","filter":{"s":{"$regex":"x"}}}`},
	{"find regex literals in $in", `{"find":"c","filter":{"s":{"$in":[{"$regularExpression":{"pattern":"x","options":""}},1]}}}`},
	{"find no regex literal", `{"find":"c","filter":{"s":{"$not":{"$regularExpression":{"pattern":"x","options":""}}}}}`},
	{"find by operators", `{"find":"c","filter":{"$or":[{"a":{"$in":[1]}},{"a":{"$not":{"$lt":1}}},{"b":{"$exists":true}}],"k":{"$elemMatch":{"$gt":1}},"$nor":[{"a":"x"}],"$and":[{"a":{"$type":"int"}}]}}`},
	{"find by an expression", `{"find":"c","filter":{"$expr":{"$eq":["$a",{"$add":[1,2]}]}}}`},
	{"find with a computed projection", `{"find":"c","projection":{"x":{"$add":["$a",1]}}}`},
	{"find in a view", makeView + `{"find":"v","filter":{"a":5}}`},
	{"find in no collection", `{"find":"none"}`},
	{"find with a bad query", `{"find":"c","filter":{"$foo":1}}`},
	{"find with an unknown field", `{"find":"c","x":1}`},
	{"find with a wrong type", `{"find":"c","filter":1}`},
	{"find with a bad sort", `{"find":"c","sort":{"a":3}}`},
	{"find with a bad hint", `{"find":"c","hint":"none"}`},
	{"find fails while running", `{"find":"c","filter":{"$expr":{"$divide":[1,{"$subtract":["$a","$a"]}]}}}`},
	{"find in batches", `{"find":"c","batchSize":2}` + "\n" + `{"getMore":"$cursor","collection":"c","batchSize":2}` +
		"\n" + `{"getMore":"$cursor","collection":"c"}`},
	{"find a single batch", `{"find":"c","batchSize":2,"singleBatch":true}`},
	{"find tailable", makeCapped + `{"find":"cap","tailable":true}` + "\n" +
		`{"getMore":"$cursor","collection":"cap"}`},
	{"getMore of no cursor", `{"getMore":{"$numberLong":"123"},"collection":"c"}`},
	{"killCursors", `!{"find":"c","batchSize":2}` + "\n" + `{"killCursors":"c","cursors":["$cursor"]}`},

	{"count", `{"count":"c","query":{"a":3}}`},
	{"count all", `{"count":"c"}`},
	{"count by index", makeIndex + `{"count":"c","query":{"a":5}}`},
	{"count none", `{"count":"none"}`},
	{"count in a view", makeView + `{"count":"v"}`},
	{"count with a bad query", `{"count":"c","query":{"$foo":1}}`},
	{"distinct", `{"distinct":"c","key":"a"}`},
	{"distinct with a query", `{"distinct":"c","key":"b","query":{"a":{"$gt":3}}}`},
	{"distinct by index", makeIndex + `{"distinct":"c","key":"a"}`},
	{"distinct in no collection", `{"distinct":"none","key":"a"}`},
	{"distinct with a bad query", `{"distinct":"c","key":"a","query":{"$foo":1}}`},

	{"aggregate nothing", `{"aggregate":"c","pipeline":[],"cursor":{}}`},
	{"aggregate a group", `{"aggregate":"c","pipeline":[{"$match":{"a":{"$gt":1}}},{"$group":{"_id":"$b","n":{"$sum":1}}},{"$sort":{"n":1}}],"cursor":{}}`},
	{"aggregate a count", `{"aggregate":"c","pipeline":[{"$match":{"a":{"$gt":1}}},{"$count":"n"}],"cursor":{}}`},
	{"aggregate a sort by count", `{"aggregate":"c","pipeline":[{"$sortByCount":"$b"}],"cursor":{}}`},
	{"aggregate a match", `{"aggregate":"c","pipeline":[{"$match":{"a":3}}],"cursor":{}}`},
	{"aggregate expressions", `{"aggregate":"c","pipeline":[{"$project":{"q":{"$cond":[{"$gt":["$a",{"$add":[1,1]}]},{"$toUpper":"x"},{"$ifNull":["$b",0]}]}}},{"$addFields":{"u":{"$map":{"input":[1],"in":"$$this"}}}}],"cursor":{}}`},
	{"aggregate a facet", `{"aggregate":"c","pipeline":[{"$facet":{"x":[{"$match":{"a":1}}],"y":[{"$limit":1}]}}],"cursor":{}}`},
	{"aggregate a union", `{"aggregate":"c","pipeline":[{"$unionWith":{"coll":"c","pipeline":[{"$match":{"a":1}}]}}],"cursor":{}}`},
	{"aggregate a lookup", `{"aggregate":"c","pipeline":[{"$match":{"_id":1}},{"$lookup":{"from":"c","localField":"a","foreignField":"_id","as":"q"}}],"cursor":{}}`},
	{"aggregate windows", `{"aggregate":"c","pipeline":[{"$setWindowFields":{"sortBy":{"a":1},"output":{"r":{"$rank":{}},"s":{"$sum":"$a","window":{"documents":[-1,0]}}}}}],"cursor":{}}`},
	{"aggregate a merge", `{"aggregate":"c","pipeline":[{"$merge":"out"}],"cursor":{}}`},
	{"aggregate a merge with what is there", `!{"insert":"out","documents":[{"_id":1},{"_id":2}]}` + "\n" + `{"aggregate":"c","pipeline":[{"$merge":"out"}],"cursor":{}}`},
	{"aggregate a merge that inserts", `{"aggregate":"c","pipeline":[{"$merge":{"into":"out","whenMatched":"fail"}}],"cursor":{}}`},
	{"aggregate a merge that replaces", `{"aggregate":"c","pipeline":[{"$merge":{"into":"c","whenMatched":"replace"}}],"cursor":{}}`},
	{"aggregate a merge by pipeline", `{"aggregate":"c","pipeline":[{"$merge":{"into":"c","whenMatched":[{"$set":{"z":{"$add":["$a",1]}}}]}}],"cursor":{}}`},
	{"aggregate a merge that fails", `{"aggregate":"c","pipeline":[{"$merge":{"into":"c","whenMatched":"fail"}}],"cursor":{}}`},
	{"aggregate a merge that discards", `{"aggregate":"c","pipeline":[{"$merge":{"into":"out","whenNotMatched":"discard"}}],"cursor":{}}`},
	{"aggregate an out", `{"aggregate":"c","pipeline":[{"$out":"out"}],"cursor":{}}`},
	{"aggregate in no collection", `{"aggregate":"none","pipeline":[{"$match":{"a":1}}],"cursor":{}}`},
	{"aggregate a bad stage", `{"aggregate":"c","pipeline":[{"$foo":1}],"cursor":{}}`},
	{"aggregate without a cursor", `{"aggregate":"c","pipeline":[]}`},
	{"aggregate with an unknown field", `{"aggregate":"c","pipeline":[],"cursor":{},"x":1}`},
	{"aggregate fails while running", `{"aggregate":"c","pipeline":[{"$project":{"x":{"$divide":[1,{"$subtract":["$a","$a"]}]}}}],"cursor":{}}`},
	{
		"aggregate in batches",
		`{"aggregate":"c","pipeline":[],"cursor":{"batchSize":5}}` + "\n" + `{"getMore":"$cursor","collection":"c"}`,
	},
	{"aggregate the statistics of a collection", `{"aggregate":"c","pipeline":[{"$collStats":{"count":{}}}],"cursor":{}}`},
	{"aggregate the statistics of indexes", `{"aggregate":"c","pipeline":[{"$indexStats":{}}],"cursor":{}}`},
	{"aggregate in a view", makeView + `{"aggregate":"v","pipeline":[{"$match":{"a":5}}],"cursor":{}}`},

	{"find in a time series", makeSeries + `{"find":"ts","filter":{"v":1}}`},
	{"insert into a time series", makeSeries + `{"insert":"ts","documents":[{"t":{"$date":"2026-01-01T00:00:02Z"},"m":1,"v":3}]}`},
	{"delete in a time series", makeSeries + `{"delete":"ts","deletes":[{"q":{"m":1},"limit":0}]}`},

	{"explain", `{"explain":{"find":"c","filter":{"a":1}},"verbosity":"executionStats"}`},
	{"listCollections", `{"listCollections":1}`},
	{"listIndexes", `{"listIndexes":"c"}`},
	{"listDatabases", `{"listDatabases":1}`},
	{"drop", `!{"find":"c"}` + "\n" + `{"drop":"c"}`},
	{"drop nothing", `{"drop":"none"}`},
	{"create", `{"create":"new"}`},
	{"createIndexes", `{"createIndexes":"c","indexes":[{"key":{"a":1},"name":"a_1"}]}`},
	{"dropIndexes", makeIndex + `{"dropIndexes":"c","index":"a_1"}`},
	{"renameCollection", `{"renameCollection":"recorded.c","to":"recorded.new"}`},
	{"validate", `{"validate":"c"}`},
	{"dbStats", `{"dbStats":1}`},
	{"ping", `{"ping":1}`},
	{"no such command", `{"noSuchCommand":1}`},
}

// adminCommands are the commands of cases that run on the database admin.
var adminCommands = []string{"bulkWrite", "listDatabases", "renameCollection"}

// parse returns the commands of a case, and how many of them only prepare.
func (c counterCommand) parse() (commands []bson.D, prepare int) {
	for line := range strings.Lines(c.commands) {
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			line = rest
			prepare++
		}
		commands = append(commands, bsonxtest.MustParseD(strings.TrimSpace(line)))
	}
	return commands, prepare
}

// figures are numbers in a reply of the server, by the paths of their fields.
type figures map[string]int64

// collect adds all numbers of the value v, which is the field at the path at.
func (f figures) collect(at string, v bson.RawValue) {
	if doc, ok := v.DocumentOK(); ok {
		elements, _ := doc.Elements()
		for _, e := range elements {
			f.collect(path.Join(at, e.Key()), e.Value())
		}
		return
	}
	if n, ok := v.AsInt64OK(); ok {
		f[at] = n
	}
}

// since returns by how much each counter has grown. It leaves out the commands of the measurement
// and of the driver.
func (f figures) since(before figures) figures {
	own := int64(1)
	for _, name := range []string{"hello", "isMaster", "ismaster"} {
		own += f["metrics/commands/"+name+"/total"] - before["metrics/commands/"+name+"/total"]
	}
	out := figures{}
	for at, n := range f {
		n -= before[at]
		name, _ := strings.CutPrefix(at, "metrics/commands/")
		switch {
		case slices.Contains([]string{"serverStatus", "hello", "isMaster", "ismaster"}, strings.Split(name, "/")[0]):
			continue
		case at == "opcounters/command" || at == "opLatencies/commands/ops":
			n -= own
		}
		if n != 0 {
			out[at] = n
		}
	}
	return out
}

func (f figures) String() string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, " %s=%d", at, f[at])
	}
	return strings.TrimPrefix(b.String(), " ")
}

func readFigures(text string) figures {
	out := figures{}
	for field := range strings.FieldsSeq(text) {
		at, n, _ := strings.Cut(field, "=")
		var v int64
		_, _ = fmt.Sscan(n, &v)
		out[at] = v
	}
	return out
}

// counters returns the numbers in these subdocuments of serverStatus.
func counters(ctx context.Context, t *testing.T, client *mongo.Client, directories []string) figures {
	t.Helper()
	reply, failed := run(ctx, client.Database("admin"), d("serverStatus", 1))
	if failed != "" {
		t.Fatal(failed)
	}
	out := figures{}
	for _, at := range directories {
		if v, err := reply.LookupErr(strings.Split(at, "/")...); err == nil {
			out.collect(at, v)
		}
	}
	return out
}

// perform runs the commands of a case. A command may fail.
func perform(ctx context.Context, db *mongo.Database, commands []bson.D, cursor *int64) {
	for _, cmd := range commands {
		cmd = slices.Clone(cmd)
		for i := range cmd {
			if cmd[i].Value == "$cursor" {
				cmd[i].Value = *cursor
			}
			if list, ok := cmd[i].Value.(bson.A); ok && len(list) == 1 && list[0] == "$cursor" {
				cmd[i].Value = bson.A{*cursor}
			}
		}
		on := db
		if slices.Contains(adminCommands, cmd[0].Key) {
			on = db.Client().Database("admin")
		}
		reply, _ := run(ctx, on, cmd)
		if id, ok := reply.Lookup("cursor", "id").AsInt64OK(); ok {
			*cursor = id
		}
	}
}

// afresh drops everything that a case may have created, and fills the collection c.
func afresh(t *testing.T, db *mongo.Database) {
	t.Helper()
	for _, name := range []string{"c", "v", "out", "new", "cap", "ts"} {
		_, _ = run(t.Context(), db, d("drop", name))
	}
	var docs bson.A
	for i := range 12 {
		docs = append(docs, d("_id", i, "a", i, "b", i%2, "k", bson.A{i, i + 1}, "s", fmt.Sprint("x", i)))
	}
	must(t, db, d("insert", "c", "documents", docs))
}

// quietClient returns a client of a new store. Its monitor sends no hello while a test runs: the
// server counts a command at its begin and its end, and a hello between two looks at the counters
// could count in one of them only.
func quietClient(t *testing.T) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(sheaftest.Open(t, nil).ClientOptions().SetHeartbeatInterval(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// counted runs a case, and returns by how much each counter has grown.
func counted(t *testing.T, client *mongo.Client, c counterCommand) figures {
	t.Helper()
	db := client.Database("recorded")
	afresh(t, db)
	commands, prepare := c.parse()
	cursor := int64(0)
	perform(t.Context(), db, commands[:prepare], &cursor)
	before := counters(t.Context(), t, client, countedFields)
	perform(t.Context(), db, commands[prepare:], &cursor)
	after := counters(t.Context(), t, client, countedFields).since(before)
	if cursor != 0 {
		_, _ = run(t.Context(), db, d("killCursors", "c", "cursors", bson.A{cursor}))
	}
	return after
}

// TestCounters compares how commands change each counter of serverStatus with a MongoDB server. An
// accepted difference is in testdata/counters-other.txt: a pattern of cases and fields, and the
// reason.
func TestCounters(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "counters.txt")
	if *record != "" {
		client, all := connect(t), map[string]string{}
		for _, c := range counterCommands {
			all[c.name] = counted(t, client, c).String()
		}
		writeAnswers(t, file, all)
		return
	}
	client := quietClient(t)
	known := counters(t.Context(), t, client, countedFields)
	want, other := readAnswers(t, file), readAnswers(t, filepath.Join("testdata", "counters-other.txt"))
	used := map[string]bool{}
	for _, c := range counterCommands {
		recorded, ok := want[c.name]
		delete(want, c.name)
		if !ok {
			t.Errorf("%s: not recorded", c.name)
			continue
		}
		got, expected := counted(t, client, c), readFigures(recorded)
		expected.add("opcounters/command", expected["opcounters/aggregate"]) // a separate counter since MongoDB 9
		both := maps.Clone(got)
		maps.Copy(both, expected)
		for _, at := range slices.Sorted(maps.Keys(both)) {
			if _, has := known[at]; !has || got[at] == expected[at] {
				continue
			}
			if p := covering(other, c.name+"/"+at); p != "" {
				used[p] = true
				continue
			}
			t.Errorf("%s: %s moves by %d, want %d", c.name, at, got[at], expected[at])
		}
	}
	for name := range want {
		t.Errorf("%s: the answer has no case: record again", name)
	}
	for p, reason := range other {
		if !used[p] {
			t.Errorf("%s is no difference: %s", p, reason)
		}
	}
}

func (f figures) add(at string, n int64) {
	if f[at] += n; f[at] == 0 {
		delete(f, at)
	}
}

// uncounted are the commands that read or write data but have no case, each with the reason.
var uncounted = map[string]string{
	"abortTransaction":               "the recorded server has no transactions",
	"cloneCollectionAsCapped":        "it changes the catalog: opcounters/command alone",
	"collMod":                        "it changes the catalog: opcounters/command alone",
	"commitTransaction":              "the recorded server has no transactions",
	"convertToCapped":                "it changes the catalog: opcounters/command alone",
	"dropDatabase":                   "it would drop what the cases need",
	"mapReduce":                      "the recorded server has no JavaScript",
	"reIndex":                        "it is refused on a member of a replica set",
	"setClusterParameter":            "it changes settings",
	"setDefaultRWConcern":            "it changes settings",
	"setFeatureCompatibilityVersion": "it changes settings",
}

// TestCountersHaveEachCommand checks that each command that reads or writes has a case or a reason.
func TestCountersHaveEachCommand(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{}
	for _, c := range counterCommands {
		commands, prepare := c.parse()
		for _, cmd := range commands[prepare:] {
			cases[cmd[0].Key] = true
		}
	}
	for _, def := range commands.Definitions() {
		if def.Status != feature.Supported || def.Hidden || def.TestOnly || def.Run == nil {
			continue
		}
		counts := def.Read || def.Writes == feature.Yes || def.Counter != command.CountCommand
		_, excused := uncounted[def.Name]
		switch {
		case counts && !cases[def.Name] && !excused:
			t.Errorf("%s has no case", def.Name)
		case excused && (cases[def.Name] || !counts):
			t.Errorf("%s needs no reason", def.Name)
		}
	}
}

// TestTraffic checks that each command counts once in opLatencies, as a read, a write or another
// command, and once in top for each collection that it names or writes to. There is no comparison
// with the recorded server, which measures neither.
func TestTraffic(t *testing.T) {
	t.Parallel()
	client := quietClient(t)
	db := client.Database("recorded")
	for _, c := range counterCommands {
		if strings.HasPrefix(c.name, "rename") || c.name == "no such command" { // the counters are renamed, too
			continue
		}
		afresh(t, db)
		commands, prepare := c.parse()
		cursor := int64(0)
		perform(t.Context(), db, commands[:prepare], &cursor)
		top := topOf(t, client)
		latencies := counters(t.Context(), t, client, []string{"opLatencies", "metrics/commands"})
		perform(t.Context(), db, commands[prepare:], &cursor)
		got := figures{}
		for at, n := range counters(t.Context(), t, client,
			[]string{"opLatencies", "metrics/commands"}).since(latencies) {
			if strings.HasSuffix(at, "/ops") {
				got[at] = n
			}
		}
		after, want := topOf(t, client), figures{}
		for at, n := range after {
			got.add(at, n-top[at])
		}
		for _, cmd := range commands[prepare:] {
			want.expect(cmd)
		}
		for at, n := range want {
			if ns := strings.Split(at, "/")[0]; strings.HasPrefix(ns, "recorded.") &&
				after[ns+"/total"] == 0 || n == 0 {
				delete(want, at) // the collection does not exist
			}
		}
		if got.String() != want.String() {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
	}
}

// topOf returns how often top counted each kind of operation on the collections of the cases.
func topOf(t *testing.T, client *mongo.Client) figures {
	t.Helper()
	reply, failed := run(t.Context(), client.Database("admin"), d("top", 1))
	if failed != "" {
		t.Fatal(failed)
	}
	totals, _ := reply.Lookup("totals").Document().Elements()
	out := figures{}
	for _, ns := range totals {
		kinds, ok := ns.Value().DocumentOK()
		if !ok || !strings.HasPrefix(ns.Key(), "recorded.") {
			continue
		}
		elements, _ := kinds.Elements()
		for _, kind := range elements {
			out[ns.Key()+"/"+kind.Key()] = kind.Value().Document().Lookup("count").AsInt64()
		}
	}
	return out
}

// expect adds the expected counts of a command.
func (f figures) expect(cmd bson.D) {
	name := cmd[0].Key
	latency, kind, lock := "commands", "commands", "readLock"
	switch name {
	case "find", "getMore", "aggregate", "count", "distinct":
		latency = "reads"
	case "insert", "update", "delete", "findAndModify", "bulkWrite":
		latency = "writes"
	}
	if other, ok := map[string]string{
		"find": "queries", "getMore": "getmore", "insert": "insert", "update": "update",
		"delete": "remove",
	}[name]; ok {
		kind = other
	}
	for _, def := range commands.Definitions() {
		if def.Name == name && def.Writes == feature.Yes && !def.Read {
			lock = "writeLock"
		}
	}
	f["opLatencies/"+latency+"/ops"]++
	on, _ := cmd[0].Value.(string)
	for _, e := range cmd {
		switch e.Key {
		case "collection":
			on, _ = e.Value.(string)
		case "pipeline":
			f.expectTarget(e.Value.(bson.A))
		case "ops":
			f.expectOps(e.Value.(bson.A), cmd)
		}
	}
	if on != "" && !slices.Contains(adminCommands, name) {
		f.expectOn(on, kind, lock)
	}
}

func (f figures) expectOn(coll, kind, lock string) {
	for _, part := range []string{kind, lock, "total"} {
		f["recorded."+coll+"/"+part]++
	}
}

// expectTarget adds the expected counts of the collection to which a pipeline writes.
func (f figures) expectTarget(stages bson.A) {
	for _, stage := range stages {
		switch last := stage.(bson.D)[0]; last.Key {
		case "$out":
			f.expectOn(last.Value.(string), "insert", "writeLock")
		case "$merge":
			into, kind := last.Value, "update"
			if doc, ok := into.(bson.D); ok {
				into = doc[0].Value
				for _, e := range doc {
					if e.Key == "whenMatched" && e.Value == "fail" {
						kind = "insert"
					}
				}
			}
			f.expectOn(into.(string), kind, "writeLock")
		}
	}
}

// expectOps adds the expected counts of the collections of a bulkWrite: once for each kind of
// operation.
func (f figures) expectOps(ops bson.A, cmd bson.D) {
	if cmd[len(cmd)-1].Key == "x" { // the command is refused
		return
	}
	seen := map[string]bool{}
	for _, op := range ops {
		first := op.(bson.D)[0]
		coll := []string{"c", "new"}[first.Value.(int32)]
		kind := map[string]string{"insert": "insert", "update": "update", "delete": "remove"}[first.Key]
		if !seen[coll+kind] {
			f.expectOn(coll, kind, "writeLock")
		}
		seen[coll+kind] = true
	}
}
