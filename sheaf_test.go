package sheaf_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

func mustOpen(t *testing.T, dir string, opts *sheaf.Options) *sheaf.DB {
	t.Helper()
	db, err := sheaf.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 3 {
		db, err := sheaf.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first, second := db.Client(), db.Client(); first != second {
			t.Error("Client makes a new client each time")
		}
		coll := db.Client().Database("d").Collection("c")
		if n, err := coll.CountDocuments(t.Context(), bson.D{}); err != nil || n != int64(i) {
			t.Fatalf("%d documents at the %d. opening: %v", n, i, err)
		}
		if _, err := coll.InsertOne(t.Context(), bson.D{{"_id", i}}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDisconnectBeforeCloseIsNoError(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, nil)
	if err := db.Client().Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Client().Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close after Disconnect: %v", err)
	}
}

func TestClientFailsAtOnceAfterClose(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"a client from before": true, "a client from after": false} {
		db := mustOpen(t, sheaf.Memory, nil)
		if early {
			db.Client()
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := db.Client().Database("d").Collection("c").InsertOne(ctx, bson.D{})
		if !errors.Is(err, mongo.ErrClientDisconnected) || ctx.Err() != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustOpen(t, dir, nil)
	if _, err := sheaf.Open(dir, nil); !errors.Is(err, sheaf.ErrLocked) ||
		!strings.Contains(err.Error(), "this process has "+dir) {
		t.Errorf("the second opening: %v", err)
	}
	if _, err := sheaf.Open("", nil); err == nil {
		t.Error("no directory was accepted")
	}
}

func TestServeBesideTheEmbeddedClient(t *testing.T) {
	t.Parallel()
	for _, policy := range []sheaf.SyncPolicy{sheaf.SyncOnRequest, sheaf.SyncAlways, sheaf.SyncNever} {
		db := mustOpen(t, t.TempDir(), &sheaf.Options{Sync: policy})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- db.Serve(context.Background(), l) }()
		outside, err := mongo.Connect(options.Client().
			ApplyURI("mongodb://" + l.Addr().String() + "/?directConnection=true&compressors=zstd").
			SetServerMonitoringMode(options.ServerMonitoringModePoll))
		if err != nil {
			t.Fatal(err)
		}
		doc := bson.D{{"_id", 1}}
		if _, err := outside.Database("d").Collection("c").InsertOne(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
		if err := db.Client().Database("d").Collection("c").FindOne(t.Context(), doc).Err(); err != nil {
			t.Errorf("the embedded client does not see it: %v", err)
		}
		_ = outside.Disconnect(t.Context())
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, sheaf.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
	}
}

func TestContextEndsACommand(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{TestCommands: true})
	admin := db.Client().Database("admin")
	block := bson.D{
		{"configureFailPoint", "failCommand"},
		{"mode", "alwaysOn"},
		{"data", bson.D{
			{"failCommands", bson.A{"find"}}, {"blockConnection", true}, {"blockTimeMS", 60_000},
		}},
	}
	if err := admin.RunCommand(t.Context(), block).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := admin.Collection("c").FindOne(ctx, bson.D{}).Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if time.Since(start) > 10*time.Second {
		t.Error("the deadline came late")
	}
	soon, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = db.Shutdown(soon) // an error is expected: waiting commands are interrupted
}
