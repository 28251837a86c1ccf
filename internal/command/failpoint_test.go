package command_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// expectCode runs a command and checks its error code; 0 means success.
func expectCode(t *testing.T, c *mongo.Collection, text string, want int32) bson.Raw {
	t.Helper()
	raw, err := run(t, c, bsonxtest.ParseD(t, text))
	if code := errorCode(t, err); code != want {
		t.Errorf("%s: %v, want code %d", text, err, want)
	}
	return raw
}

// TestFailPoints checks each fail point that the tests of drivers use.
func TestFailPoints(t *testing.T) {
	t.Parallel()
	client := openWithTestCommands(t)
	admin, c := client.Database("admin").Collection("x"), client.Database("d").Collection("c")
	fillCapped(t, c)
	const limited = `{"find": "c", "maxTimeMS": 100000}`
	for _, step := range []struct {
		in   *mongo.Collection
		cmd  string
		code int32
	}{
		{admin, `{"configureFailPoint": "nosuch", "mode": "alwaysOn"}`, 266},
		{admin, `{"configureFailPoint": "failCommand", "mode": {"times": 0}, "data": {"errorLabels": [1]}}`, 14},
		{admin, `{"configureFailPoint": "maxTimeAlwaysTimeOut", "mode": "alwaysOn"}`, 0},
		{c, limited, 50},
		{c, `{"find": "c"}`, 0},
		{admin, `{"configureFailPoint": "maxTimeAlwaysTimeOut", "mode": "off"}`, 0},
		{c, limited, 0},
		{admin, `{"configureFailPoint": "maxTimeNeverTimeOut", "mode": "alwaysOn"}`, 0},
		{c, `{"find": "c", "filter": {"$where": "sleep(300); return true"}, "maxTimeMS": 1}`, 0},
		{admin, `{"configureFailPoint": "maxTimeNeverTimeOut", "mode": "off"}`, 0},
		{c, `{"find": "c", "filter": {"$where": "sleep(300); return true"}, "maxTimeMS": 1}`, 50},

		{admin, `{"waitForFailPoint": "failCommand", "timesEntered": 1, "maxTimeMS": 1}`, 50},
		{admin, `{"waitForFailPoint": "nosuch", "timesEntered": 1, "maxTimeMS": 1}`, 266},
		{admin, `{"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": ["count"], "errorCode": 8}}`, 0},
		{c, `{"count": "c"}`, 8},
		{c, `{"count": "c"}`, 0},
		{admin, `{"waitForFailPoint": "failCommand", "timesEntered": 1, "maxTimeMS": 100000}`, 0},
		{admin, `{"configureFailPoint": "failCommand", "mode": {"times": 1},
			"data": {"failCommands": ["renameCollection"], "namespace": "d.c", "errorCode": 8}}`, 0},
		{admin, `{"renameCollection": "d.b", "to": "d.a"}`, 26},
		{admin, `{"renameCollection": "d.c", "to": "d.a"}`, 8},

		{admin, `{"configureFailPoint": "failCommand", "mode": {"activationProbability": 1.5}, "data": {"failCommands": ["count"], "errorCode": 8}}`, 2},
		{admin, `{"configureFailPoint": "failCommand", "mode": {"activationProbability": 0}, "data": {"failCommands": ["count"], "errorCode": 8}}`, 0},
		{c, `{"count": "c"}`, 0},
		{admin, `{"configureFailPoint": "failCommand", "mode": {"activationProbability": 1}, "data": {"failCommands": ["count"], "errorCode": 8}}`, 0},
		{c, `{"count": "c"}`, 8},
		{admin, `{"configureFailPoint": "failCommand", "mode": "off"}`, 0},

		{admin, `{"testVersion2": 1}`, 0},
		{admin, `{"testVersion2": 1, "apiVersion": "1"}`, 0},
		{admin, `{"testVersion2": 1, "apiVersion": "1", "apiStrict": true}`, 323},
	} {
		expectCode(t, step.in, step.cmd, step.code)
	}
}

// fillCapped creates a capped collection with one document.
func fillCapped(t *testing.T, c *mongo.Collection) {
	t.Helper()
	expectCode(t, c, `{"create": "`+c.Name()+`", "capped": true, "size": 100000}`, 0)
	expectCode(t, c, `{"insert": "`+c.Name()+`", "documents": [{"_id": 1}]}`, 0)
}

// TestFailPointsOfAwait checks that fail points affect the getMore of a cursor that waits for
// documents. The getMore's maxTimeMS must not become a time limit.
func TestFailPointsOfAwait(t *testing.T) {
	t.Parallel()
	client := openWithTestCommands(t)
	admin, c := client.Database("admin").Collection("x"), client.Database("d").Collection("c")
	fillCapped(t, c)
	open := func() *tail { return newTail(t, c, bson.E{"awaitData", true}) }
	wait := bson.E{"maxTimeMS", 5}
	await := open()
	expectCode(t, admin, `{"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": ["getMore"], "blockConnection": true, "blockTimeMS": 20}}`, 0)
	began := time.Now()
	if _, err := await.getMore(wait); err != nil || time.Since(began) < 20*time.Millisecond {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	expectCode(t, admin, `{"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": ["getMore"], "errorCode": 8}}`, 0)
	if _, err := await.getMore(wait); !hasCode(err, 8) {
		t.Errorf("failCommand: %v", err)
	}
	await.want("[]", wait) // the cursor still exists: the getMore failed before it found the cursor
	expectCode(t, admin, `{"configureFailPoint": "failGetMoreAfterCursorCheckout", "mode": {"times": 1}, "data": {"errorCode": 8}}`, 0)
	if _, err := await.getMore(wait); !hasCode(err, 8) {
		t.Errorf("failGetMoreAfterCursorCheckout: %v", err)
	}
	if _, err := await.getMore(wait); !hasCode(err, 43) {
		t.Errorf("a cursor whose getMore failed: %v", err)
	}
}

// TestFailPointOfAppName checks that a fail point for one application affects the first hello of a
// connection, which contains the name.
func TestFailPointOfAppName(t *testing.T) {
	t.Parallel()
	db, err := sheaf.Open(sheaf.Memory, &sheaf.Options{TestCommands: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	admin := db.Client().Database("admin").Collection("x")
	expectCode(t, admin, `{"configureFailPoint": "failCommand", "mode": "alwaysOn", "data": {"failCommands": ["hello", "isMaster"], "appName": "theirs", "closeConnection": true}}`, 0)
	for name, reached := range map[string]bool{"ours": true, "theirs": false} {
		client, err := mongo.Connect(db.ClientOptions(),
			options.Client().SetAppName(name).SetServerSelectionTimeout(300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if !reached {
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		}
		if err := client.Ping(ctx, nil); (err == nil) != reached {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		_ = client.Disconnect(t.Context())
	}
}
