package sheaf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

// logOf collects the lines of a JSON log.
type logOf struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logOf) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// lines returns the log's lines of a message that contain a mark.
func (l *logOf) lines(t *testing.T, message, mark string) (out []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if fields["msg"] == message && strings.Contains(line, mark) {
			out = append(out, fields)
		}
	}
	return out
}

// slowCommands are commands with the attributes that their lines in the log of slow queries must
// have, and with those that they must not have.
var slowCommands = []struct {
	name string
	cmd  bson.D
	want map[string]any // a value of nil means any value
	not  []string
}{
	{
		"find by an index",
		bson.D{{"find", "c"}, {"filter", bson.D{{"a", 3}}}},
		map[string]any{
			"type": "query", "ns": "d.c", "planSummary": "IXSCAN { a: 1 }", "keysExamined": 10.0,
			"docsExamined": 10.0, "nreturned": 10.0,
			"queryHash": nil, "planCacheShapeHash": nil, "planCacheKey": nil, "cursorExhausted": true,
			"reslen": nil, "durationMillis": nil,
			"remote": nil, "appName": "slow",
		},
		[]string{"hasSortStage", "cpuNanos", "locks", "storage", "fromPlanCache", "writeConflicts", "ninserted"},
	},
	{
		"find with a sort",
		bson.D{{"find", "c"}, {"sort", bson.D{{"b", -1}}}, {"batchSize", 7}},
		map[string]any{
			"planSummary": "COLLSCAN", "hasSortStage": true, "docsExamined": 100.0,
			"nreturned": 7.0, "cursorid": nil,
		},
		[]string{"usedDisk"},
	},
	{
		"find by _id",
		bson.D{{"find", "c"}, {"filter", bson.D{{"_id", 3}}}},
		map[string]any{"planSummary": "IDHACK", "keysExamined": nil, "docsExamined": 1.0, "nreturned": 1.0},
		nil,
	},
	{
		"aggregate",
		bson.D{{"aggregate", "c"}, {"cursor", bson.D{}}, {"pipeline", bson.A{
			bson.D{{"$match", bson.D{{"a", 3}}}},
			bson.D{{"$lookup", bson.D{{"from", "c"}, {"localField", "a"}, {"foreignField", "_id"}, {"as", "x"}}}},
		}}},
		map[string]any{"planSummary": "IXSCAN { a: 1 }", "docsExamined": 11.0, "nreturned": 10.0, "queryHash": nil},
		nil,
	},
	{
		"group of all",
		bson.D{{"aggregate", "c"}, {"cursor", bson.D{}}, {"pipeline", bson.A{
			bson.D{{"$group", bson.D{{"_id", "$pad"}, {"n", bson.D{{"$sum", 1}}}}}},
		}}},
		map[string]any{"planSummary": "COLLSCAN", "docsExamined": 100.0, "keysExamined": 0.0},
		nil,
	},
	{
		"count",
		bson.D{{"count", "c"}, {"query", bson.D{{"pad", "x"}}}},
		map[string]any{"planSummary": "COLLSCAN", "docsExamined": 100.0},
		nil,
	},
	{
		"distinct",
		bson.D{{"distinct", "c"}, {"key", "pad"}},
		map[string]any{"planSummary": "COLLSCAN", "docsExamined": 100.0},
		nil,
	},
	{
		"update",
		bson.D{{"update", "c"}, {"updates", bson.A{bson.D{
			{"q", bson.D{{"a", 4}}}, {"u", bson.D{{"$set", bson.D{{"x", 1}}}}}, {"multi", true},
		}}}},
		map[string]any{"docsExamined": 10.0, "keysExamined": 10.0, "nMatched": 10.0, "nModified": 10.0},
		[]string{"nreturned"},
	},
	{
		"update by _id",
		bson.D{{"update", "c"}, {"updates", bson.A{bson.D{
			{"q", bson.D{{"_id", 4}}}, {"u", bson.D{{"$set", bson.D{{"x", 2}}}}},
		}}}},
		map[string]any{"planSummary": "IDHACK", "docsExamined": 1.0, "nModified": 1.0},
		nil,
	},
	{
		"delete",
		bson.D{{"delete", "c"}, {"deletes", bson.A{bson.D{{"q", bson.D{{"a", 5}}}, {"limit", 1}}}}},
		map[string]any{"docsExamined": 1.0, "ndeleted": 1.0},
		nil,
	},
	{
		"findAndModify",
		bson.D{{"findAndModify", "c"}, {"query", bson.D{{"a", 6}}}, {"remove", true}},
		map[string]any{"planSummary": "IXSCAN { a: 1 }", "docsExamined": 1.0, "ndeleted": 1.0, "nreturned": 1.0},
		nil,
	},
	{
		"findAndModify that updates",
		bson.D{{"findAndModify", "c"}, {"query", bson.D{{"_id", 7}}}, {"update", bson.D{{"$set", bson.D{{"x", 3}}}}}},
		map[string]any{"nMatched": 1.0, "nModified": 1.0, "nUpserted": 0.0, "nreturned": 1.0},
		nil,
	},
	{
		"bulkWrite",
		bson.D{{"bulkWrite", 1}, {"ops", bson.A{
			bson.D{{"insert", 0}, {"document", bson.D{{"_id", -2}}}},
			bson.D{{"update", 0}, {"filter", bson.D{{"_id", -2}}}, {"updateMods", bson.D{{"$set", bson.D{{"x", 1}}}}}},
			bson.D{{"delete", 0}, {"filter", bson.D{{"_id", -2}}}},
		}}, {"nsInfo", bson.A{bson.D{{"ns", "d.c"}}}}},
		map[string]any{"ns": "d.c", "ninserted": 1.0, "nMatched": 1.0, "nModified": 1.0, "ndeleted": 1.0},
		[]string{"namespaces"},
	},
	{
		"bulkWrite of two collections",
		bson.D{{"bulkWrite", 1}, {"ops", bson.A{
			bson.D{{"insert", 0}, {"document", bson.D{{"_id", -3}}}},
			bson.D{{"insert", 1}, {"document", bson.D{{"_id", -3}}}},
		}}, {"nsInfo", bson.A{bson.D{{"ns", "d.c"}}, bson.D{{"ns", "d.e"}}}}},
		map[string]any{"ns": "admin.$cmd.bulkWrite", "ninserted": 2.0},
		nil,
	},
	{
		"insert",
		bson.D{{"insert", "c"}, {"documents", bson.A{bson.D{{"_id", -1}}}}},
		map[string]any{"ninserted": 1.0},
		[]string{"planSummary", "keysExamined", "docsExamined"},
	},
	{
		"an error",
		bson.D{{"find", "c"}, {"filter", bson.D{{"$bad", 1}}}},
		map[string]any{"ok": false, "errName": "BadValue", "errCode": 2.0, "errMsg": nil},
		nil,
	},
}

// TestSlowQueryLines: the attributes of slow operations in the log, and the counters of
// serverStatus, agree with the work of the operations.
func TestSlowQueryLines(t *testing.T) {
	t.Parallel()
	log := &logOf{}
	db := mustOpen(t, sheaf.Memory,
		&sheaf.Options{SlowOperation: time.Hour, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	client, err := connectAs(t, db, "slow")
	if err != nil {
		t.Fatal(err)
	}
	d, admin := client.Database("d"), client.Database("admin")
	var docs bson.A
	for i := range 100 {
		docs = append(docs, bson.D{{"_id", i}, {"a", i % 10}, {"b", i}, {"pad", "x"}})
	}
	mustRun(t, d, "insert", "c", "documents", docs)
	mustRun(t, d, "createIndexes", "c", "indexes", bson.A{bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a_1"}}})
	mustRun(t, admin, "profile", 0, "slowms", -1)
	mustRun(t, admin, "setParameter", 1, "logLevel", 1)
	for _, c := range slowCommands {
		cmd := append(slices.Clone(c.cmd), bson.E{"comment", "mark: " + c.name})
		before := scanned(t, admin)
		on := d
		if cmd[0].Key == "bulkWrite" {
			on = admin
		}
		_ = on.RunCommand(t.Context(), cmd).Err() // one of the commands fails on purpose
		after := scanned(t, admin)
		lines := log.lines(t, "Slow query", "mark: "+c.name)
		if len(lines) != 1 {
			t.Errorf("%s has %d lines", c.name, len(lines))
			continue
		}
		line := lines[0]
		if shown, ok := line["command"].(map[string]any); !ok || shown["comment"] != "mark: "+c.name {
			t.Errorf("%s: the command is %v", c.name, line["command"])
		}
		for name, want := range c.want {
			if got, ok := line[name]; !ok || want != nil && got != want {
				t.Errorf("%s: %s is %v, want %v", c.name, name, got, want)
			}
		}
		for _, name := range c.not {
			if got, ok := line[name]; ok {
				t.Errorf("%s: %s is %v, want none", c.name, name, got)
			}
		}
		number := func(name string) int64 { n, _ := line[name].(float64); return int64(n) }
		if got := [2]int64{
			after[0] - before[0],
			after[1] - before[1],
		}; got != [2]int64{number("keysExamined"), number("docsExamined")} {
			t.Errorf("%s: serverStatus counts %d, the line says %v and %v", c.name, got,
				line["keysExamined"], line["docsExamined"])
		}
	}
	for _, line := range log.lines(t, "Slow query", "mark: bulkWrite of two collections") {
		if spaces, _ := line["namespaces"].([]any); !slices.Equal(spaces, []any{"d.c", "d.e"}) {
			t.Errorf("the namespaces of the bulkWrite are %v", line["namespaces"])
		}
	}
	more := mustRun(t, d, "find", "c", "batchSize", 2, "sort", bson.D{{"a", 1}}).Lookup("cursor", "id").AsInt64()
	mustRun(t, d, "getMore", more, "collection", "c", "batchSize", 3, "comment", "mark: more")
	line := log.lines(t, "Slow query", "mark: more")
	if len(line) != 1 || line[0]["type"] != "getmore" || line[0]["planSummary"] != "IXSCAN { a: 1 }" ||
		line[0]["nreturned"] != 3.0 ||
		line[0]["docsExamined"] != 3.0 || line[0]["originatingCommand"] == nil || line[0]["queryHash"] == nil {
		t.Errorf("the getMore's line is %v", line)
	}
}

// scanned returns how many keys and documents all plans have examined, according to serverStatus.
func scanned(t *testing.T, admin *mongo.Database) [2]int64 {
	t.Helper()
	work := mustRun(t, admin, "serverStatus", 1).Lookup("metrics", "queryExecutor").Document()
	return [2]int64{work.Lookup("scanned").AsInt64(), work.Lookup("scannedObjects").AsInt64()}
}

// connectAs returns a client with an application name.
func connectAs(t *testing.T, db *sheaf.DB, name string) (*mongo.Client, error) {
	t.Helper()
	client, err := mongo.Connect(db.ClientOptions().SetAppName(name))
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client, err
}

// TestPasswordsAreNotLogged: the lines of commands with passwords do not show their arguments.
func TestPasswordsAreNotLogged(t *testing.T) {
	t.Parallel()
	log := &logOf{}
	db := mustOpen(t, sheaf.Memory,
		&sheaf.Options{SlowOperation: time.Hour, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	client, err := connectAs(t, db, "slow")
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, client.Database("admin"), "setParameter", 1, "logLevel", 1)
	for _, name := range []string{"createUser", "updateUser", "saslStart"} {
		cmd := bson.D{{name, "joe"}, {"pwd", "open sesame"}}
		_ = client.Database("d").RunCommand(t.Context(), cmd).Err() // all of these commands fail
		if lines := log.lines(t, "Slow query", name); len(lines) != 1 {
			t.Errorf("%s has %d lines", name, len(lines))
		}
	}
	if lines := log.lines(t, "Slow query", "open sesame"); len(lines) > 0 {
		t.Errorf("the log shows a password: %v", lines)
	}
}

// TestLargeCommandsAreCut: the log of a large command has only its name and the value of that
// field, also if the command is inside of an explain.
func TestLargeCommandsAreCut(t *testing.T) {
	t.Parallel()
	log := &logOf{}
	db := mustOpen(t, sheaf.Memory,
		&sheaf.Options{SlowOperation: time.Hour, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	client, err := connectAs(t, db, "slow")
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, client.Database("admin"), "setParameter", 1, "logLevel", 1)
	var list bson.A
	for i := range 10_000 {
		list = append(list, i)
	}
	find := bson.D{{"find", "c"}, {"filter", bson.D{{"a", bson.D{{"$in", list}}}}}}
	for _, cmd := range []bson.D{find, {{"explain", find}}, {{"explain", bson.D{{"nosuch", find}}}}} {
		_ = client.Database("d").RunCommand(t.Context(), cmd).Err() // one of the commands fails on purpose
	}
	var shown []string
	for _, line := range log.lines(t, "Slow query", "truncatedBytes") {
		command, _ := line["command"].(map[string]any)
		if bytes, _ := command["truncatedBytes"].(float64); bytes < 90_000 {
			t.Errorf("%v of the command were cut", command["truncatedBytes"])
		}
		delete(command, "truncatedBytes")
		text, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(text))
	}
	if want := []string{`{"find":"c"}`, `{"explain":{"find":"c"}}`, `{"explain":"..."}`}; !slices.Equal(shown, want) {
		t.Errorf("%.200q, want %q", shown, want)
	}
}
