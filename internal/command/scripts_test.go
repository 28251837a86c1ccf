package command_test

import (
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

// scripted returns commands that run JavaScript, and their error codes on a server without it.
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
		"$accumulator": {bson.D{
			{Key: "aggregate", Value: "c"},
			{Key: "pipeline", Value: bson.A{bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: 1}, {Key: "x", Value: bson.D{{Key: "$accumulator", Value: bson.D{
				{Key: "init", Value: body}, {Key: "accumulate", Value: body}, {Key: "accumulateArgs", Value: bson.A{}}, {Key: "merge", Value: body},
			}}}}}}}}},
			{Key: "cursor", Value: bson.D{}},
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
	// Not parallel: a call of JavaScript ends when the heap grows by 512 MB, and other tests make
	// it grow.
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

// TestKillOpEndsScripts has loops without end, which killOp ends: also those of the second batch of a cursor.
func TestKillOpEndsScripts(t *testing.T) {
	// Not parallel: a call of JavaScript ends when the heap grows by 512 MB, and other tests make
	// it grow.
	c := newNumbers(t, 1).Database().Collection("c")
	if _, err := c.InsertMany(t.Context(), []any{bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "_id", Value: 2}}}); err != nil {
		t.Fatal(err)
	}
	for name, test := range scripted("function() { for (;;) {} }") {
		if got := asJSONKilled(t, c, test.cmd, name); got != "11601" {
			t.Errorf("%s: %s", name, got)
		}
	}
	endless := "function(id) { while (id == 2) {} }"
	fn := bson.D{{Key: "$function", Value: bson.D{{Key: "body", Value: endless}, {Key: "args", Value: bson.A{"$_id"}}, {Key: "lang", Value: "js"}}}}
	for _, cmd := range []bson.D{
		{{Key: "find", Value: "c"}, {Key: "projection", Value: bson.D{{Key: "x", Value: fn}}}, {Key: "batchSize", Value: 1}},
		{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: fn}}}}}}, {Key: "cursor", Value: bson.D{{Key: "batchSize", Value: 1}}}},
	} {
		raw, err := run(t, c, cmd)
		if err != nil {
			t.Fatal(err)
		}
		id := raw.Lookup("cursor", "id").Int64()
		if got := asJSONKilled(t, c, bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: "c"}}, "getMore"); got != "11601" {
			t.Errorf("%v: %s", cmd, got)
		}
	}
}

// asJSONKilled is asJSON with a killOp of the command while it runs.
func asJSONKilled(t *testing.T, c *mongo.Collection, cmd bson.D, name string) string {
	t.Helper()
	comment := "to be killed: " + name + t.Name()
	cmd = append(cmd, bson.E{Key: "comment", Value: comment})
	admin := c.Database().Client().Database("admin")
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			var ops struct {
				InProg []struct {
					OpID int64 `bson:"opid"`
				} `bson:"inprog"`
			}
			err := admin.RunCommand(t.Context(), bson.D{{Key: "currentOp", Value: 1}, {Key: "command.comment", Value: comment}}).Decode(&ops)
			if err != nil {
				t.Error(err)
				return
			}
			for _, op := range ops.InProg {
				if err := admin.RunCommand(t.Context(), bson.D{{Key: "killOp", Value: 1}, {Key: "op", Value: op.OpID}}).Err(); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	got := asJSON(t, c, cmd)
	close(done)
	wg.Wait()
	return got
}
