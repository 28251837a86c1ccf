package command_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/internal/wire"
	"github.com/sheafdb/sheaf/internal/write"
)

// hotPath is a service over the embedded engine without a connection. It measures the cost of the
// server itself.
type hotPath struct {
	tb     testing.TB
	engine storage.Engine
	svc    *command.Service
	conn   *command.Conn
	msg    wire.Message
	out    []byte
}

// newHotPath returns a service over a new engine. memory is the engine's budget in bytes; 0 means
// its default.
func newHotPath(tb testing.TB, memory int64) *hotPath {
	tb.Helper()
	return openHotPath(tb, memory, func(engine storage.Engine, log *slog.Logger) (*table.Store, error) {
		return schema.Open(engine, ddl.Compiler{}, log, table.Options{})
	}, "")
}

// newSetPath is newHotPath for a member of a replica set, which writes an oplog.
func newSetPath(tb testing.TB) *hotPath {
	tb.Helper()
	return openHotPath(tb, 0, func(engine storage.Engine, log *slog.Logger) (*table.Store, error) {
		return schema.OpenLogged(engine, ddl.Compiler{Order: engine.Order()}, log, table.Options{})
	}, "rs0")
}

func openHotPath(tb testing.TB, memory int64,
	open func(storage.Engine, *slog.Logger) (*table.Store, error), set string,
) *hotPath {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	engine, err := pebble.Open(tb.TempDir(), pebble.Options{Logger: log, MemoryBudget: memory, Keep: keyspace.IsRecord})
	if err != nil {
		tb.Fatal(err)
	}
	store, err := open(engine, log)
	if err != nil {
		tb.Fatal(err)
	}
	planner := plan.New(plan.Options{})
	svc, err := commands.NewService(command.Deps{
		Data: command.Data{
			Store: store, Planner: planner,
			Writes: write.New(store, planner),
		}, Logger: log, ReplicaSet: set,
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

// run runs a command that must succeed, and returns its reply.
func (h *hotPath) run(body bsonx.Doc) bsonx.Doc {
	h.send(body)
	reply := bsonx.Doc(h.out[21:])
	if !reply.Lookup("ok").Truthy() || !reply.Lookup("writeErrors").IsMissing() {
		h.tb.Fatal(bsonx.FormatShell(bsonx.Document(reply)))
	}
	return reply
}

// kilobyte returns a document of ten fields and about 1 KB.
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

// placeholder is a number in a request. sendNumber replaces it by the number of a document.
const placeholder = 0x7A6B5C4D

// request is a message in the form of a driver: with a session, and with documents as a document
// sequence.
type request struct {
	raw []byte
	at  []int // offsets of the placeholders in raw
}

func newRequest(body bsonx.Doc, sequence string, docs ...bsonx.Doc) *request {
	raw, start := wire.BeginMsg(nil, 1, 0, 0)
	raw = append(raw, body...)
	if sequence != "" {
		raw = wire.AppendSequence(raw, sequence, docs...)
	}
	r := &request{raw: wire.FinishMsg(raw, start)}
	mark := binary.LittleEndian.AppendUint32(nil, placeholder)
	for i := 0; ; {
		j := bytes.Index(r.raw[i:], mark)
		if j < 0 {
			return r
		}
		r.at = append(r.at, i+j)
		i += j + len(mark)
	}
}

func commandDoc(pairs ...any) bsonx.Doc {
	session := bsonx.NewDoc("id", bsonx.Binary(4, []byte("0123456789abcdef")))
	return bsonx.NewDoc(append(pairs, "lsid", session, "$db", "db")...)
}

// The requests of the benchmarks. All find or change the document whose number is the placeholder.
func findByID() *request {
	return newRequest(commandDoc("find", "c", "filter", bsonx.NewDoc("_id", placeholder),
		"limit", 1, "singleBatch", true), "")
}

func findByIndex() *request {
	return newRequest(commandDoc("find", "c", "filter", bsonx.NewDoc("n", placeholder),
		"limit", 1, "singleBatch", true), "")
}

func incByID() *request {
	st := bsonx.NewDoc("q", bsonx.NewDoc("_id", placeholder), "u", bsonx.NewDoc("$inc", bsonx.NewDoc("k", 1)))
	return newRequest(commandDoc("update", "c", "ordered", true), "updates", st)
}

func insertPlaceholder() *request {
	return newRequest(commandDoc("insert", "c", "ordered", true), "documents", kilobyte(placeholder))
}

type hotRequest struct {
	name        string
	request     func() *request
	fresh       bool // run with numbers of documents that do not exist
	allocations float64
}

// hotRequests are the most frequent requests of a server, with the largest number of allocations
// that each may make.
var hotRequests = []hotRequest{
	{"FindByID", findByID, false, 10},
	{"FindByIndex", findByIndex, false, 33},
	{"UpdateInc", incByID, false, 5},
	{"Insert", insertPlaceholder, true, 2},
}

// retryableRequests are requests to a replica set, with and without transaction numbers.
var retryableRequests = []hotRequest{
	{"LoggedInc", incByID, false, 7},
	{"RetryableInc", func() *request {
		st := bsonx.NewDoc("q", bsonx.NewDoc("_id", 1), "u", bsonx.NewDoc("$inc", bsonx.NewDoc("k", 1)))
		return newRequest(commandDoc("update", "c", "ordered", true, "txnNumber", int64(placeholder)), "updates", st)
	}, true, 7},
	{"LoggedInsert", insertPlaceholder, true, 2},
	{"RetryableInsert", func() *request {
		return newRequest(commandDoc("insert", "c", "ordered", true, "txnNumber", int64(placeholder)),
			"documents", kilobyte(placeholder))
	}, true, 2},
}

func TestHotPathAllocations(t *testing.T) {
	checkAllocations(t, newHotPath(t, 0), hotRequests)
}

func TestRetryableAllocations(t *testing.T) {
	torture.NeedsLong(t)
	for i := range retryableRequests {
		checkAllocations(t, newSetPath(t), retryableRequests[i:i+1])
	}
}

// leastAllocations returns the number of allocations of f, as the least average of several
// measurements. Garbage collections empty the pools, and background work allocates too, so on a
// busy machine single averages are too high. It stops when an average is at most enough.
func leastAllocations(enough float64, f func()) float64 {
	const runs, repetitions = 50, 200
	least := testing.AllocsPerRun(repetitions, f)
	for n := 1; n < runs && least > enough; n++ {
		least = min(least, testing.AllocsPerRun(repetitions, f))
	}
	return least
}

func checkAllocations(t *testing.T, h *hotPath, requests []hotRequest) {
	t.Helper()
	const documents = 1000
	h.fill(documents)
	for _, c := range requests {
		r, i := c.request(), 0
		if c.fresh {
			i = documents
		}
		got := leastAllocations(c.allocations, func() {
			h.sendNumber(r, i)
			i++
		})
		t.Logf("%s: %.0f allocations", c.name, got)
		if got > c.allocations && !raceEnabled {
			t.Errorf("%s: %.0f allocations, at most %.0f allowed", c.name, got, c.allocations)
		}
	}
}

// TestFindMemory checks that commands that reuse memory do not change the memory of an open cursor.
func TestFindMemory(t *testing.T) {
	h := newHotPath(t, 0)
	h.fill(10)
	find := func(pairs ...any) bsonx.Doc {
		return h.run(bsonx.NewDoc(append([]any{"find", "c", "$db", "db"}, pairs...)...)).Lookup("cursor").Doc()
	}
	atLeast := func(n int) bsonx.Doc { return bsonx.NewDoc("_id", bsonx.NewDoc("$gte", n)) }
	cursor := find("filter", atLeast(4), "batchSize", 2).Lookup("id").Int64()
	for i := range 3 {
		for _, limit := range []int{0, 1, 2} {
			want := min(3, limit)
			if limit == 0 {
				want = 3
			}
			got := find("filter", atLeast(7), "limit", limit, "sort",
				bsonx.NewDoc("_id", -1)).Lookup("firstBatch").Doc()
			if got.Len() != want || got.Index(0).Doc().Lookup("_id").Int32() != 9 {
				t.Fatalf("round %d: %s", i, bsonx.FormatShell(bsonx.Array(got)))
			}
		}
		h.run(bsonx.NewDoc("find", "missing", "filter", bsonx.NewDoc("_id", i), "$db", "db"))
	}
	rest := h.run(bsonx.NewDoc("getMore", cursor, "collection", "c", "$db", "db")).Lookup("cursor").
		Doc().Lookup("nextBatch").Doc()
	if rest.Len() != 4 || rest.Index(0).Doc().Lookup("_id").Int32() != 6 {
		t.Errorf("the rest of the cursor: %s", bsonx.FormatShell(bsonx.Array(rest)))
	}
}

// TestUpdateMemory checks that statements that reuse memory do not see data of earlier statements.
func TestUpdateMemory(t *testing.T) {
	h := newHotPath(t, 0)
	h.fill(4)
	update := func(statements ...bsonx.Doc) bsonx.Doc {
		return h.run(bsonx.NewDoc("update", "c", "updates", statements, "$db", "db"))
	}
	all := bsonx.NewDoc()
	reply := update(
		bsonx.NewDoc("q", bsonx.NewDoc("_id", 100), "u",
			bsonx.NewDoc("$set", bsonx.NewDoc("a", 1, "b.c", 2)), "upsert", true),
		bsonx.NewDoc("q", all, "u", bsonx.NewDoc("$inc", bsonx.NewDoc("x", 1, "y.z", 2)), "multi", true),
		bsonx.NewDoc("q", bsonx.NewDoc("_id", 1), "u",
			bsonx.NewDoc("$set", bsonx.NewDoc("s", strings.Repeat("long", 50)))),
	)
	if n := reply.Lookup("n").Int32(); n != 7 {
		t.Errorf("n: %d", n)
	}
	reply = update(bsonx.NewDoc("q", bsonx.NewDoc("_id", 2), "u", bsonx.NewDoc("$inc", bsonx.NewDoc("x", 1))))
	if n := reply.Lookup("nModified").Int32(); n != 1 || !reply.Lookup("upserted").IsMissing() {
		t.Error(bsonx.FormatShell(bsonx.Document(reply)))
	}
	for id, want := range map[int]int32{0: 1, 2: 2, 100: 1} {
		doc := h.run(bsonx.NewDoc("find", "c", "filter", bsonx.NewDoc("_id", id), "$db", "db")).
			Lookup("cursor").Doc().Lookup("firstBatch").Doc().Index(0).Doc()
		if got := doc.Lookup("x").Int32(); got != want || doc.LookupPath("y", "z").Int32() != 2 {
			t.Errorf("_id %d: x %d, want %d", id, got, want)
		}
	}
}

// fill inserts documents and creates an index on n.
func (h *hotPath) fill(documents int) {
	h.run(bsonx.NewDoc("createIndexes", "c", "indexes",
		[]bsonx.Doc{bsonx.NewDoc("name", "n", "key", bsonx.NewDoc("n", 1))}, "$db", "db"))
	for i := range documents {
		h.run(insertOne(kilobyte(i)))
	}
}

// send runs a command that must reply with ok: 1. The reply is in out, after the message header.
func (h *hotPath) send(body bsonx.Doc) {
	h.msg = wire.Message{Body: body}
	h.handle()
}

// sendNumber runs a request with the number n in place of the placeholder.
func (h *hotPath) sendNumber(r *request, n int) {
	for _, at := range r.at {
		binary.LittleEndian.PutUint32(r.raw[at:], uint32(n))
	}
	if err := wire.Parse(&h.msg, r.raw); err != nil {
		h.tb.Fatal(err)
	}
	h.handle()
}

func (h *hotPath) handle() {
	h.out = dispatch.Handle(context.Background(), h.svc, h.conn, &h.msg, h.out[:0]).Out
	if !bsonx.Doc(h.out[21:]).Lookup("ok").Truthy() {
		h.tb.Fatal(bsonx.FormatShell(bsonx.Document(h.out[21:])))
	}
}

// BenchmarkHotPath measures the hot requests from the bytes of the message to the bytes of the
// reply, without a connection.
func BenchmarkHotPath(b *testing.B) {
	benchmarkRequests(b, hotRequests, func() *hotPath { return newHotPath(b, 0) })
}

// BenchmarkRetryable is BenchmarkHotPath for writes to a replica set.
func BenchmarkRetryable(b *testing.B) {
	benchmarkRequests(b, retryableRequests, func() *hotPath { return newSetPath(b) })
}

func benchmarkRequests(b *testing.B, requests []hotRequest, open func() *hotPath) {
	b.Helper()
	const documents = 10_000
	for _, c := range requests {
		b.Run(c.name, func(b *testing.B) {
			h := open()
			h.fill(documents)
			r, i := c.request(), 0
			b.ReportAllocs()
			for b.Loop() {
				n := i * 7919 % documents
				if c.fresh {
					n = documents + i
				}
				h.sendNumber(r, n)
				i++
			}
		})
	}
}
