package sheaf_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
)

// syncedCommands has a case for each command that accepts a write concern. Each case changes
// something. The order matters: earlier commands create the data for later ones.
var syncedCommands = []struct{ name, db, json string }{
	{"create", "d", `{"create": "a"}`},
	{"create", "d", `{"create": "v", "viewOn": "a", "pipeline": []}`},
	{"create", "d", `{"create": "ts", "timeseries": {"timeField": "t"}}`},
	{"create", "d", `{"create": "capped", "capped": true, "size": 100000}`},
	{"insert", "d", `{"insert": "a", "documents": [{"_id": 1}, {"_id": 2}]}`},
	{"insert", "d", `{"insert": "made", "documents": [{"_id": 1}]}`},
	{"insert", "d", `{"insert": "ts", "documents": [{"t": {"$date": "2020-01-01T00:00:00Z"}}]}`},
	{"insert", "d", `{"insert": "capped", "documents": [{"_id": 1}]}`},
	{"update", "d", `{"update": "a", "updates": [{"q": {}, "u": {"$set": {"x": 1}}, "multi": true}]}`},
	{"update", "d", `{"update": "a", "updates": [{"q": {"_id": 1}, "u": [{"$set": {"x": 2}}]}]}`},
	{"update", "d", `{"update": "a", "updates": [{"q": {"_id": 3}, "u": {"$set": {"x": 1}}, "upsert": true}]}`},
	{"findAndModify", "d", `{"findAndModify": "a", "query": {"_id": 1}, "update": {"$set": {"y": 1}}}`},
	{"findAndModify", "d", `{"findAndModify": "a", "query": {"_id": 4}, "update": {"$set": {"y": 1}}, "upsert": true}`},
	{"findAndModify", "d", `{"findAndModify": "a", "query": {"_id": 4}, "remove": true}`},
	{"delete", "d", `{"delete": "a", "deletes": [{"q": {"_id": 3}, "limit": 1}]}`},
	{"bulkWrite", "admin", `{"bulkWrite": 1, "ops": [{"insert": 0, "document": {"_id": 9}}], "nsInfo": [{"ns": "d.a"}]}`},
	{"aggregate", "d", `{"aggregate": "a", "pipeline": [{"$out": "o"}], "cursor": {}}`},
	{"aggregate", "d", `{"aggregate": "a", "pipeline": [{"$out": "o"}], "cursor": {}}`},
	{"aggregate", "d", `{"aggregate": "a", "pipeline": [{"$merge": "m"}], "cursor": {}}`},
	{"aggregate", "d", `{"aggregate": "made", "pipeline": [{"$set": {"z": 1}}, {"$merge": "m"}], "cursor": {}}`},
	{"mapReduce", "d", `{"mapReduce": "a", "map": "function() { emit(1, 1) }", "reduce": "function() { return 1 }", "out": "r"}`},
	{"createIndexes", "d", `{"createIndexes": "a", "indexes": [{"key": {"x": 1}, "name": "x_1"}]}`},
	{"createIndexes", "d", `{"createIndexes": "fresh", "indexes": [{"key": {"x": 1}, "name": "x_1"}]}`},
	{"collMod", "d", `{"collMod": "a", "index": {"name": "x_1", "hidden": true}}`},
	{"collMod", "d", `{"collMod": "a", "validationLevel": "moderate"}`},
	{"collMod", "d", `{"collMod": "v", "viewOn": "made", "pipeline": []}`},
	{"dropIndexes", "d", `{"dropIndexes": "a", "index": "x_1"}`},
	{"convertToCapped", "d", `{"convertToCapped": "made", "size": 100000}`},
	{"cloneCollectionAsCapped", "d", `{"cloneCollectionAsCapped": "a", "toCollection": "clone", "size": 100000}`},
	{"renameCollection", "admin", `{"renameCollection": "d.clone", "to": "d.renamed"}`},
	{"drop", "d", `{"drop": "renamed"}`},
	{"drop", "d", `{"drop": "v"}`},
	{"dropDatabase", "d", `{"dropDatabase": 1}`},
	{"setDefaultRWConcern", "admin", `{"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "majority"}}`},
	{"setClusterParameter", "admin", `{"setClusterParameter": {"defaultMaxTimeMS": {"readOperations": 60000}}}`},
	{"appendOplogNote", "admin", `{"appendOplogNote": 1, "data": {"x": 1}}`},
}

// notSynced lists the commands that accept a write concern but have no case in syncedCommands, each
// with the reason.
var notSynced = map[string]string{
	"commitTransaction":              "has a case in durableCommands",
	"abortTransaction":               "writes nothing",
	"coordinateCommitTransaction":    "is refused",
	"setFeatureCompatibilityVersion": "accepts the version that is set only",
	"reIndex":                        "is refused on a member; a standalone server's indexes are made again from what is on disk",
}

// TestEveryWriteIsSynced runs each command that accepts a write concern, but without a write
// concern. The write must be on disk when the server replies.
func TestEveryWriteIsSynced(t *testing.T) {
	t.Parallel()
	db, err := sheaf.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cases := map[string]bool{}
	for _, c := range syncedCommands {
		cases[c.name] = true
		cmd := bsonxtest.ParseD(t, c.json)
		before := sheaf.Fsyncs(db)
		if err := db.Client().Database(c.db).RunCommand(t.Context(), cmd).Err(); err != nil {
			t.Errorf("%s: %v", c.json, err)
			continue
		}
		if sheaf.Fsyncs(db) == before {
			t.Errorf("%s: nothing was synced", c.json)
		}
	}
	for _, d := range commands.Definitions() {
		has, why := cases[d.Name], notSynced[d.Name]
		if d.Writes == feature.Yes && d.Status == feature.Supported && d.Refuse == nil && has == (why != "") {
			t.Errorf("%s needs a case in syncedCommands, or a reason in notSynced: %s", d.Name, strings.TrimSpace(why))
		}
	}
}
