package command_test

import (
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

// scripted returns commands that run JavaScript, with their error codes on a server without
// JavaScript.
func scripted(body string) map[string]struct {
	cmd  bson.D
	code string
} {
	fn := bson.D{{"$function", bson.D{{"body", body}, {"args", bson.A{}}, {"lang", "js"}}}}
	expr := bson.D{{"$expr", fn}}
	return map[string]struct {
		cmd  bson.D
		code string
	}{
		"mapReduce": {bson.D{
			{"mapReduce", "c"},
			{"map", body},
			{"reduce", body},
			{"out", bson.D{{"inline", 1}}},
		}, "31264"},
		"$where":    {bson.D{{"find", "c"}, {"filter", bson.D{{"$where", body}}}}, "2"},
		"$function": {bson.D{{"find", "c"}, {"filter", expr}}, "31264"},
		"let": {bson.D{
			{"find", "c"},
			{"filter", bson.D{{"$expr", "$$x"}}},
			{"let", bson.D{{"x", fn}}},
		}, "31264"},
		"$accumulator": {bson.D{
			{"aggregate", "c"},
			{"pipeline", bson.A{bson.D{{"$group", bson.D{{"_id", 1}, {"x", bson.D{{"$accumulator", bson.D{
				{"init", body}, {"accumulate", body}, {"accumulateArgs", bson.A{}}, {"merge", body},
			}}}}}}}}},
			{"cursor", bson.D{}},
		}, "31264"},
		"pipeline": {bson.D{
			{"aggregate", "c"},
			{"pipeline", bson.A{bson.D{{"$project", bson.D{{"x", fn}}}}}},
			{"cursor", bson.D{}},
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

// TestScriptsEndInTime checks that the time limit of a command ends an endless loop.
func TestScriptsEndInTime(t *testing.T) {
	// Not parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and
	// other tests would make it grow.
	c := newNumbers(t, 1).Database().Collection("c")
	if _, err := c.InsertOne(t.Context(), bson.D{{"_id", 1}}); err != nil {
		t.Fatal(err)
	}
	for name, test := range scripted("function() { for (;;) {} }") {
		if got := asJSON(t, c, append(test.cmd, bson.E{"maxTimeMS", 50})); got != "50" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestKillOpEndsScripts checks that killOp ends endless loops, also in the second batch of a
// cursor.
func TestKillOpEndsScripts(t *testing.T) {
	// Not parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and
	// other tests would make it grow.
	c := newNumbers(t, 1).Database().Collection("c")
	if _, err := c.InsertMany(t.Context(), []any{bson.D{{"_id", 1}}, bson.D{{"_id", 2}}}); err != nil {
		t.Fatal(err)
	}
	for name, test := range scripted("function() { for (;;) {} }") {
		if got := asJSONKilled(t, c, test.cmd, name); got != "11601" {
			t.Errorf("%s: %s", name, got)
		}
	}
	endless := "function(id) { while (id == 2) {} }"
	fn := bson.D{{"$function", bson.D{{"body", endless}, {"args", bson.A{"$_id"}}, {"lang", "js"}}}}
	for _, cmd := range []bson.D{
		{{"find", "c"}, {"projection", bson.D{{"x", fn}}}, {"batchSize", 1}},
		{
			{"aggregate", "c"},
			{"pipeline", bson.A{bson.D{{"$set", bson.D{{"x", fn}}}}}},
			{"cursor", bson.D{{"batchSize", 1}}},
		},
	} {
		raw, err := run(t, c, cmd)
		if err != nil {
			t.Fatal(err)
		}
		id := raw.Lookup("cursor", "id").Int64()
		if got := asJSONKilled(t, c, bson.D{{"getMore", id}, {"collection", "c"}}, "getMore"); got != "11601" {
			t.Errorf("%v: %s", cmd, got)
		}
	}
}

// asJSONKilled is asJSON for a command that it kills with killOp.
func asJSONKilled(t *testing.T, c *mongo.Collection, cmd bson.D, name string) string {
	t.Helper()
	comment := "to be killed: " + name + t.Name()
	cmd = append(cmd, bson.E{"comment", comment})
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
			err := admin.RunCommand(t.Context(), bson.D{{"currentOp", 1}, {"command.comment", comment}}).Decode(&ops)
			if err != nil {
				t.Error(err)
				return
			}
			for _, op := range ops.InProg {
				if err := admin.RunCommand(t.Context(), bson.D{{"killOp", 1}, {"op", op.OpID}}).Err(); err != nil {
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
