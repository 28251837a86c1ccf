package command_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

func setReadLimit(t *testing.T, client *mongo.Client, value any) error {
	t.Helper()
	return client.Database("admin").
		RunCommand(t.Context(), bson.D{{"setClusterParameter", bson.D{{"defaultMaxTimeMS", value}}}}).Err()
}

// readLimitOf returns the value of defaultMaxTimeMS in the reply of getClusterParameter.
func readLimitOf(t *testing.T, client *mongo.Client, name any) any {
	t.Helper()
	var got struct {
		ClusterParameters []bson.M `bson:"clusterParameters"`
	}
	if err := client.Database("admin").
		RunCommand(t.Context(), bson.D{{"getClusterParameter", name}}).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for _, p := range got.ClusterParameters {
		if p["_id"] == "defaultMaxTimeMS" {
			return p["readOperations"]
		}
	}
	return nil
}

// TestDefaultMaxTime checks that the default time limit of reads ends commands with an endless
// filter.
func TestDefaultMaxTime(t *testing.T) {
	torture.SkipShort(t)
	// Not parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and
	// other tests would make it grow.
	client := sheaftest.New(t)
	db := client.Database("d")
	if _, err := db.Collection("c").InsertOne(t.Context(), bson.D{{"_id", 1}}); err != nil {
		t.Fatal(err)
	}
	limit := func(millis any) {
		t.Helper()
		if err := setReadLimit(t, client, bson.D{{"readOperations", millis}}); err != nil {
			t.Fatal(err)
		}
	}
	limit(30.0)
	for _, name := range []any{"defaultMaxTimeMS", "*", bson.A{"changeStreamOptions", "defaultMaxTimeMS"}} {
		if got := readLimitOf(t, client, name); got != int64(30) {
			t.Errorf("%v: %v", name, got)
		}
	}
	endless := bson.D{{"$where", "for (;;) {}"}}
	slow := bson.D{{"$where", "let end = Date.now() + 100; while (Date.now() < end) {} true"}}
	script := func(body string) bson.D {
		return bson.D{{"$expr", bson.D{{"$function", bson.D{
			{"body", "function() { " + body + " }"}, {"args", bson.A{}}, {"lang", "js"},
		}}}}}
	}
	match := func(filter bson.D) bson.A { return bson.A{bson.D{{"$match", filter}}} }
	command := func(name string, more ...bson.E) bson.D {
		return append(bson.D{{name, "c"}}, more...)
	}
	e := func(key string, v any) bson.E { return bson.E{key, v} }
	out := append(match(script("let end = Date.now() + 100; while (Date.now() < end) {} return true")), bson.D{{"$out", "o"}})
	for _, test := range []struct {
		cmd  bson.D
		code int32
	}{
		{command("find", e("filter", endless)), 50},
		{command("count", e("query", endless)), 50},
		{command("distinct", e("key", "a"), e("query", endless)), 50},
		{command("aggregate", e("pipeline", match(script("for (;;) {}"))), e("cursor", bson.D{})), 50},
		// A command's own maxTimeMS, even 0, replaces the default. Writes have no default.
		{command("find", e("filter", slow), e("maxTimeMS", 0)), 0},
		{command("find", e("filter", slow), e("maxTimeMS", 60_000)), 0},
		{command("find", e("filter", endless), e("maxTimeMS", 50)), 50},
		{command("aggregate", e("pipeline", out), e("cursor", bson.D{})), 0},
		{command("update", e("updates",
			bson.A{bson.D{e("q", slow), e("u", bson.D{e("$set", bson.D{e("a", 1)})})}})), 0},
		{command("delete", e("deletes", bson.A{bson.D{e("q", slow), e("limit", 1)}})), 0},
	} {
		if got := errorCode(t, db.RunCommand(t.Context(), test.cmd).Err()); got != test.code {
			t.Errorf("%v: code %d, want %d", test.cmd, got, test.code)
		}
	}
	limit(0)
	var status struct {
		Metrics struct{ Operation bson.M }
	}
	if err := client.Database("admin").
		RunCommand(t.Context(), bson.D{{"serverStatus", 1}}).Decode(&status); err != nil {
		t.Fatal(err)
	}
	op := status.Metrics.Operation
	if op["killedDueToDefaultMaxTimeMSExpired"] != int64(4) || op["killedDueToMaxTimeMSExpired"] != int64(1) {
		t.Errorf("%v", op)
	}
}

// TestDefaultMaxTimeIsKept checks that invalid values are refused, and that a valid value survives
// a restart.
func TestDefaultMaxTimeIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *sheaf.DB {
		db, err := sheaf.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	for _, test := range []struct {
		value any
		code  int32
	}{
		{bson.D{{"readOperations", -1}}, 2},
		{bson.D{{"readOperations", int64(1) << 40}}, 2},
		{bson.D{{"readOperations", "x"}}, 2},
		{bson.D{{"x", 1}}, 2},
		{5, 20},
		{bson.D{{"readOperations", int32(12345)}}, 0},
	} {
		if got := errorCode(t, setReadLimit(t, db.Client(), test.value)); got != test.code {
			t.Errorf("%v: code %d, want %d", test.value, got, test.code)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	defer func() { _ = db.Close() }()
	if got := readLimitOf(t, db.Client(), "defaultMaxTimeMS"); got != int64(12345) {
		t.Errorf("after a restart %v", got)
	}
}
