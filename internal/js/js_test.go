package js_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/sheaftest"
)

// TestWithoutEngine tests a program that does not import the package js. JavaScript must fail as on
// a MongoDB server with security.javascriptEnabled set to false.
func TestWithoutEngine(t *testing.T) {
	t.Parallel()
	const text = "Cannot run server-side javascript without the javascript engine enabled"
	const body = "function() { return true; }"
	db := sheaftest.New(t).Database("app")
	if _, err := db.Collection("c").InsertOne(t.Context(), bson.D{{Key: "a", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	where := bson.D{{Key: "$where", Value: body}}
	function := bson.D{{Key: "$function", Value: bson.D{
		{Key: "body", Value: body}, {Key: "args", Value: bson.A{}}, {Key: "lang", Value: "js"},
	}}}
	accumulator := bson.D{{Key: "$accumulator", Value: bson.D{
		{Key: "init", Value: body},
		{Key: "accumulate", Value: body},
		{Key: "accumulateArgs", Value: bson.A{}},
		{Key: "merge", Value: body},
		{Key: "lang", Value: "js"},
	}}}
	aggregate := func(stage bson.D) bson.D {
		return bson.D{
			{Key: "aggregate", Value: "c"},
			{Key: "pipeline", Value: bson.A{stage}},
			{Key: "cursor", Value: bson.D{}},
		}
	}
	for _, test := range []struct {
		command bson.D
		code    int32
		text    string
	}{
		{
			bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: where}},
			2, "no globalScriptEngine in $where parsing",
		},
		{
			aggregate(bson.D{{Key: "$project", Value: bson.D{{Key: "v", Value: function}}}}), 31264,
			"Invalid $project :: caused by :: " + text,
		},
		{
			aggregate(bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: 1}, {Key: "v", Value: accumulator}}}}),
			31264, text,
		},
		{bson.D{
			{Key: "mapReduce", Value: "c"},
			{Key: "map", Value: body},
			{Key: "reduce", Value: body},
			{Key: "out", Value: bson.D{{Key: "inline", Value: 1}}},
		}, 31264, text},
	} {
		var got mongo.CommandError
		if err := db.RunCommand(t.Context(), test.command).Err(); !errors.As(err, &got) {
			t.Errorf("%v: %v", test.command, err)
		}
		if got.Code != test.code || got.Message != test.text {
			t.Errorf("%v: %d %q", test.command, got.Code, got.Message)
		}
	}
	var build struct{ JavascriptEngine string }
	if err := db.RunCommand(t.Context(), bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		t.Fatal(err)
	}
	if build.JavascriptEngine != "none" {
		t.Errorf("the engine is %q", build.JavascriptEngine)
	}
}
