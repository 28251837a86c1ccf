package recorded

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

const (
	// shapesFile has the names and BSON types of the fields of a MongoDB server's diagnostic
	// replies.
	shapesFile = "shapes.txt"
	// absentFile has a reason for each field of shapesFile that Sheaf omits or returns with another
	// type.
	absentFile = "shapes-absent.txt"
)

// reply is a diagnostic command. The test compares the names and types of the fields of its reply.
type reply struct {
	name string
	db   string // "" for the database with the collection
	cmd  bson.D
}

func diagnosticReplies() []reply {
	aggregate := func(coll any, stage string, arg any) bson.D {
		return bson.D{
			{"aggregate", coll},
			{"pipeline", bson.A{bson.D{{stage, arg}}}},
			{"cursor", bson.D{}},
		}
	}
	one := func(name string, arg any, more ...bson.E) bson.D {
		return append(bson.D{{name, arg}}, more...)
	}
	all := bson.D{
		{"latencyStats", bson.D{{"histograms", true}}},
		{"storageStats", bson.D{}},
		{"count", bson.D{}},
		{"queryExecStats", bson.D{}},
	}
	return []reply{
		{"$collStats", "", aggregate("c", "$collStats", all)},
		{"$currentOp", "admin", aggregate(1, "$currentOp", bson.D{})},
		{"$indexStats", "", aggregate("c", "$indexStats", bson.D{})},
		{"$planCacheStats", "", aggregate("c", "$planCacheStats", bson.D{})},
		{"buildInfo", "admin", one("buildInfo", 1)},
		{"collStats", "", one("collStats", "c")},
		{"connPoolStats", "admin", one("connPoolStats", 1)},
		{"connectionStatus", "admin", one("connectionStatus", 1, bson.E{"showPrivileges", true})},
		{"currentOp", "admin", one("currentOp", 1)},
		{"dataSize", "", one("dataSize", "recorded.c")},
		{"dbStats", "", one("dbStats", 1, bson.E{"freeStorage", 1})},
		{"explain", "", one("explain",
			bson.D{{"find", "c"}, {"filter", bson.D{{"a", 3}}}})},
		{"getCmdLineOpts", "admin", one("getCmdLineOpts", 1)},
		{"getDefaultRWConcern", "admin", one("getDefaultRWConcern", 1)},
		{"getDiagnosticData", "admin", one("getDiagnosticData", 1)},
		{"getLog", "admin", one("getLog", "global")},
		{"hello", "admin", one("hello", 1)},
		{"hostInfo", "admin", one("hostInfo", 1)},
		{"listCollections", "", one("listCollections", 1)},
		{"listCommands", "admin", one("listCommands", 1)},
		{"listDatabases", "admin", one("listDatabases", 1)},
		{"listIndexes", "", one("listIndexes", "c")},
		{"lockInfo", "admin", one("lockInfo", 1)},
		{"profile", "", one("profile", -1)},
		{"replSetGetStatus", "admin", one("replSetGetStatus", 1)},
		{"serverStatus", "admin", one("serverStatus", 1)},
		{"top", "admin", one("top", 1)},
		{"validate", "", one("validate", "c")},
		{"validateDBMetadata", "admin", one("validateDBMetadata", 1, bson.E{"apiParameters", bson.D{
			{"version", "1"}, {"strict", true}, {"deprecationErrors", true},
		}})},
		{"whatsmyuri", "admin", one("whatsmyuri", 1)},
	}
}

// variable are the documents whose field names are data. A star stands for the name.
var variable = []string{
	"top/totals/*", "serverStatus/metrics/commands/*", "serverStatus/metrics/aggStageCounters/*",
	"serverStatus/metrics/operatorCounters/*/*", "listCommands/commands/*", "*/indexSizes/*", "*/indexDetails/*",
	"validate/keysPerIndex/*", "validate/indexDetails/*", "$collStats/*/*/storageStats/indexSizes/*",
	"$collStats/*/*/storageStats/indexDetails/*", "explain/command/*/*", "getCmdLineOpts/parsed/*",
	"*/indexDetails/*", "$collStats/cursor/firstBatch/*/storageStats/index*/*", "serverStatus/locks/*",
	"getDiagnosticData/data/*",
}

// otherEngine reports whether a document describes MongoDB's storage engine. Only the name of the
// document is kept.
func otherEngine(at string) bool {
	name := path.Base(at)
	return name == "wiredTiger" || name == "spillWiredTiger" ||
		path.Base(path.Dir(at)) == "indexDetails" && !strings.HasPrefix(at, "validate/")
}

// TestShapesOfDiagnostics compares the fields of diagnostic replies, by name and type, with a
// MongoDB server's. Each field of the server must exist, or be in the file of absent fields with a
// reason. A reason without a field fails.
func TestShapesOfDiagnostics(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", shapesFile)
	if *record != "" {
		writeAnswers(t, file, shapesOf(t, connect(t)))
		return
	}
	got, want := shapesOf(t, served(t)), readAnswers(t, file)
	absent := readAnswers(t, filepath.Join("testdata", absentFile))
	used := map[string]bool{}
	for _, field := range slices.Sorted(maps.Keys(want)) {
		pattern := covering(absent, field)
		differs := !sameType(got[field], want[field])
		switch {
		case differs && pattern == "":
			t.Errorf("%s\t%s, not %s", field, orAbsent(got[field]), want[field])
		case differs:
			used[pattern] = true
		}
	}
	for p, reason := range absent {
		if !used[p] {
			t.Errorf("%s has no field that is absent: %s", p, reason)
		}
	}
}

// covering returns the pattern that matches a field, or "". A pattern that ends in ** also matches
// all fields below.
func covering(patterns map[string]string, field string) string {
	names := strings.Split(field, "/")
	for p := range patterns {
		at, below := strings.CutSuffix(p, "/**")
		depth := strings.Count(at, "/") + 1
		if depth > len(names) || !below && depth != len(names) {
			continue
		}
		if ok, err := path.Match(at, strings.Join(names[:depth], "/")); err != nil {
			panic(err)
		} else if ok {
			return p
		}
	}
	return ""
}

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

// sameType compares types. MongoDB writes many numbers as an int if they are small, and otherwise
// as a long.
func sameType(got, want string) bool {
	whole := func(s string) bool { return s == "int" || s == "long" }
	return got == want || whole(got) && whole(want)
}

// shapesOf returns the type of each field of each reply.
func shapesOf(t *testing.T, client *mongo.Client) map[string]string {
	t.Helper()
	db := client.Database("recorded")
	if err := db.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	setUpShapes(t, db)
	out := map[string]string{}
	for _, s := range diagnosticReplies() {
		on := db
		if s.db != "" {
			on = client.Database(s.db)
		}
		reply, failed := run(t.Context(), on, s.cmd)
		if failed != "" {
			out[s.name] = failed
			continue
		}
		typesOf(out, s.name, bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: reply})
	}
	return out
}

// served starts a server with a directory and a port, and returns a client of it.
func served(t *testing.T) *mongo.Client {
	t.Helper()
	db, err := sheaf.Open(t.TempDir(),
		&sheaf.Options{CommandLine: []string{"sheaf", "serve"}, Sync: sheaf.SyncOnRequest})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	go func() { _ = db.Serve(context.Background(), listener) }()
	return connectTo(t, "mongodb://"+listener.Addr().String()+"/?directConnection=true")
}

func setUpShapes(t *testing.T, db *mongo.Database) {
	t.Helper()
	var docs []any
	for i := range 100 {
		docs = append(docs, bson.D{{"a", i % 10}, {"b", i}})
	}
	if _, err := db.Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	for _, key := range []bson.D{{{"a", 1}}, {{"a", 1}, {"b", 1}}} {
		if _, err := db.Collection("c").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: key}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // so that a plan is cached
		if err := db.Collection("c").
			FindOne(t.Context(), bson.D{{"a", 3}, {"b", 13}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// typesOf records the types of the fields below a path. The elements of an array count as one
// field.
func typesOf(out map[string]string, at string, v bson.RawValue) {
	elements, err := bson.Raw(v.Value).Elements()
	if err != nil {
		return
	}
	for _, e := range elements {
		name := strings.ReplaceAll(e.Key(), "/", "|")
		if v.Type == bson.TypeArray {
			name = "[]"
		}
		below := path.Join(at, name)
		for _, p := range variable {
			if ok, _ := path.Match(p, below); ok {
				below = path.Join(at, "{}")
			}
		}
		out[below] = typeName(e.Value().Type)
		if kind := e.Value().Type; !otherEngine(below) &&
			(kind == bson.TypeEmbeddedDocument || kind == bson.TypeArray) {
			typesOf(out, below, e.Value())
		}
	}
}

func typeName(t bson.Type) string {
	switch t {
	case bson.TypeInt32:
		return "int"
	case bson.TypeInt64:
		return "long"
	case bson.TypeEmbeddedDocument:
		return "object"
	default:
		return fmt.Sprint(t)
	}
}
