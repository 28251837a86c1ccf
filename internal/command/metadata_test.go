package command_test

import (
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
		{`{"find":"c","sort":{"x":{"$meta":"recordId"}}}`, `31138`},
		{`{"find":"c","sort":{"x":{"$meta":"searchScore"}}}`, `40218`},
	} {
		if got := run(tc.command); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.command, got, tc.want)
		}
	}
}
