package adversarial

import (
	"context"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/sheaftest"
)

// stalledMemory is the memory limit for requests. Stalled messages hold all of it.
const stalledMemory = 8 << 20

// stall opens connections, each of which sends the beginning of a large message and then stops,
// until they hold all the memory for messages.
func stall(t *testing.T, db *mongo.Database) {
	t.Helper()
	addr, msg := addressOf(t, db), insertMessage(46, 1_000_000)
	for range attackers {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write(msg[:1_000]); err != nil {
			t.Fatal(err)
		}
	}
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var status struct {
			RequestMemory struct{ UsedBytes, Waiting int64 }
		}
		if err := db.Client().Database("admin").
			RunCommand(t.Context(), bson.D{{"serverStatus", 1}}).Decode(&status); err != nil {
			t.Fatal(err)
		}
		if status.RequestMemory.Waiting == attackers-1 {
			return
		}
		if time.Since(start) > hang {
			t.Fatalf("%+v", status)
		}
	}
}

// TestExemptCommands runs the commands that free memory or check the server, while stalled messages
// hold all the memory for messages. No command may wait.
func TestExemptCommands(t *testing.T) {
	client := served(t, sheaftest.Open(t, &sheaf.Options{RequestMemory: stalledMemory}))
	db, admin := client.Database("d"), client.Database("admin")
	if _, err := db.Collection("c").
		InsertMany(t.Context(), []any{bson.D{{"x", 1}}, bson.D{{"x", 2}}}); err != nil {
		t.Fatal(err)
	}
	var sessions []*mongo.Session
	for range 2 {
		s, err := client.StartSession()
		if err != nil {
			t.Fatal(err)
		}
		defer s.EndSession(context.Background())
		_ = s.StartTransaction()
		if _, err := db.Collection("c").
			InsertOne(mongo.NewSessionContext(t.Context(), s), bson.D{{"x", 3}}); err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s)
	}
	var found struct{ Cursor struct{ ID int64 } }
	if err := db.RunCommand(t.Context(),
		bson.D{{"find", "c"}, {"batchSize", 1}}).Decode(&found); err != nil {
		t.Fatal(err)
	}
	stall(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(hang, cancel).Stop()
	defer cancel()
	run := func(db *mongo.Database, name string, value any, more ...bson.E) func() error {
		return func() error { return db.RunCommand(ctx, append(bson.D{{name, value}}, more...)).Err() }
	}
	commands := map[string]func() error{
		"ping": run(admin, "ping", 1), "hello": run(admin, "hello", 1),
		"killOp":    run(admin, "killOp", 1, bson.E{"op", 1_000_000}),
		"currentOp": run(admin, "currentOp", 1), "serverStatus": run(admin, "serverStatus", 1),
		"killCursors":       run(db, "killCursors", "c", bson.E{"cursors", bson.A{found.Cursor.ID}}),
		"commitTransaction": func() error { return sessions[0].CommitTransaction(ctx) },
		"abortTransaction":  func() error { return sessions[1].AbortTransaction(ctx) },
		"find":              run(db, "find", "c"),
		"insert": run(db, "insert", "c",
			bson.E{"documents", bson.A{bson.D{{"p", make([]byte, 20_000)}}}}),
	}
	for name, fn := range commands {
		start := time.Now()
		if err := fn(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > pingBound {
			t.Errorf("%s took %v", name, took)
		}
	}
}
