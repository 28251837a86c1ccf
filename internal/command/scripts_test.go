package command_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
)

// scripted are commands that run JavaScript, and the codes with which they fail where there is none.
func scripted(body string) map[string]struct {
	cmd  bson.D
	code string
} {
	fn := bson.D{{Key: "$function", Value: bson.D{{Key: "body", Value: body}, {Key: "args", Value: bson.A{}}, {Key: "lang", Value: "js"}}}}
	expr := bson.D{{Key: "$expr", Value: fn}}
	return map[string]struct {
		cmd  bson.D
		code string
	}{
		"mapReduce": {bson.D{
			{Key: "mapReduce", Value: "c"},
			{Key: "map", Value: body},
			{Key: "reduce", Value: body},
			{Key: "out", Value: bson.D{{Key: "inline", Value: 1}}},
		}, "31264"},
		"$where":    {bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "$where", Value: body}}}}, "2"},
		"$function": {bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: expr}}, "31264"},
		"let": {bson.D{
			{Key: "find", Value: "c"},
			{Key: "filter", Value: bson.D{{Key: "$expr", Value: "$$x"}}},
			{Key: "let", Value: bson.D{{Key: "x", Value: fn}}},
		}, "31264"},
		"pipeline": {bson.D{
			{Key: "aggregate", Value: "c"},
			{Key: "pipeline", Value: bson.A{bson.D{{Key: "$project", Value: bson.D{{Key: "x", Value: fn}}}}}},
			{Key: "cursor", Value: bson.D{}},
		}, "31264"},
	}
}

func TestNoScripting(t *testing.T) {
	t.Parallel()
	db, err := sheaf.Open(sheaf.Memory, &sheaf.Options{NoScripting: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	c := db.Client().Database("d").Collection("c")
	for name, test := range scripted("function() { return true; }") {
		if got := asJSON(t, c, test.cmd); got != test.code {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestScriptsEndInTime has loops without end, which the time of their command ends.
func TestScriptsEndInTime(t *testing.T) {
	t.Parallel()
	c := newNumbers(t, 1).Database().Collection("c")
	if _, err := c.InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	for name, test := range scripted("function() { for (;;) {} }") {
		if got := asJSON(t, c, append(test.cmd, bson.E{Key: "maxTimeMS", Value: 50})); got != "50" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
