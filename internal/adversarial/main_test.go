package adversarial

import (
	"context"
	"errors"
	"flag"
	"net"
	"runtime"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/sheaftest"
)

var long = flag.Bool("adversarial.long", false, "also run the attacks that take long, and all of them embedded too")

// bounded means that tests that need a server in a process of its own run, too, in their short
// form.
var bounded = flag.Bool("adversarial.memory", false, "also measure a server's memory under attacks and workloads, shortly")

// needsServer skips a test that starts a server process, unless -adversarial.memory or
// -adversarial.long is set.
func needsServer(t *testing.T) {
	t.Helper()
	if !*long && !*bounded {
		t.Skip("runs with -adversarial.memory, and at length with -adversarial.long")
	}
}

// only selects attacks by a part of their name.
var only = flag.String("adversarial.only", "", "of the interrupted and the large commands only those whose name has this in it")

// showErrors logs which attacks fail before they are interrupted.
var showErrors = flag.Bool("adversarial.errors", false, "log the errors of attacks that no interrupt ended")

// needsLong skips a test unless -adversarial.long is set.
func needsLong(t *testing.T) {
	t.Helper()
	if !*long {
		t.Skip("runs with -adversarial.long")
	}
}

// onEachConnection runs a test with a database over TCP. With -adversarial.long, it also runs the
// test with an embedded database.
func onEachConnection(t *testing.T, test func(t *testing.T, db *mongo.Database)) {
	if *long {
		t.Run("embedded", func(t *testing.T) { test(t, sheaftest.New(t).Database("d")) })
	}
	t.Run("served", func(t *testing.T) { test(t, served(t, sheaftest.Open(t, nil)).Database("d")) })
}

// served serves a database over TCP, and returns a client of it.
func served(t *testing.T, db *sheaf.DB) *mongo.Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { _ = db.Serve(ctx, l) }()
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://" + l.Addr().String() + "/?directConnection=true"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// run runs a command and reads its cursor to the end. It returns the code and the message of the
// error, or 0.
func run(t *testing.T, db *mongo.Database, cmd bson.D) (code int32, message string) {
	t.Helper()
	var reply struct {
		Cursor struct {
			ID int64  `bson:"id"`
			NS string `bson:"ns"`
		} `bson:"cursor"`
	}
	ctx, cancel := context.WithCancel(t.Context()) // the driver would turn a deadline into a maxTimeMS
	defer cancel()
	defer time.AfterFunc(hang, cancel).Stop()
	err := db.RunCommand(ctx, cmd).Decode(&reply)
	for err == nil && reply.Cursor.ID != 0 {
		name := reply.Cursor.NS[len(db.Name())+1:]
		err = db.RunCommand(ctx,
			bson.D{{"getMore", reply.Cursor.ID}, {"collection", name}}).Decode(&reply)
	}
	var failure mongo.CommandError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &failure) && failure.Code != 0: // the code 0 means that the connection failed
		return failure.Code, failure.Message
	}
	t.Fatalf("%.200v: %v", cmd, err)
	return 0, ""
}

// watchMemory fails the test if the heap grows beyond a limit.
func watchMemory(t *testing.T, limit uint64) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-done:
				ended <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		most := <-ended
		t.Logf("at most %d MiB", most>>20)
		if most > limit {
			t.Errorf("the heap took %d MiB, more than %d", most>>20, limit>>20)
		}
	})
}
