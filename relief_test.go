package sheaf_test

import (
	"context"
	"net"
	"runtime"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

// TestOperationsEndForWantOfMemory serves a database whose memory limit Go's memory exceeds. A
// command that has run for a while ends with error 146 and is counted. Commands that hold no memory
// continue.
func TestOperationsEndForWantOfMemory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{ProcessMemory: 1 << 20, RequestMemory: 1 << 20})
	// The insert comes before the database is served, because on a busy machine an insert may also
	// run for a while.
	if _, err := db.Client().Database("d").Collection("c").InsertOne(ctx, bson.D{{"_id", 1}}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = db.Serve(ctx, listener) }()
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://" + listener.Addr().String() + "/?directConnection=true").SetRetryReads(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(ctx) })
	_, err = client.Database("d").Collection("c").Find(ctx, bson.D{{"$where", "sleep(600000); return true"}})
	if refused, ok := err.(mongo.CommandError); !ok || refused.Code != 146 { //nolint:errorlint // the driver returns it as it is
		t.Fatalf("a command without end: %v", err)
	}
	if n := mustRun(t, client.Database("admin"), "serverStatus", 1).Lookup("requestMemory", "ended").AsInt64(); n < 1 {
		t.Errorf("requestMemory.ended is %d", n)
	}
	mustRun(t, client.Database("admin"), "ping", 1)
}
