package command_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/sheaftest"
)

// TestMetadata: $meta reads what the plan knows of a document, in a find's projection and in the first stage behind the query.
func TestMetadata(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	run := func(command string) string {
		var out bson.Raw
		if err := db.RunCommand(t.Context(), extJSON(t, []byte(command))).Decode(&out); err != nil {
			return strconv.Itoa(int(errorCode(t, err)))
		}
		batch, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: out.Lookup("cursor", "firstBatch")}}, false, false)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(strings.TrimPrefix(string(batch), `{"v":`), "}")
	}
	for _, setup := range []string{
		`{"insert":"c","documents":[{"_id":1,"a":[5,3],"b":2},{"_id":2,"a":4.5,"b":7}]}`,
		`{"createIndexes":"c","indexes":[{"key":{"a":-1,"b":1},"name":"ab"}]}`,
		`{"insert":"i","documents":[{"_id":1,"a":1,"b":5,"c":1,"d":1,"z":2},{"_id":2,"a":2,"b":4,"c":2,"d":2,"z":1},{"_id":3,"a":0,"b":7,"c":0,"d":3,"z":0}]}`,
		`{"createIndexes":"i","indexes":[{"key":{"a":1},"name":"a"},{"key":{"b":1},"name":"b"},{"key":{"c":1,"d":1},"name":"cd"}]}`,
	} {
		if err := db.RunCommand(t.Context(), extJSON(t, []byte(setup))).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ command, want string }{
		{`{"aggregate":"c","pipeline":[{"$sort":{"_id":1}},{"$project":{"r":{"$meta":"indexKey"}}}],"cursor":{}}`, `[{"_id":1,"r":{"_id":1}},{"_id":2,"r":{"_id":2}}]`},
		{`{"aggregate":"c","pipeline":[{"$match":{"a":4.5}},{"$project":{"r":{"$meta":"indexKey"}}}],"cursor":{}}`, `[{"_id":2,"r":{"a":4.5,"b":7}}]`},
		{`{"aggregate":"c","pipeline":[{"$project":{"r":{"$meta":"indexKey"}}}],"cursor":{}}`, `[{"_id":1},{"_id":2}]`},
		{`{"aggregate":"c","pipeline":[{"$match":{"a":4.5}},{"$addFields":{"r":{"$meta":"indexKey"}}},{"$project":{"s":"$r.b"}}],"cursor":{}}`, `[{"_id":2,"s":7}]`},
		{`{"aggregate":"c","pipeline":[{"$sort":{"a":1,"b":-1}},{"$project":{"r":{"$meta":"sortKey"}}}],"cursor":{}}`, `[{"_id":1,"r":[3,2]},{"_id":2,"r":[4.5,7]}]`},
		{`{"aggregate":"c","pipeline":[{"$sort":{"b":-1}},{"$limit":1},{"$project":{"r":{"$meta":"sortKey"}}}],"cursor":{}}`, `[{"_id":2,"r":[7]}]`},
		{`{"aggregate":"c","pipeline":[{"$project":{"r":{"$meta":"sortKey"}}}],"cursor":{}}`, `2`},
		{`{"find":"c","projection":{"_id":1,"r":{"$meta":"sortKey"}},"sort":{"x":1}}`, `[{"_id":1,"r":[null]},{"_id":2,"r":[null]}]`},
		{`{"find":"c","projection":{"r":{"$meta":"sortKey"}}}`, `2`},
		{`{"find":"c","filter":{"a":3},"projection":{"_id":1,"r":{"$meta":"indexKey"}}}`, `[{"_id":1,"r":{"a":3,"b":2}}]`},
		{`{"find":"c","filter":{"_id":1},"projection":{"_id":1,"r":{"$meta":"indexKey"}}}`, `[{"_id":1}]`},
		{`{"find":"c","filter":{"_id":1},"projection":{"_id":1},"sort":{"x":{"$meta":"randVal"}}}`, `[{"_id":1}]`},
		{`{"find":"c","projection":{"_id":1},"sort":{"x":{"$meta":"randVal"},"b":-1}}`, `[{"_id":2},{"_id":1}]`},
		{`{"find":"i","filter":{"a":{"$gt":0}},"sort":{"z":1},"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"_id":2,"k":{"a":2}},{"_id":1,"k":{"a":1}}]`},
		{`{"find":"i","filter":{"a":{"$gt":0}},"sort":{"z":1},"limit":1,"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"_id":2,"k":{"a":2}}]`},
		{`{"find":"i","filter":{"a":{"$gt":0}},"sort":{"z":1},"skip":1,"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"_id":1,"k":{"a":1}}]`},
		{`{"find":"i","filter":{"a":{"$gt":0}},"sort":{"z":1},"projection":{"_id":0,"z":1,"k":{"$meta":"indexKey"},"s":{"$meta":"sortKey"}}}`, `[{"z":1,"k":{"a":2},"s":[1]},{"z":2,"k":{"a":1},"s":[2]}]`},
		{`{"find":"i","filter":{"$or":[{"a":1},{"b":4}]},"sort":{"z":1},"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"_id":2,"k":{"b":4}},{"_id":1,"k":{"a":1}}]`},
		{`{"find":"i","filter":{"$or":[{"a":1},{"b":4}]},"sort":{"_id":1},"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"_id":1,"k":{"_id":1}},{"_id":2,"k":{"_id":2}}]`},
		{`{"find":"i","filter":{"c":{"$gt":0}},"sort":{"d":-1},"limit":1,"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"_id":2,"k":{"c":2,"d":2}}]`},
		{`{"find":"i","sort":{"z":1},"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"_id":3},{"_id":2},{"_id":1}]`},
		{`{"find":"i","filter":{"a":{"$gt":0}},"sort":{"z":1},"returnKey":true,"projection":{"_id":1,"k":{"$meta":"indexKey"}}}`, `[{"a":2},{"a":1}]`},
		{`{"aggregate":"i","pipeline":[{"$match":{"a":{"$gt":0}}},{"$sort":{"z":1}},{"$project":{"k":{"$meta":"indexKey"}}}],"cursor":{}}`, `[{"_id":2,"k":{"a":2}},{"_id":1,"k":{"a":1}}]`},
		{`{"aggregate":"i","pipeline":[{"$match":{"a":{"$gt":0}}},{"$sort":{"z":1}},{"$limit":1},{"$addFields":{"k":{"$meta":"indexKey"}}},{"$project":{"k":1}}],"cursor":{}}`, `[{"_id":2,"k":{"a":2}}]`},
		{`{"aggregate":"i","pipeline":[{"$match":{"$or":[{"a":1},{"b":4}]}},{"$sort":{"z":1}},{"$project":{"k":{"$meta":"indexKey"}}}],"cursor":{}}`, `[{"_id":2,"k":{"b":4}},{"_id":1,"k":{"a":1}}]`},
		{`{"find":"c","sort":{"x":{"$meta":"recordId"}}}`, `31138`},
		{`{"find":"c","sort":{"x":{"$meta":"searchScore"}}}`, `40218`},
	} {
		if got := run(tc.command); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.command, got, tc.want)
		}
	}
	// The same from a temporary file.
	budget := bson.D{{Key: "setParameter", Value: 1}, {Key: "internalQueryMaxBlockingSortMemoryUsageBytes", Value: 100}}
	if err := db.Client().Database("admin").RunCommand(t.Context(), budget).Err(); err != nil {
		t.Fatal(err)
	}
	spilled := `{"find":"i","sort":{"z":1},"filter":{"a":{"$gte":0}},"projection":{"_id":1,"k":{"$meta":"indexKey"}},"allowDiskUse":%t}`
	if got := run(fmt.Sprintf(spilled, false)); got != "292" {
		t.Errorf("a sort that does not fit: %s, want error 292", got)
	}
	if got, want := run(fmt.Sprintf(spilled, true)), `[{"_id":3,"k":{"a":0}},{"_id":2,"k":{"a":2}},{"_id":1,"k":{"a":1}}]`; got != want {
		t.Errorf("a sort that spills: %s, want %s", got, want)
	}
}
