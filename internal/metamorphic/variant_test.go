package metamorphic

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/server"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// variant is a setup of a database. Its answers must be the same as in other variants.
type variant struct {
	name    string
	indexed bool
	// scans means that reads do not use the existing indexes.
	scans bool
	// batch is the number of documents in a batch of a cursor. 0 means the default.
	batch  int32
	client *mongo.Client
	// transacted runs the operations in transactions. It may be nil.
	transacted *transacted
	// past runs reads at past times. It may be nil.
	past *past
	// restart opens the database again. It is nil if that is impossible.
	restart func()
	close   func()
}

// variants are the kinds of databases. The others are compared with the first one.
var variants = []struct {
	name string
	open func(t testing.TB, v *variant)
}{
	{"plain", func(t testing.TB, v *variant) { v.scans = true; openEmbedded(t, v, sheaf.Memory) }},
	{"indexed", func(t testing.TB, v *variant) { v.indexed = true; openEmbedded(t, v, sheaf.Memory) }},
	{"served", func(t testing.TB, v *variant) { v.indexed, v.batch = true, 3; openServed(t, v) }},
	{"restarted", func(t testing.TB, v *variant) { v.indexed, v.batch = true, 7; openOnDisk(t, v) }},
	{"transacted", func(t testing.TB, v *variant) {
		v.indexed, v.batch, v.transacted = true, 2, &transacted{}
		openEmbedded(t, v, sheaf.Memory)
	}},
	{"past", func(t testing.TB, v *variant) {
		v.indexed, v.batch, v.past = true, 4, &past{}
		openEmbedded(t, v, sheaf.Memory)
	}},
	{"spilling", func(t testing.TB, v *variant) { v.scans, v.batch = true, 5; openSpilling(t, v) }},
}

func openAll(t testing.TB) []*variant {
	t.Helper()
	var out []*variant
	for _, k := range variants {
		v := &variant{name: k.name}
		k.open(t, v)
		out = append(out, v)
	}
	return out
}

func closeAll(vs []*variant) {
	for _, v := range vs {
		v.close()
	}
}

func embedded(t testing.TB, dir string) *sheaf.DB {
	t.Helper()
	db, err := sheaf.Open(dir, &sheaf.Options{SlowOperation: -1, Sync: sheaf.SyncOnRequest})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func openEmbedded(t testing.TB, v *variant, dir string) {
	db := embedded(t, dir)
	v.client, v.close = db.Client(), func() { _ = db.Close() }
}

// openServed opens a database and connects to it over TCP.
func openServed(t testing.TB, v *variant) { serve(t, v, embedded(t, sheaf.Memory)) }

func serve(t testing.TB, v *variant, db *sheaf.DB) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = db.Serve(ctx, l)
	}()
	v.client, err = mongo.Connect(options.Client().
		ApplyURI("mongodb://" + l.Addr().String() + "/?directConnection=true&serverMonitoringMode=poll"))
	if err != nil {
		t.Fatal(err)
	}
	v.close = func() {
		_ = v.client.Disconnect(context.Background())
		cancel()
		<-done
		_ = db.Close()
	}
}

// openOnDisk opens a database on disk. Each restart opens the same directory again.
func openOnDisk(t testing.TB, v *variant) {
	dir := t.TempDir()
	openEmbedded(t, v, dir)
	v.restart = func() {
		v.close()
		openEmbedded(t, v, dir)
	}
}

// spillMemory is an amount of memory in bytes that is less than most sorts of a run need.
const spillMemory = 1 << 10

// openSpilling builds a database like package sheaf, but with a planner that has little memory.
func openSpilling(t testing.TB, v *variant) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	engine := mem.New()
	store, err := schema.Open(engine, ddl.Compiler{Warn: func(error) {}}, log, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	planner := plan.New(plan.Options{SortMemory: spillMemory, TempDir: t.TempDir()})
	service, err := commands.NewService(command.Deps{
		Data:   command.Data{Store: store, Planner: planner, Writes: write.New(store, planner)},
		Logger: log, Log: &command.LogBuffer{}, SlowMillis: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv, listener := server.New(server.Options{Service: service, Logger: log}), server.NewMemoryListener("memory")
	go func() { _ = srv.Serve(context.Background(), listener) }()
	v.client, err = mongo.Connect(options.Client().ApplyURI("mongodb://spilling/?directConnection=true&serverMonitoringMode=poll").SetDialer(listener))
	if err != nil {
		t.Fatal(err)
	}
	v.close = func() {
		_ = v.client.Disconnect(context.Background())
		_ = srv.Shutdown(context.Background())
		store.Close()
		_ = engine.Close()
	}
}
