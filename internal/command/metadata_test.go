package command_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestMetadata checks $meta in a find's projection and in the first stage of a pipeline after its
// query. $meta provides data about a document that the plan computes, such as its index key.
func TestMetadata(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	run := func(command string) string {
		var out bson.Raw
		if err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, command)).Decode(&out); err != nil {
			return strconv.Itoa(int(errorCode(t, err)))
		}
		batch, err := bson.MarshalExtJSON(bson.D{{"v", out.Lookup("cursor", "firstBatch")}}, false, false)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(strings.TrimPrefix(string(batch), `{"v":`), "}")
	}
	for _, setup := range []string{
		`{"insert":"c","documents":[{"_id":1,"a":[5,3],"b":2},{"_id":2,"a":4.5,"b":7}]}`,
		`{"createIndexes":"c","indexes":[{"key":{"a":-1,"b":1},"name":"ab"}]}`,
		`{"insert":"i","documents":[{"_id":1,"a":1,"b":5,"c":1,"d":1,"z":2},{"_id":2,"a":2,"b":4,"c":2,"d":2,"z":1},{"_id":3,"a":0,"b":7,"c":0,"d":3,"z":0}]}`,
		`{"insert":"p","documents":[{"_id":1,"l":[1,2]},{"_id":2,"l":[1,3]},{"_id":3,"t":1,"l":[4,6]}]}`,
		`{"createIndexes":"p","indexes":[{"key":{"l":"2d"},"name":"l"}]}`,
		`{"createIndexes":"i","indexes":[{"key":{"a":1},"name":"a"},{"key":{"b":1},"name":"b"},{"key":{"c":1,"d":1},"name":"cd"}]}`,
	} {
		if err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, setup)).Err(); err != nil {
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
		{`{"find":"c","projection":{"_id":1,"k":{"$meta":"sortKey"}},"sort":{"x":{"$meta":"randVal"}}}`, `[{"_id":1,"k":[null]},{"_id":2,"k":[null]}]`},
		{`{"find":"c","projection":{"_id":1,"k":{"$meta":"sortKey"}},"sort":{"x":{"$meta":"randVal"},"b":-1},"limit":1}`, `[{"_id":2,"k":[null,7]}]`},
		{`{"aggregate":"c","pipeline":[{"$sort":{"b":-1,"x":{"$meta":"randVal"}}},{"$project":{"k":{"$meta":"sortKey"}}}],"cursor":{}}`, `[{"_id":2,"k":[7,null]},{"_id":1,"k":[2,null]}]`},
		{`{"aggregate":"c","pipeline":[{"$set":{"q":1}},{"$sort":{"x":{"$meta":"randVal"}}},{"$project":{"k":{"$meta":"sortKey"}}}],"cursor":{}}`, `[{"_id":1,"k":[]},{"_id":2,"k":[]}]`},
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
		{`{"find":"c","sort":{"$natural":1},"projection":{"_id":1,"k":{"$meta":"sortKey"}}}`, `2`},
		{`{"aggregate":"c","pipeline":[{"$set":{"q":1}},{"$sort":{"q":1,"_id":1}},{"$set":{"r":{"$meta":"recordId"}}},{"$unset":["a","b"]}],"cursor":{}}`, `[{"_id":1,"q":1,"r":1},{"_id":2,"q":1,"r":2}]`},
		{`{"aggregate":"c","pipeline":[{"$sort":{"b":-1}},{"$project":{"k":{"$meta":"sortKey"}}},{"$group":{"_id":null,"k":{"$push":{"$meta":"sortKey"}}}}],"cursor":{}}`, `[{"_id":null,"k":[[7],[2]]}]`},
		{`{"find":"p","filter":{"l":{"$near":[1,2]}},"sort":{"x":{"$meta":"geoNearDistance"}},"projection":{"_id":1,"k":{"$meta":"sortKey"}}}`, `[{"_id":3,"k":[5.0]},{"_id":2,"k":[1.0]},{"_id":1,"k":[0.0]}]`},
		{`{"find":"p","filter":{"l":{"$near":[1,2]}},"sort":{"t":1,"x":{"$meta":"geoNearDistance"}},"limit":2,"projection":{"_id":1}}`, `[{"_id":2},{"_id":1}]`},
		{`{"find":"p","filter":{"l":{"$near":[1,2]}},"sort":{"_id":1},"projection":{"_id":1,"d":{"$meta":"geoNearDistance"},"l":{"$meta":"geoNearPoint"}}}`, `[{"_id":1,"d":0.0,"l":[1,2]},{"_id":2,"d":1.0,"l":[1,3]},{"_id":3,"d":5.0,"l":[4,6]}]`},
		{`{"find":"p","filter":{"l":{"$near":[1,2]}},"sort":{"_id":-1},"limit":2,"projection":{"_id":1,"d":{"$meta":"geoNearDistance"},"l":{"$meta":"geoNearPoint"}}}`, `[{"_id":3,"d":5.0,"l":[4,6]},{"_id":2,"d":1.0,"l":[1,3]}]`},
		{`{"aggregate":"p","pipeline":[{"$geoNear":{"near":[1,2],"distanceField":"d","distanceMultiplier":2}},{"$sort":{"x":{"$meta":"geoNearDistance"}}},{"$limit":2},{"$project":{"d":1,"k":{"$meta":"sortKey"}}}],"cursor":{}}`, `[{"_id":3,"d":10.0,"k":[10.0]},{"_id":2,"d":2.0,"k":[2.0]}]`},
		{`{"find":"p","sort":{"x":{"$meta":"geoNearDistance"}}}`, `40218`},
		{`{"find":"missing","sort":{"x":{"$meta":"geoNearDistance"}}}`, `40218`},
		{`{"planCacheClear":"p","query":{},"sort":{"x":{"$meta":"geoNearDistance"}}}`, `40218`},
		{`{"findAndModify":"missing","sort":{"x":{"$meta":"geoNearDistance"}},"remove":true}`, `40218`},
		{`{"findAndModify":"missing","sort":{"x":{"$meta":"textScore"}},"update":{"x":1}}`, `40218`},
		{`{"find":"c","sort":{"x":{"$meta":"recordId"}}}`, `31138`},
		{`{"find":"c","sort":{"x":{"y":1}}}`, `17312`},
		{`{"find":"c","sort":{"x":{"$meta":"randVal","y":1}}}`, `9`},
		{`{"find":"c","sort":{"x":{"$meta":"searchScore"}}}`, `40218`},
		{`{"aggregate":"c","pipeline":[{"$project":{"r":{"$meta":"textScore"}}}],"cursor":{}}`, `40218`},
		{`{"aggregate":"c","pipeline":[{"$project":{"pipeline":{"$meta":"textScore"}}}],"cursor":{}}`, `40218`},
		{`{"aggregate":"c","pipeline":[{"$facet":{"pipeline":[{"$project":{"r":{"$meta":"textScore"}}}]}}],"cursor":{}}`, `40218`},
		{`{"aggregate":"c","pipeline":[{"$redact":{"$cond":[{"$meta":"textScore"},"$$PRUNE","$$KEEP"]}},{"$project":{"_id":1}}],"cursor":{}}`, `[{"_id":1},{"_id":2}]`},
		{`{"aggregate":"c","pipeline":[{"$project":{"r":{"$literal":{"$meta":"textScore"}}}},{"$limit":1}],"cursor":{}}`, `[{"_id":1,"r":{"$meta":"textScore"}}]`},
		{`{"aggregate":"c","pipeline":[{"$lookup":{"from":"missing","pipeline":[{"$project":{"r":{"$meta":"textScore"}}}],"as":"l"}},{"$project":{"l":1}},{"$limit":1}],"cursor":{}}`, `40218`},
	} {
		if got := run(tc.command); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.command, got, tc.want)
		}
	}
	for _, tc := range []struct{ command, want string }{
		{`{"findAndModify":"p","query":{"l":{"$near":[1,2]}},"update":{"$set":{"l":[1,4]}},"fields":{"_id":1,"d":{"$meta":"geoNearDistance"},"l":{"$meta":"geoNearPoint"}}}`, `{"_id":1,"d":0.0,"l":[1,2]}`},
		{`{"findAndModify":"p","query":{"l":{"$near":[1,2]}},"sort":{"x":{"$meta":"geoNearDistance"}},"new":true,"update":{"$set":{"l":[0,0]}},"fields":{"_id":1,"d":{"$meta":"geoNearDistance"}}}`, `{"_id":3,"d":5.0}`},
		{`{"findAndModify":"p","query":{"l":{"$near":[1,2]}},"sort":{"_id":1},"remove":true,"fields":{"_id":1,"d":{"$meta":"geoNearDistance"}}}`, `{"_id":1,"d":2.0}`},
		{`{"findAndModify":"i","query":{"a":1},"update":{"$set":{"q":1}},"fields":{"_id":1,"k":{"$meta":"indexKey"}}}`, `{"_id":1,"k":{"a":1}}`},
	} {
		var out bson.Raw
		if err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, tc.command)).Decode(&out); err != nil {
			t.Errorf("%s: %v", tc.command, err)
			continue
		}
		if got, err := bson.MarshalExtJSON(out.Lookup("value").Document(), false,
			false); err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v, want %s", tc.command, got, err, tc.want)
		}
	}
	// The same must work if the sort uses a temporary file.
	budget := bson.D{{"setParameter", 1}, {"internalQueryMaxBlockingSortMemoryUsageBytes", 100}}
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
	near := `{"find":"p","filter":{"l":{"$near":[1,2]}},"sort":{"x":{"$meta":"geoNearDistance"}},"projection":{"_id":1,"l":{"$meta":"geoNearPoint"}}}`
	if got, want := run(near), `[{"_id":3,"l":[0,0]},{"_id":2,"l":[1,3]}]`; got != want {
		t.Errorf("a sort by distance that spills: %s, want %s", got, want)
	}
}
