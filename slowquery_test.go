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

// slowCommands are commands with the attributes that their slow-query lines must have, and those that they must not have.
var slowCommands = []struct {
	name string
	cmd  bson.D
	want map[string]any // nil is any value
	not  []string
}{
	{
		"find by an index",
		bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a", Value: 3}}}},
		map[string]any{
			"type": "query", "ns": "d.c", "planSummary": "IXSCAN { a: 1 }", "keysExamined": 10.0, "docsExamined": 10.0, "nreturned": 10.0,
			"queryHash": nil, "planCacheShapeHash": nil, "planCacheKey": nil, "cursorExhausted": true, "reslen": nil, "durationMillis": nil,
			"remote": nil, "appName": "slow",
		},
		[]string{"hasSortStage", "cpuNanos", "locks", "storage", "fromPlanCache", "writeConflicts", "ninserted"},
	},
	{
		"find with a sort",
		bson.D{{Key: "find", Value: "c"}, {Key: "sort", Value: bson.D{{Key: "b", Value: -1}}}, {Key: "batchSize", Value: 7}},
		map[string]any{"planSummary": "COLLSCAN", "hasSortStage": true, "docsExamined": 100.0, "nreturned": 7.0, "cursorid": nil},
		[]string{"usedDisk"},
	},
	{
		"find by _id",
		bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "_id", Value: 3}}}},
		map[string]any{"planSummary": "IDHACK", "keysExamined": nil, "docsExamined": 1.0, "nreturned": 1.0},
		nil,
	},
	{
		"aggregate",
		bson.D{{Key: "aggregate", Value: "c"}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$match", Value: bson.D{{Key: "a", Value: 3}}}},
			bson.D{{Key: "$lookup", Value: bson.D{{Key: "from", Value: "c"}, {Key: "localField", Value: "a"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "x"}}}},
		}}},
		map[string]any{"planSummary": "IXSCAN { a: 1 }", "docsExamined": 11.0, "nreturned": 10.0, "queryHash": nil},
		nil,
	},
	{
		"group of all",
		bson.D{{Key: "aggregate", Value: "c"}, {Key: "cursor", Value: bson.D{}}, {Key: "pipeline", Value: bson.A{
			bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$pad"}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}},
		}}},
		map[string]any{"planSummary": "COLLSCAN", "docsExamined": 100.0, "keysExamined": 0.0},
		nil,
	},
	{
		"count",
		bson.D{{Key: "count", Value: "c"}, {Key: "query", Value: bson.D{{Key: "pad", Value: "x"}}}},
		map[string]any{"planSummary": "COLLSCAN", "docsExamined": 100.0},
		nil,
	},
	{
		"distinct",
		bson.D{{Key: "distinct", Value: "c"}, {Key: "key", Value: "pad"}},
		map[string]any{"planSummary": "COLLSCAN", "docsExamined": 100.0},
		nil,
	},
	{
		"update",
		bson.D{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{
			{Key: "q", Value: bson.D{{Key: "a", Value: 4}}}, {Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}}}, {Key: "multi", Value: true},
		}}}},
		map[string]any{"docsExamined": 10.0, "keysExamined": 10.0, "nMatched": 10.0, "nModified": 10.0},
		[]string{"nreturned"},
	},
	{
		"update by _id",
		bson.D{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.D{
			{Key: "q", Value: bson.D{{Key: "_id", Value: 4}}}, {Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 2}}}}},
		}}}},
		map[string]any{"planSummary": "IDHACK", "docsExamined": 1.0, "nModified": 1.0},
		nil,
	},
	{
		"delete",
		bson.D{{Key: "delete", Value: "c"}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "a", Value: 5}}}, {Key: "limit", Value: 1}}}}},
		map[string]any{"docsExamined": 1.0, "ndeleted": 1.0},
		nil,
	},
	{
		"findAndModify",
		bson.D{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: bson.D{{Key: "a", Value: 6}}}, {Key: "remove", Value: true}},
		map[string]any{"planSummary": "IXSCAN { a: 1 }", "docsExamined": 1.0, "ndeleted": 1.0, "nreturned": 1.0},
		nil,
	},
	{
		"findAndModify that updates",
		bson.D{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: bson.D{{Key: "_id", Value: 7}}}, {Key: "update", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 3}}}}}},
		map[string]any{"nMatched": 1.0, "nModified": 1.0, "nUpserted": 0.0, "nreturned": 1.0},
		nil,
	},
	{
		"bulkWrite",
		bson.D{{Key: "bulkWrite", Value: 1}, {Key: "ops", Value: bson.A{
			bson.D{{Key: "insert", Value: 0}, {Key: "document", Value: bson.D{{Key: "_id", Value: -2}}}},
			bson.D{{Key: "update", Value: 0}, {Key: "filter", Value: bson.D{{Key: "_id", Value: -2}}}, {Key: "updateMods", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}}}},
			bson.D{{Key: "delete", Value: 0}, {Key: "filter", Value: bson.D{{Key: "_id", Value: -2}}}},
		}}, {Key: "nsInfo", Value: bson.A{bson.D{{Key: "ns", Value: "d.c"}}}}},
		map[string]any{"ns": "d.c", "ninserted": 1.0, "nMatched": 1.0, "nModified": 1.0, "ndeleted": 1.0},
		[]string{"namespaces"},
	},
	{
		"bulkWrite of two collections",
		bson.D{{Key: "bulkWrite", Value: 1}, {Key: "ops", Value: bson.A{
			bson.D{{Key: "insert", Value: 0}, {Key: "document", Value: bson.D{{Key: "_id", Value: -3}}}},
			bson.D{{Key: "insert", Value: 1}, {Key: "document", Value: bson.D{{Key: "_id", Value: -3}}}},
		}}, {Key: "nsInfo", Value: bson.A{bson.D{{Key: "ns", Value: "d.c"}}, bson.D{{Key: "ns", Value: "d.e"}}}}},
		map[string]any{"ns": "admin.$cmd.bulkWrite", "ninserted": 2.0},
		nil,
	},
	{
		"insert",
		bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: -1}}}}},
		map[string]any{"ninserted": 1.0},
		[]string{"planSummary", "keysExamined", "docsExamined"},
	},
	{
		"an error",
		bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "$bad", Value: 1}}}},
		map[string]any{"ok": false, "errName": "BadValue", "errCode": 2.0, "errMsg": nil},
		nil,
	},
}

// TestSlowQueryLines compares the attributes of slow operations, and what serverStatus counts, with what they did.
func TestSlowQueryLines(t *testing.T) {
	t.Parallel()
	log := &logOf{}
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{SlowOperation: time.Hour, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	client, err := connectAs(t, db, "slow")
	if err != nil {
		t.Fatal(err)
	}
	d, admin := client.Database("d"), client.Database("admin")
	var docs bson.A
	for i := range 100 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "a", Value: i % 10}, {Key: "b", Value: i}, {Key: "pad", Value: "x"}})
	}
	mustRun(t, d, "insert", "c", "documents", docs)
	mustRun(t, d, "createIndexes", "c", "indexes", bson.A{bson.D{{Key: "key", Value: bson.D{{Key: "a", Value: 1}}}, {Key: "name", Value: "a_1"}}})
	mustRun(t, admin, "profile", 0, "slowms", -1)
	mustRun(t, admin, "setParameter", 1, "logLevel", 1)
	for _, c := range slowCommands {
		cmd := append(slices.Clone(c.cmd), bson.E{Key: "comment", Value: "mark: " + c.name})
		before := scanned(t, admin)
		on := d
		if cmd[0].Key == "bulkWrite" {
			on = admin
		}
		_ = on.RunCommand(t.Context(), cmd).Err() // one of them fails on purpose
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
		if got := [2]int64{after[0] - before[0], after[1] - before[1]}; got != [2]int64{number("keysExamined"), number("docsExamined")} {
			t.Errorf("%s: serverStatus counts %d, the line says %v and %v", c.name, got, line["keysExamined"], line["docsExamined"])
		}
	}
	for _, line := range log.lines(t, "Slow query", "mark: bulkWrite of two collections") {
		if spaces, _ := line["namespaces"].([]any); !slices.Equal(spaces, []any{"d.c", "d.e"}) {
			t.Errorf("the namespaces of the bulkWrite are %v", line["namespaces"])
		}
	}
	more := mustRun(t, d, "find", "c", "batchSize", 2, "sort", bson.D{{Key: "a", Value: 1}}).Lookup("cursor", "id").AsInt64()
	mustRun(t, d, "getMore", more, "collection", "c", "batchSize", 3, "comment", "mark: more")
	line := log.lines(t, "Slow query", "mark: more")
	if len(line) != 1 || line[0]["type"] != "getmore" || line[0]["planSummary"] != "IXSCAN { a: 1 }" || line[0]["nreturned"] != 3.0 ||
		line[0]["docsExamined"] != 3.0 || line[0]["originatingCommand"] == nil || line[0]["queryHash"] == nil {
		t.Errorf("the getMore's line is %v", line)
	}
}

// scanned returns how many keys and documents serverStatus says that plans examined.
func scanned(t *testing.T, admin *mongo.Database) [2]int64 {
	t.Helper()
	work := mustRun(t, admin, "serverStatus", 1).Lookup("metrics", "queryExecutor").Document()
	return [2]int64{work.Lookup("scanned").AsInt64(), work.Lookup("scannedObjects").AsInt64()}
}

// connectAs returns a client of an application of that name.
func connectAs(t *testing.T, db *sheaf.DB, name string) (*mongo.Client, error) {
	t.Helper()
	client, err := mongo.Connect(db.ClientOptions().SetAppName(name))
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client, err
}

// TestLargeCommandsAreCut logs a large command by its name and value, also below explain.
func TestLargeCommandsAreCut(t *testing.T) {
	t.Parallel()
	log := &logOf{}
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{SlowOperation: time.Hour, Logger: slog.New(slog.NewJSONHandler(log, nil))})
	client, err := connectAs(t, db, "slow")
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, client.Database("admin"), "setParameter", 1, "logLevel", 1)
	var list bson.A
	for i := range 10_000 {
		list = append(list, i)
	}
	find := bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a", Value: bson.D{{Key: "$in", Value: list}}}}}}
	for _, cmd := range []bson.D{find, {{Key: "explain", Value: find}}, {{Key: "explain", Value: bson.D{{Key: "nosuch", Value: find}}}}} {
		_ = client.Database("d").RunCommand(t.Context(), cmd).Err() // one of them fails on purpose
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
