package command_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// fields returns the names of the fields of a reply, without the cluster times.
func fields(t *testing.T, raw bson.Raw) []string {
	t.Helper()
	elems, err := raw.Elements()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range elems {
		if e.Key() != "$clusterTime" && e.Key() != "operationTime" {
			names = append(names, e.Key())
		}
	}
	return names
}

// TestUnacknowledged checks insert, update and delete with w: 0 from a client that waits for the
// reply. They must reply with only ok, even if a statement failed. An error of the whole command
// must be reported.
func TestUnacknowledged(t *testing.T) {
	t.Parallel()
	c := sheaftest.New(t).Database("d").Collection("c")
	for _, test := range []struct {
		name, cmd string
		fields    []string
		code      int32
	}{
		{"insert", `{"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]}`, []string{"ok"}, 0},
		{"insert, duplicate", `{"insert": "c", "documents": [{"_id": 1}]}`, []string{"ok"}, 0},
		{"insert, unknown field", `{"insert": "c", "documents": [{}], "nosuch": 1}`, nil, 40415},
		{"insert, no documents", `{"insert": "c", "documents": []}`, nil, 16},
		{"update", `{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]}`, []string{"ok"}, 0},
		{"update, unknown operator", `{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$nosuch": {"a": 1}}}]}`, []string{"ok"}, 0},
		{"upsert", `{"update": "c", "updates": [{"q": {"_id": 3}, "u": {"$set": {"a": 1}}, "upsert": true}]}`, []string{"ok"}, 0},
		{"delete", `{"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]}`, []string{"ok"}, 0},
		{"delete, unknown operator", `{"delete": "c", "deletes": [{"q": {"$x": 2}, "limit": 1}]}`, []string{"ok"}, 0},
		{
			"findAndModify", `{"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"a": 2}}}`, []string{"lastErrorObject", "value", "ok"}, 0,
		},
	} {
		cmd := bsonxtest.ParseD(t, test.cmd)
		raw, err := run(t, c, append(cmd, bson.E{"writeConcern", bson.D{{"w", 0}}}))
		if code := errorCode(t, err); code != test.code {
			t.Errorf("%s: %v", test.name, err)
		} else if code == 0 && !slices.Equal(fields(t, raw), test.fields) {
			t.Errorf("%s: %v", test.name, raw)
		}
	}
	if n, err := c.CountDocuments(t.Context(), bson.D{}); n != 2 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
}

// TestUnacknowledgedBulkWrite checks that bulkWrite with w: 0 returns its counts without the
// results of the operations.
func TestUnacknowledgedBulkWrite(t *testing.T) {
	t.Parallel()
	admin := sheaftest.New(t).Database("admin").Collection("c")
	insert := bson.D{{"insert", 0}, {"document", bson.D{{"_id", 1}}}}
	raw, err := run(t, admin, bson.D{
		{"bulkWrite", 1},
		{"ops", bson.A{insert, insert}},
		{"nsInfo", bson.A{bson.D{{"ns", "d.c"}}}},
		{"writeConcern", bson.D{{"w", 0}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	results, err := raw.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil || len(results) != 0 || raw.Lookup("nInserted").AsInt64() != 1 ||
		raw.Lookup("nErrors").AsInt64() != 1 {
		t.Errorf("%v", raw)
	}
}

// TestNamesOfCommands checks names with a dollar sign, which no collection can have. Commands that
// read, change or create documents must refuse them.
func TestNamesOfCommands(t *testing.T) {
	t.Parallel()
	c := sheaftest.New(t).Database("d").Collection("c")
	for _, name := range []string{"$cmd", "$cmd.aggregate", "a$b"} {
		for format, want := range map[string]int32{
			`{"find": "N"}`:                                                         73,
			`{"explain": {"find": "N"}}`:                                            73,
			`{"distinct": "N", "key": "a"}`:                                         73,
			`{"explain": {"distinct": "N", "key": "a"}}`:                            73,
			`{"insert": "N", "documents": [{}]}`:                                    73,
			`{"update": "N", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]}`:      73,
			`{"delete": "N", "deletes": [{"q": {}, "limit": 1}]}`:                   73,
			`{"findAndModify": "N", "query": {}, "update": {}}`:                     73,
			`{"create": "N"}`:                                                       73,
			`{"createIndexes": "N", "indexes": [{"key": {"a": 1}, "name": "a_1"}]}`: 73,
			`{"aggregate": "N", "pipeline": [], "cursor": {}}`:                      0,
			`{"count": "N"}`:                                                        0,
			`{"drop": "N"}`:                                                         0,
			`{"listIndexes": "N"}`:                                                  26,
		} {
			cmd := bsonxtest.ParseD(t, strings.ReplaceAll(format, `"N"`, `"`+name+`"`))
			if name == "$cmd.aggregate" && cmd[0].Key == "aggregate" {
				want = 73 // the same namespace as {aggregate: 1}
			}
			if _, err := run(t, c, cmd); errorCode(t, err) != want {
				t.Errorf("%v: %v, want code %d", cmd, err, want)
			}
		}
	}
}
