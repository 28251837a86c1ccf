package command_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/wire"
	"github.com/sheafdb/sheaf/internal/write"
)

// hotPath is a service over the embedded engine, called without a connection: what the server itself costs.
type hotPath struct {
	tb     testing.TB
	engine storage.Engine
	svc    *command.Service
	conn   *command.Conn
	msg    wire.Message
	out    []byte
}

// newHotPath returns a service over a new engine; a memory of 0 is the engine's default.
func newHotPath(tb testing.TB, memory int64) *hotPath {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	engine, err := pebble.Open(tb.TempDir(), pebble.Options{Logger: log, MemoryBudget: memory})
	if err != nil {
		tb.Fatal(err)
	}
	store, err := table.Open(engine, command.Compiler{}, log)
	if err != nil {
		tb.Fatal(err)
	}
	planner := plan.New(plan.Options{})
	svc, err := command.NewService(command.Deps{
		Data: command.Data{Store: store, Planner: planner, Writes: write.New(store, planner)}, Logger: log,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		store.Close()
		if err := engine.Close(); err != nil {
			tb.Error(err)
		}
	})
	return &hotPath{tb: tb, engine: engine, svc: svc, conn: svc.NewConn(1, "", "", true)}
}

// run sends a command that must succeed.
func (h *hotPath) run(body bsonx.Doc) bsonx.Doc {
	h.send(body)
	reply := bsonx.Doc(h.out[21:])
	if !reply.Lookup("ok").Truthy() || !reply.Lookup("writeErrors").IsMissing() {
		h.tb.Fatal(bsonx.FormatShell(bsonx.Document(reply)))
	}
	return reply
}

// kilobyte is a document of ten fields and about 1 KB.
func kilobyte(id int) bsonx.Doc {
	pairs := []any{"_id", id, "n", id, "k", id % 1000, "s", fmt.Sprintf("user%08d", id)}
	for i := range 6 {
		pairs = append(pairs, fmt.Sprint("f", i), strings.Repeat("x", 140))
	}
	return bsonx.NewDoc(pairs...)
}

func insertOne(doc bsonx.Doc) bsonx.Doc {
	return bsonx.NewDoc("insert", "c", "documents", []bsonx.Doc{doc}, "$db", "db")
}

func findByID(id int) bsonx.Doc {
	return bsonx.NewDoc("find", "c", "filter", bsonx.NewDoc("_id", id), "limit", 1, "singleBatch", true, "$db", "db")
}

func incByID(id int) bsonx.Doc {
	st := bsonx.NewDoc("q", bsonx.NewDoc("_id", id), "u", bsonx.NewDoc("$inc", bsonx.NewDoc("n", 1)))
	return bsonx.NewDoc("update", "c", "updates", []bsonx.Doc{st}, "$db", "db")
}

// allocationLimit is how often the server may allocate for a find by _id or an insert of one document.
const allocationLimit = 25

func TestHotPathAllocations(t *testing.T) {
	h := newHotPath(t, 0)
	for i := range 1000 {
		h.run(insertOne(kilobyte(i)))
	}
	for _, c := range []struct {
		name    string
		command func(i int) bsonx.Doc
	}{
		{"find by _id", findByID},
		{"insert", func(i int) bsonx.Doc { return insertOne(kilobyte(1000 + i)) }},
	} {
		i := 0
		var bodies []bsonx.Doc
		for j := range 500 {
			bodies = append(bodies, c.command(j))
		}
		got := testing.AllocsPerRun(400, func() {
			h.send(bodies[i])
			i++
		})
		t.Logf("%s: %.0f allocations", c.name, got)
		if got > allocationLimit {
			t.Errorf("%s: %.0f allocations, at most %d allowed", c.name, got, allocationLimit)
		}
	}
}

// send runs a command whose message needs no memory of its own.
func (h *hotPath) send(body bsonx.Doc) {
	h.msg = wire.Message{Body: body}
	h.out = h.svc.Handle(context.Background(), h.conn, &h.msg, h.out[:0]).Out
	if !bsonx.Doc(h.out[21:]).Lookup("ok").Truthy() {
		h.tb.Fatal(bsonx.FormatShell(bsonx.Document(h.out[21:])))
	}
}

func benchmarkCommand(b *testing.B, documents int, command func(i int) bsonx.Doc) {
	h := newHotPath(b, 0)
	for i := range documents {
		h.run(insertOne(kilobyte(i)))
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		h.send(command(i))
		i++
	}
}

func BenchmarkFindByID(b *testing.B) {
	benchmarkCommand(b, 10_000, func(i int) bsonx.Doc { return findByID(i * 7919 % 10_000) })
}

func BenchmarkInsert(b *testing.B) {
	benchmarkCommand(b, 0, func(i int) bsonx.Doc { return insertOne(kilobyte(i)) })
}

func BenchmarkUpdateInc(b *testing.B) {
	benchmarkCommand(b, 10_000, func(i int) bsonx.Doc { return incByID(i * 7919 % 10_000) })
}
