package recorded

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
)

// adminBase is a valid command. The test changes or adds one argument of it at a time.
type adminBase struct {
	name, command string
	// db is the database in which the command runs. If it is empty, it is the database of the
	// collections.
	db string
	// targets are the collections that replace * in base, one at a time.
	targets string
	base    string
	// more are paths of arguments that are not in any table of fields.
	more []string
	// only are the fields that are tested, including nested fields. If it is empty, all fields are
	// tested.
	only []string
}

// The targets of commands: collections of each kind, and one that does not exist.
const (
	adminDB       = "admin"
	anyCollection = "there missing view series capped"
	few           = "there missing"
)

// adminBases are the DDL and administration commands of the recorded server.
var adminBases = []adminBase{
	{
		name: "create", targets: "there view series", base: `{"create": "*"}`,
		only: []string{"capped", "collation", "temp", "viewOn", "unknown"},
	},
	{name: "createIndexes", targets: anyCollection, base: `{"createIndexes": "*", "indexes": [{"key": {"b": 1}, "name": "b"}]}`, more: []string{"indexes.key", "indexes.name"}},
	{name: "dropIndexes", targets: anyCollection, base: `{"dropIndexes": "*", "index": "a"}`},
	{name: "listIndexes", targets: few, base: `{"listIndexes": "*"}`},
	{name: "listCollections", base: `{"listCollections": 1}`},
	{name: "listDatabases", db: adminDB, base: `{"listDatabases": 1}`},
	{name: "drop", targets: few, base: `{"drop": "*"}`},
	{name: "dropDatabase", base: `{"dropDatabase": 1}`},
	{name: "renameCollection", db: adminDB, targets: few, base: `{"renameCollection": "recorded.*", "to": "recorded.other"}`},
	{name: "reIndex", targets: few, base: `{"reIndex": "*"}`},
	{name: "validate", targets: "there missing view", base: `{"validate": "*"}`},
	{name: "validate-full", command: "validate", targets: "there", base: `{"validate": "*", "full": true}`},
	{name: "validate-background", command: "validate", targets: "there", base: `{"validate": "*", "background": true}`},
	{name: "collStats", targets: "there missing view series", base: `{"collStats": "*"}`},
	{name: "dbStats", base: `{"dbStats": 1}`},
	{name: "dataSize", targets: "there missing view", base: `{"dataSize": "recorded.*"}`},
	{name: "dataSize-range", command: "dataSize", targets: few, base: `{"dataSize": "recorded.*", "keyPattern": {"a": 1}, "min": {"a": 1}, "max": {"a": 2}}`},
	{name: "planCacheClear", targets: few, base: `{"planCacheClear": "*", "query": {"a": 1}}`},
	{name: "planCacheListFilters", targets: few, base: `{"planCacheListFilters": "*"}`},
	{name: "killCursors", targets: few, base: `{"killCursors": "*", "cursors": [{"$numberLong": "1"}]}`},
	{name: "getMore", targets: few, base: `{"getMore": {"$numberLong": "1"}, "collection": "*"}`},
	{
		name: "explain", targets: few, base: `{"explain": {"find": "*"}}`,
		more: []string{"explain.filter", "explain.sort", "explain.hint", "explain.foo"},
	},
	{name: "explain-aggregate", command: "explain", targets: few, base: `{"explain": {"aggregate": "*", "pipeline": [], "cursor": {}}}`, more: []string{"explain.pipeline", "explain.cursor", "explain.explain"}},
	{
		name: "explain-count", command: "explain", targets: few, base: `{"explain": {"count": "*"}}`,
		more: []string{"explain.query", "explain.limit", "explain.skip", "explain.fields"},
	},
	{
		name: "explain-distinct", command: "explain", targets: few, base: `{"explain": {"distinct": "*", "key": "a"}}`,
		more: []string{"explain.key", "explain.query"},
	},
	{name: "explain-update", command: "explain", targets: few, base: `{"explain": {"update": "*", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]}}`, more: []string{"explain.updates", "explain.ordered"}},
	{name: "explain-delete", command: "explain", targets: few, base: `{"explain": {"delete": "*", "deletes": [{"q": {}, "limit": 1}]}}`, more: []string{"explain.deletes", "explain.ordered"}},
	{name: "explain-findAndModify", command: "explain", targets: few, base: `{"explain": {"findAndModify": "*", "query": {}, "update": {"$set": {"a": 1}}}}`, more: []string{"explain.update", "explain.remove", "explain.new"}},
	{name: "insert", targets: few, base: `{"insert": "*", "documents": [{"_id": 9}]}`},
	{
		name: "bulkWrite", db: adminDB, targets: few, base: `{"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 9}}], "nsInfo": [{"ns": "recorded.*"}]}`,
		only: []string{
			"ops", "ops.insert", "ops.document", "ordered", "nsInfo", "bypass",
			"let", "cursor", "errorsOnly",
		},
	},
	{
		name: "bulkWrite-update", command: "bulkWrite", db: adminDB, targets: few, base: `{"bulkWrite": 1, "ops": [{"update": 0, "filter": {"a": 1}, "updateMods": {"$set": {"a": 1}}}], "nsInfo": [{"ns": "recorded.*"}]}`,
		only: []string{"ops.", "let"},
	},
	{
		name: "bulkWrite-delete", command: "bulkWrite", db: adminDB, targets: few, base: `{"bulkWrite": 1, "ops": [{"delete": 0, "filter": {"_id": 7}}], "nsInfo": [{"ns": "recorded.*"}]}`,
		only: []string{"ops."},
	},
	{
		name: "currentOp", db: adminDB, base: `{"currentOp": 1}`,
		more: []string{"$all", "$ownOps", "$local", "$truncateOps", "ns", "active"},
	},
	{name: "killOp", db: adminDB, base: `{"killOp": 1, "op": 2147483000}`},
	{name: "fsync", db: adminDB, base: `{"fsync": 1}`},
	{name: "fsyncUnlock", db: adminDB, base: `{"fsyncUnlock": 1}`},
	{
		name: "getParameter", db: adminDB, base: `{"getParameter": 1, "logLevel": 1}`,
		more: []string{"logLevel", "allParameters", "showDetails", "foo"},
	},
	{
		name: "setParameter", db: adminDB, base: `{"setParameter": 1, "cursorTimeoutMillis": 600000}`,
		more: []string{"cursorTimeoutMillis"},
	},
	{
		name: "setParameter-one", command: "setParameter", db: adminDB,
		base: `{"setParameter": 1}`, more: settableParameters,
	},
	{name: "refreshSessions", base: `{"refreshSessions": [1]}`},
	{name: "endSessions", base: `{"endSessions": [1]}`},
	{name: "killSessions", base: `{"killSessions": [1]}`},
	{name: "killAllSessions", base: `{"killAllSessions": [1]}`},
	{name: "killAllSessionsByPattern", base: `{"killAllSessionsByPattern": [1]}`},
	{name: "validateDBMetadata", base: `{"validateDBMetadata": 1, "apiParameters": {"version": "1", "strict": true, "deprecationErrors": true}}`},
	{name: "lockInfo", db: adminDB, base: `{"lockInfo": 1}`},
	{
		name: "serverStatus", db: adminDB, base: `{"serverStatus": 1}`,
		more: []string{"repl", "metrics", "none", "locks"},
	},
	{name: "listCommands", base: `{"listCommands": 1}`},
	{name: "buildInfo", base: `{"buildInfo": 1}`},
	{name: "ping", base: `{"ping": 1}`},
	{name: "logout", base: `{"logout": 1}`},
	{name: "createSearchIndexes", targets: few, base: `{"createSearchIndexes": "*", "indexes": []}`},
	{name: "updateSearchIndex", targets: few, base: `{"updateSearchIndex": "*", "name": "x", "definition": {}}`},
	{name: "dropSearchIndex", targets: few, base: `{"dropSearchIndex": "*", "name": "x"}`},
	{name: "saslStart", db: adminDB, base: `{"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ""}`, more: []string{"mechanism", "payload", "options", "autoAuthorize"}},
	{
		name: "saslContinue", db: adminDB, base: `{"saslContinue": 1, "conversationId": 1, "payload": ""}`,
		more: []string{"conversationId", "payload"},
	},
}

// settableParameters are the parameters that a running server accepts.
var settableParameters = []string{
	"logLevel", "quiet", "foo", "notablescan",
	"internalQueryMaxBlockingSortMemoryUsageBytes",
}

// adminUnswept are the commands that TestAdminArguments does not test, each with the reason.
var adminUnswept = map[string]string{
	"find": "TestArguments", "count": "TestArguments", "distinct": "TestArguments", "aggregate": "TestArguments",
	"update": "TestArguments", "delete": "TestArguments", "findAndModify": "TestArguments",
	"startSession": "it ends the recorded server", "authenticate": "as startSession",
	"shutdown": "it ends every server",
	"hello":    "the recorded server does not judge its arguments", "isMaster": "as hello",
}

// notRecorded are the commands that the recorded server does not have.
// internal/command/testdata/arguments.txt has the manual's description of their arguments.
var notRecorded = strings.Fields(`abortTransaction appendOplogNote cleanupOrphaned cloneCollectionAsCapped collMod commitTransaction configureFailPoint connPoolStats
	connectionStatus convertToCapped coordinateCommitTransaction features flushRouterConfig getClusterParameter getCmdLineOpts getDefaultRWConcern getDiagnosticData getLog
	getShardMap getShardVersion hostInfo logRotate mapReduce profile replSetAbortPrimaryCatchUp replSetFreeze replSetGetConfig replSetGetRBID replSetGetStatus replSetHeartbeat
	replSetInitiate replSetMaintenance replSetReconfig replSetRequestVotes replSetResizeOplog replSetStepDown replSetStepUp replSetSyncFrom replSetUpdatePosition
	setClusterParameter setDefaultRWConcern setFeatureCompatibilityVersion shardingState splitVector testVersion2 top waitForFailPoint whatsmyuri whatsmysni`)

// anyValues are the default values for an argument.
const anyValues = `[null,true,1,0,-1,1.5,1e20,{"$numberDouble":"NaN"},{"$numberLong":"9223372036854775807"},{"$numberLong":"-9223372036854775808"},"","x","$x","a\u0000b",
	{},{"x":1},{"a":{"b":[1]}},[],[1],[{}]]`

const patternValues = `[null,1,"x",[],{},{"a":1},{"a":-1},{"b":1},{"a":"x"},{"a":0},{"_id":1},{"":1},{"$x":1},{"a..b":1},{"a":1,"b":1},{"a":"hashed"}]`

// adminValues has the values of arguments for which anyValues are not suitable, by command and
// argument.
var adminValues = map[string]map[string]string{
	"create": {"collation": collationValues, "viewOn": `["there","x",null,1]`},
	"createIndexes": {
		"indexes":      `[[],[1],[null],[{}],[[]],["x"],[{"key":{"b":1}}],[{"name":"b"}],[{"key":{"b":1},"name":"b"},{"key":{"b":1},"name":"b"}],[{"key":{"b":1},"name":"b"},{"key":{"c":1},"name":"b"}],[{"key":{"a":1},"name":"x"}],[{"key":{"b":1},"name":"a"}],[{"key":{"b":1},"name":"b","foo":1}],1,null,{},"x"]`,
		"commitQuorum": `[0,1,-1,2,51,1e20,{"$numberDouble":"NaN"},"majority","votingMembers","x","",true,null,{},[]]`,
	},
	"dropIndexes": {"index": `["*","a","b","","_id_","a\u0000b",1,null,true,{},{"a":1},{"a":-1},{"b":1},{"_id":1},{"a":"x"},{"":1},{"a":{"b":1}},[],["a"],["a","b"],["a","a"],["*"],["_id_"],[1],["a",1],[null],[{"a":1}]]`},
	"dataSize":    {"keyPattern": patternValues, "min": patternValues, "max": patternValues},
	"planCacheClear": {
		"query": filterValues, "sort": sortValues, "projection": projectionValues, "collation": collationValues,
	},
	"killCursors": {"cursors": `[[],[1],[1.5],[null],["x"],[{}],[{"$numberLong":"0"}],[{"$numberLong":"1"},{"$numberLong":"1"}],[{"$numberLong":"-1"}],[{"$numberLong":"1"},1],1,null,{},"x"]`},
	"getMore":     {"": `[0,1,-1,1.5,"x",null,{},[],{"$numberLong":"0"},{"$numberLong":"-1"},{"$numberLong":"9223372036854775807"}]`, "collection": `["x","","$x","a.b","a\u0000b",".a","a$b",1,null,{},[]]`},
	"explain": {
		"":          `[1,"x",null,[],{},{"foo":1},{"find":1},{"find":""},{"find":"there","filter":1},{"explain":{"find":"there"}},{"ping":1},{"insert":"there","documents":[{}]},{"listCollections":1},{"getMore":{"$numberLong":"1"},"collection":"there"},{"find":"there","$db":"other"},{"find":"there","$db":1},{"find":"there","verbosity":"x"},{"find":"there","find":"there"},{"filter":{},"find":"there"}]`,
		"verbosity": `["queryPlanner","executionStats","allPlansExecution","","x","QueryPlanner","queryPlannerExtended","a\u0000b",1,true,null,{},[]]`, "explain.filter": filterValues,
		"explain.pipeline": `[[],[{"$match":{"a":1}}],1,null,{},[1],[{}],[{"$foo":1}],[{"$out":"x"}],[{"$match":{"$foo":1}}],[{"$limit":0}],[{"$group":{}}]]`, "explain.query": filterValues, "explain.sort": sortValues, "explain.hint": hintValues,
		"explain.updates": `[[],[1],[{}],[{"q":{}}],[{"u":{}}],[{"q":{},"u":{"$foo":1}}],[{"q":{"$foo":1},"u":{}}],[{"q":{},"u":{}},{"q":{},"u":{}}],[{"q":{},"u":{},"multi":true}],[{"q":{},"u":{"$set":{"_id":5}}}],1,{},null]`,
		"explain.deletes": `[[],[1],[{}],[{"q":{}}],[{"q":{},"limit":2}],[{"q":{"$foo":1},"limit":1}],[{"q":{},"limit":1},{"q":{},"limit":1}],1,{},null]`,
		"explain.update":  modsValues, "explain.key": `["","$a","a..b","a\u0000b",1,null]`,
	},
	"insert": {
		"documents": `[[],[1],[null],[[]],[{}],[{"_id":[1]}],[{"_id":{"$regularExpression":{"pattern":"x","options":""}}}],[{"_id":{"$undefined":true}}],[{"_id":{"$a":1}}],[{"_id":1}],[{"_id":1},{"_id":1}],[{"$a":1}],[{"a.b":1}],[{"":1}],[{"_id":7},1],[{"_id":7,"_id":8}],1,null,{},"x"]`,
	},
	"bulkWrite": {
		"": `[1,2,"x",null]`, "ops": `[[],[1],[null],[{}],[{"insert":0}],[{"document":{},"insert":0}],[{"insert":0,"document":{},"foo":1}],[{"insert":1,"document":{}}],[{"insert":-1,"document":{}}],[{"update":0}],[{"update":0,"filter":{}}],[{"delete":0}],[{"replace":0}],[{"insert":0,"update":0}],[{"insert":"x","document":{}}],1,null,{},"x"]`,
		"nsInfo":    `[[],[1],[null],[{}],[{"ns":""}],[{"ns":"x"}],[{"ns":"x."}],[{"ns":".x"}],[{"ns":"recorded.there"},{"ns":"recorded.there"}],[{"ns":"recorded.there","foo":1}],[{"ns":"recorded.a$b"}],[{"ns":"recorded.there"},{"ns":"recorded.missing"}],1,null,{},"x"]`,
		"nsInfo.ns": `["","x","x.",".x","a\u0000b.c","recorded.$x","recorded..x","recorded.system.x","a b.c",1,null,{}]`, "nsInfo.encryptionInformation": encryptionValues,
		"ops.filter": filterValues, "ops.updateMods": modsValues, "ops.hint": hintValues,
		"ops.collation": collationValues, "ops.arrayFilters": filtersValues, "ops.constants": letValues,
		"ops.sort": sortValues, "let": letValues,
		"ops.document": `[{},{"_id":1},{"_id":[1]},{"$a":1},{"":1},1,null,[],"x"]`,
	},
	"listCollections": {"filter": filterValues}, "listDatabases": {"filter": filterValues},
	"renameCollection": {"to": `["recorded.other","recorded.there","recorded.missing","recorded.view","other.x","recorded","recorded.","","x",".x","recorded.$x","recorded.a$b","recorded.system.x","recorded..x","a\u0000b.c","admin.x","local.x","config.x",1,null,{},[]]`},
	"killOp":           {"op": `[0,1,-1,1.5,1e20,2147483647,2147483648,{"$numberDouble":"NaN"},{"$numberLong":"9223372036854775807"},{"$numberLong":"-2147483649"},"x","1","shard:1",":1",true,null,{},[]]`},
	"refreshSessions":  {"": sessionValues}, "endSessions": {"": sessionValues}, "killSessions": {"": sessionValues},
	"killAllSessions":          {"": `[1,null,{},"x",[1],[{}],[{"user":"x"}],[{"db":"x"}],[{"user":"x","db":"y","z":1}],[{"user":1,"db":"y"}],[{"user":"x","db":null}]]`},
	"killAllSessionsByPattern": {"": `[1,null,{},"x",[1],[{"x":1}],[{"lsid":1}],[{"lsid":{}}],[{"lsid":{"id":1}}],[{"lsid":{"id":{"$uuid":"00000000-0000-4000-8000-000000000000"}}}],[{"uid":1}],[{"uid":{"$binary":{"base64":"AQ==","subType":"00"}}}],[{"users":1}],[{"users":[1]}],[{"roles":1}],[{"uid":{"$binary":{"base64":"","subType":"00"}}}]]`},
}

// sessionValues are invalid lists of sessions. A valid list would end the recorded server.
const sessionValues = `[1,{},"x",[1],[{}],[{"id":1}],[{"id":null}],[{"id":"x"}],[{"id":{"$binary":{"base64":"AQ==","subType":"00"}}}],[{"id":{"$binary":{"base64":"AQ==","subType":"04"}}}],
	[{"id":{"$uuid":"00000000-0000-4000-8000-000000000000"},"x":1}],[{"x":1}],[{"id":{"$uuid":"00000000-0000-4000-8000-000000000000"},"uid":1}],
	[{"id":{"$uuid":"00000000-0000-4000-8000-000000000000"},"uid":{"$binary":{"base64":"AQ==","subType":"00"}}}]]`

// adminCases lists every command of adminBases with each value of each argument, for each target.
func adminCases(t *testing.T) []question {
	t.Helper()
	swept := map[string]bool{}
	var out []question
	for _, b := range adminBases {
		if b.command == "" {
			b.command = b.name
		}
		swept[b.command] = true
		paths := append(fieldsOf(t, b.command), b.more...)
		paths = append(paths, "", "unknown")
		slices.Sort(paths)
		for _, path := range slices.Compact(paths) {
			if _, other := otherArguments[path]; other || !b.sweeps(path) {
				continue
			}
			out = append(out, b.cases(path)...)
		}
	}
	for _, def := range commands.Definitions() {
		_, other := adminUnswept[def.Name]
		if def.Status == feature.Supported && !swept[def.Name] && !other && !slices.Contains(notRecorded, def.Name) {
			t.Fatalf("the command %s has no base", def.Name)
		}
	}
	return out
}

func (b *adminBase) sweeps(path string) bool {
	return len(b.only) == 0 ||
		slices.ContainsFunc(b.only, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// cases returns the command with each value of an argument, for each target.
func (b *adminBase) cases(path string) []question {
	targets := strings.Fields(b.targets)
	if len(targets) == 0 {
		targets = []string{"-"}
	}
	var out []question
	for _, v := range valuesOf(adminValuesOf(b.command, path)) {
		for _, target := range targets {
			cmd := bsonxtest.MustParseD(strings.ReplaceAll(b.base, "*", target))
			if path == "" {
				cmd[0].Value = v
			} else {
				cmd = withArgument(cmd, path, v)
			}
			if path == "" && target != targets[0] {
				continue
			}
			db, name := b.db, b.command
			said := inJSON(bson.D{{path, v}})
			out = append(out, question{
				name: target + " " + b.name + said,
				ask: func(ctx context.Context, here *mongo.Database) string {
					return adminAnswer(ctx, here, db, name, cmd)
				},
			})
		}
	}
	return out
}

// adminValuesOf returns the values for an argument: its own values, the values of an option of a
// collection, or anyValues.
func adminValuesOf(name, path string) string {
	if own, ok := adminValues[name][path]; ok {
		return own
	}
	return anyValues
}

// changing matches the names of commands that change the collections of the test. After such a
// command, the test creates its collections again.
var changing = regexp.MustCompile(`^(create|createIndexes|dropIndexes|drop|dropDatabase|renameCollection|insert|bulkWrite|reIndex)$`)

// adminAnswer runs a command. It returns "ok", or the code, name and text of the error.
func adminAnswer(ctx context.Context, here *mongo.Database, db, name string, cmd bson.D) string {
	at := here
	if db != "" {
		at = here.Client().Database(db)
	}
	raw, err := at.RunCommand(ctx, cmd).Raw()
	answer := errorAnswer(err)
	if !strings.HasPrefix(answer, "error") {
		if code, ok := raw.Lookup("cursor", "firstBatch", "0", "code").Int32OK(); ok && name == "bulkWrite" {
			answer = fmt.Sprintf("operation error %d %s", code,
				oneLine(raw.Lookup("cursor", "firstBatch", "0", "errmsg").StringValue()))
		}
		switch name { // undo changes that other cases must not see
		case "fsync":
			_ = at.RunCommand(ctx, d("fsyncUnlock", 1)).Err()
		case "setParameter":
			_ = at.RunCommand(ctx, d("setParameter", 1, "notablescan", false, "quiet", false, "logLevel", 0)).Err()
		}
		if changing.MatchString(name) {
			if err := adminFixture(ctx, here); err != nil {
				return err.Error()
			}
		}
	}
	return uuids.ReplaceAllString(answer, "UUID")
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// adminFixture creates a collection of each kind.
func adminFixture(ctx context.Context, db *mongo.Database) error {
	if err := db.Drop(ctx); err != nil {
		return err
	}
	for _, cmd := range []bson.D{
		d("insert", "there", "documents", bson.A{d("_id", 1, "a", 1, "b", "x"), d("_id", 2, "a", 2)}),
		d("createIndexes", "there", "indexes", bson.A{d("key", d("a", 1), "name", "a")}),
		d("create", "view", "viewOn", "there", "pipeline", bson.A{}),
		d("create", "series", "timeseries", d("timeField", "t", "metaField", "m")),
		d("create", "capped", "capped", true, "size", 4096),
	} {
		if err := db.RunCommand(ctx, cmd).Err(); err != nil {
			return err
		}
	}
	return nil
}

// otherAdminAnswers match accepted differences: the case, Sheaf's answer and the recorded answer,
// separated by tabs.
var otherAdminAnswers = []*regexp.Regexp{
	// The recorded server is MongoDB 9.0. Sheaf follows 8.0, which differs in these cases.
	regexp.MustCompile(`dropIndexes.*\terror (27|72) .*\t(ok|error 27.*(time-series|timeseries)|error 5979800)`), // dropping a missing index is an error in 8.0
	regexp.MustCompile(`create\{.*\t.*error 48 .*namespace '[^\t]*' already exists, but`),                        // the error text of 9.0 names the difference
	// 9.0 looks up the collection before it reads the specifications.
	regexp.MustCompile(`view createIndexes.*\terror 166`),
	regexp.MustCompile(`series createIndexes.*\t.*(control\.|Index keys cannot be empty|Index build failed|expected an object|time-series|Empty object)`), // 9.0 translates the specifications first
	regexp.MustCompile(`createIndexes.*\terror (68|86) .*\terror (68|86|96) .*Index build failed`),                                                        // the error text of 9.0 has a prefix
	regexp.MustCompile(`killOp.*\t.*(an array of numbers|array must not be empty)`),                                                                       // 9.0 kills several operations
	regexp.MustCompile(`killOp.*2147483648.*\tok\t.*26823`),                                                                                               // operation numbers are unsigned in Sheaf
	regexp.MustCompile(`planCacheClear\{"(unknown|collation|projection|query)".*\tok\t`),                                                                  // Sheaf parses this command strictly
	regexp.MustCompile(`includePendingDrops.*\terror 14 .*\tok`),                                                                                          // the argument does not exist any more
	regexp.MustCompile(`fsyncLockAcquisitionTimeoutMillis.*\terror 2 .*\tok`),                                                                             // Sheaf has no minimum
	regexp.MustCompile(`_id":8.*\twrite error 2 .*\tok`),                                                                                                  // documents with two _ids
	regexp.MustCompile(`dbStats.*\t.*Scale factor must be`),
	regexp.MustCompile(`collStats.*actual value '-9223372036854775808'\t.*actual value '-2147483648'`), // scale has 32 bits on the recorded server
	regexp.MustCompile(`explain-aggregate.*\t.*when an explain verbosity`),
	regexp.MustCompile(`explain-aggregate.*\$out.*\terror 51029 .*\tok`),                           // 8.0 does not execute $out for explain
	regexp.MustCompile(`createIndexes\{"indexes\.name.*\terror 67 .*\terror 67 .*, v: 2 \}`),       // the recorded server shows the version in the specification
	regexp.MustCompile(`dataSize.*\terror 16634 .*\terror 12153300 `),                              // the recorded server has a new error code
	regexp.MustCompile(`dataSize.*Namespace .*\t.*not a valid collection name`),                    // the recorded text lacks a blank
	regexp.MustCompile(`create\{"collation.*\t.*\t.*('create\.collation|locale: "xx", caseLevel)`), // the recorded server parses the fields of collation with the other fields of create

	// The recorded server has another parser of commands.
	regexp.MustCompile(`explain.*"find":"there","find":"there".*\tok`), // the first field occurs twice
	// The command does not use the value of its first field.
	regexp.MustCompile(`\{"":"a\\u0000b"\}\t.*\terror 73 .*embedded null`),
	regexp.MustCompile(`validate.*Invalid collection name: \$x\terror 26`), // the collection cannot have this name
	regexp.MustCompile(`validateDBMetadata\{"(db|collection)":.*\tok\t`),   // the database cannot have this name

	// Features that Sheaf does not have.
	regexp.MustCompile(`validate.*"repair".*\terror 238`),
	regexp.MustCompile(`encryptionInformation.*\t.*6371602`),                     // index operations of queryable encryption
	regexp.MustCompile(`sasl(Start|Continue).*\terror (17|18) `),                 // users: issue 9
	regexp.MustCompile(`cursorTimeoutMillis.*Invalid value for parameter.*\tok`), // a timeout that no cursor survives
}

// sameAdmin reports whether two answers to a case agree, except for differences between versions
// and listed differences.
func sameAdmin(name, got, want string) bool {
	if sameArgument(got, want) {
		return true
	}
	all := name + "\t" + got + "\t" + want
	return slices.ContainsFunc(otherAdminAnswers, func(r *regexp.Regexp) bool { return r.MatchString(all) })
}

// TestAdminArguments compares the replies of DDL and administration commands for each argument with
// values of each type, valid and invalid. A command of the registry must have a base or a reason.
func TestAdminArguments(t *testing.T) {
	t.Parallel()
	check(t, class{
		file: "adminarguments.txt", grouped: true, standalone: true, cases: adminCases(t), agreesOn: sameAdmin,
		setup: func(t *testing.T, db *mongo.Database) {
			t.Helper()
			if err := adminFixture(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		},
	})
}
