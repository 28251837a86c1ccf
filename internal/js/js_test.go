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
	if _, err := db.Collection("c").InsertOne(t.Context(), bson.D{{"a", 1}}); err != nil {
		t.Fatal(err)
	}
	where := bson.D{{"$where", body}}
	function := bson.D{{"$function", bson.D{
		{"body", body}, {"args", bson.A{}}, {"lang", "js"},
	}}}
	accumulator := bson.D{{"$accumulator", bson.D{
		{"init", body},
		{"accumulate", body},
		{"accumulateArgs", bson.A{}},
		{"merge", body},
		{"lang", "js"},
	}}}
	aggregate := func(stage bson.D) bson.D {
		return bson.D{
			{"aggregate", "c"},
			{"pipeline", bson.A{stage}},
			{"cursor", bson.D{}},
		}
	}
	for _, test := range []struct {
		command bson.D
		code    int32
		text    string
	}{
		{
			bson.D{{"find", "c"}, {"filter", where}},
			2, "no globalScriptEngine in $where parsing",
		},
		{
			aggregate(bson.D{{"$project", bson.D{{"v", function}}}}), 31264,
			"Invalid $project :: caused by :: " + text,
		},
		{
			aggregate(bson.D{{"$group", bson.D{{"_id", 1}, {"v", accumulator}}}}),
			31264, text,
		},
		{bson.D{
			{"mapReduce", "c"},
			{"map", body},
			{"reduce", body},
			{"out", bson.D{{"inline", 1}}},
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
	if err := db.RunCommand(t.Context(), bson.D{{"buildInfo", 1}}).Decode(&build); err != nil {
		t.Fatal(err)
	}
	if build.JavascriptEngine != "none" {
		t.Errorf("the engine is %q", build.JavascriptEngine)
	}
}
