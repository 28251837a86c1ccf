package concurrencytest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/server"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// ddlServer is a server in memory. A test can run other code between the steps of its commands.
type ddlServer struct {
	client  *mongo.Client
	between *interleaver
}

// openForDDL builds a database as package sheaf does, but with an interleaver.
func openForDDL(t *testing.T, standalone bool) *ddlServer {
	t.Helper()
	engine, log := mem.New(), slog.New(slog.DiscardHandler)
	store, err := openDDLStore(engine, log, standalone)
	if err != nil {
		t.Fatal(err)
	}
	s := &ddlServer{between: &interleaver{}}
	store.Interleave(s.between.step)
	planner := plan.New(plan.Options{})
	deps := command.Deps{
		Data:   command.Data{Store: store, Planner: planner, Writes: write.New(store, planner)},
		Logger: log, Log: &command.LogBuffer{}, SlowMillis: -1,
	}
	if !standalone {
		deps.ReplicaSet = command.DefaultReplicaSet
	}
	service, err := commands.NewService(deps)
	if err != nil {
		t.Fatal(err)
	}
	srv, listener := server.New(server.Options{Service: service, Logger: log}), server.NewMemoryListener("memory")
	go func() { _ = srv.Serve(context.Background(), listener) }()
	s.client, err = mongo.Connect(options.Client().ApplyURI("mongodb://memory/?directConnection=true&serverMonitoringMode=poll").SetDialer(listener))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.Disconnect(context.Background())
		_ = srv.Shutdown(context.Background())
		service.Close()
		store.Close()
		_ = engine.Close()
	})
	return s
}

func openDDLStore(engine storage.Engine, log *slog.Logger, standalone bool) (*table.Store, error) {
	compiler := ddl.Compiler{Warn: func(error) {}}
	if standalone {
		return schema.Open(engine, compiler, log, table.Options{})
	}
	return schema.OpenLogged(engine, compiler, log, table.Options{})
}

// interleaver runs a function between two steps of a command. A step ends when the command has
// looked up a name, when it has written, and before it takes the locks for a DDL change.
type interleaver struct {
	mu    sync.Mutex
	steps int
	at    int
	run   func() // function to run after step at; may be nil
	ended chan struct{}
}

// interleaved is how long the outer command waits for the inner command. The inner command may
// itself wait for locks of the outer command. After this time both continue, in any order.
const interleaved = 20 * time.Millisecond

// step is called after each step of a command.
func (in *interleaver) step() {
	in.mu.Lock()
	in.steps++
	run, ended := in.run, in.ended
	if run == nil || in.steps != in.at {
		in.mu.Unlock()
		return
	}
	in.run = nil
	in.mu.Unlock()
	go func() {
		defer close(ended)
		run()
	}()
	select {
	case <-ended:
	case <-time.After(interleaved):
	}
}

// count returns the number of steps of fn.
func (in *interleaver) count(fn func()) int {
	in.arm(0, nil)
	fn()
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.steps
}

// put runs outer, and runs inner after the given number of steps of outer. If outer has fewer
// steps, inner runs after outer.
func (in *interleaver) put(outer, inner func(), after int) {
	ended := in.arm(after, inner)
	outer()
	in.mu.Lock()
	left := in.run != nil
	in.run = nil
	in.mu.Unlock()
	if left {
		inner()
		return
	}
	<-ended
}

func (in *interleaver) arm(at int, run func()) chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.steps, in.at, in.run, in.ended = 0, at, run, make(chan struct{})
	return in.ended
}
