package sheaf_test

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/internal/wire"
	"github.com/sheafdb/sheaf/sheaftest"
)

// rawConn is a connection over which a test sends handmade messages.
type rawConn struct {
	t *testing.T
	net.Conn
	id int32
	db string
}

// serveRaw serves a new database. It returns the database, and a function that connects to it.
func serveRaw(t *testing.T) (*sheaf.DB, func() *rawConn) {
	t.Helper()
	db := sheaftest.Open(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = db.Serve(t.Context(), l) }()
	return db, func() *rawConn {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetDeadline(time.Now().Add(time.Minute))
		return &rawConn{t: t, Conn: nc, db: "test"}
	}
}

// send sends a command and returns the ID of the request.
func (c *rawConn) send(flags wire.Flags, pairs ...any) int32 {
	c.t.Helper()
	c.id++
	out, start := wire.BeginMsg(nil, c.id, 0, flags)
	out = wire.FinishMsg(append(out, bsonx.NewDoc(append(pairs, "$db", c.db)...)...), start)
	if _, err := c.Write(out); err != nil {
		c.t.Fatal(err)
	}
	return c.id
}

func (c *rawConn) receive() *wire.Message {
	c.t.Helper()
	raw, err := wire.ReadMessage(c.Conn, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var m wire.Message
	if err := wire.Parse(&m, raw); err != nil {
		c.t.Fatal(err)
	}
	return &m
}

func (c *rawConn) run(pairs ...any) bsonx.Doc {
	c.t.Helper()
	id := c.send(0, pairs...)
	m := c.receive()
	if m.ResponseTo != id || m.Flags&wire.FlagMoreToCome != 0 {
		c.t.Fatalf("%v: reply to %d instead of %d, flags %x", pairs, m.ResponseTo, id, m.Flags)
	}
	return m.Body
}

// open opens a cursor whose first batch has one document, and returns its ID.
func (c *rawConn) open(pairs ...any) int64 {
	c.t.Helper()
	reply := c.run(append(pairs, "batchSize", 1)...)
	id, _ := reply.LookupPath("cursor", "id").AsInt64()
	if id == 0 {
		c.t.Fatal(bsonx.FormatShell(bsonx.Document(reply)))
	}
	return id
}

func isLast(m *wire.Message) bool { return m.Flags&wire.FlagMoreToCome == 0 }

func errCode(m *wire.Message) int64 {
	code, _ := m.Body.Lookup("code").AsInt64()
	return code
}

func fillCollection(t *testing.T, c *mongo.Collection, n, size int) {
	t.Helper()
	docs := make([]bson.D, n)
	for i := range docs {
		docs[i] = bson.D{{"_id", int32(i)}, {"pad", strings.Repeat("x", size)}}
	}
	if _, err := c.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// TestExhaustGetMore: a getMore with exhaustAllowed streams the batches of its cursor. The
// responseTo of each reply is the ID of the preceding reply.
func TestExhaustGetMore(t *testing.T) {
	t.Parallel()
	db, connect := serveRaw(t)
	fillCollection(t, db.Client().Database("test").Collection("c"), 10, 10)
	c := connect()
	for _, flags := range []wire.Flags{wire.FlagExhaustAllowed, wire.FlagExhaustAllowed | wire.FlagChecksumPresent} {
		for _, open := range [][]any{{"find", "c"}, {"find", "c", "sort", bsonx.NewDoc("pad", 1, "_id", 1)}} {
			cursor := c.open(open...)
			to := c.send(flags, "getMore", cursor, "collection", "c", "batchSize", 4)
			var ids []int32
			for {
				m := c.receive()
				if m.ResponseTo != to || m.Flags&wire.FlagChecksumPresent != flags&wire.FlagChecksumPresent {
					t.Fatalf("reply to %d instead of %d, flags %x", m.ResponseTo, to, m.Flags)
				}
				to = m.RequestID
				for _, v := range m.Body.LookupPath("cursor", "nextBatch").Doc().Values() {
					ids = append(ids, v.Doc().Lookup("_id").Int32())
				}
				id, _ := m.Body.LookupPath("cursor", "id").AsInt64()
				if isLast(m) != (id == 0) {
					t.Fatalf("flags %x with cursor id %d", m.Flags, id)
				}
				if id == 0 {
					break
				}
			}
			if !slices.Equal(ids, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}) {
				t.Errorf("streamed %v", ids)
			}
		}
	}
	if c.run("ping", 1).Lookup("ok").Double() != 1 {
		t.Error("ping after a stream failed")
	}
}

// TestExhaustEndsWithItsCursor: if a client does not read, the stream pauses and takes no more
// memory. The stream ends when its cursor ends.
func TestExhaustEndsWithItsCursor(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	const size, n = 256 << 10, 200
	db, connect := serveRaw(t)
	fillCollection(t, db.Client().Database("test").Collection("c"), n, size)
	c, other := connect(), connect()
	cursor := c.open("find", "c")
	c.send(wire.FlagExhaustAllowed, "getMore", cursor, "collection", "c", "batchSize", 1)
	sent := func() int64 {
		n, _ := other.run("serverStatus", 1).LookupPath("opcounters", "getmore").AsInt64()
		return n
	}
	stalled := int64(-1)
	for now := sent(); now != stalled; now = sent() {
		stalled = now
		time.Sleep(200 * time.Millisecond)
	}
	if stalled >= n-1 {
		t.Skip("the network's buffers took the whole stream")
	}
	if killed := other.run("killCursors", "c", "cursors", bsonx.NewArray(cursor)).
		Lookup("cursorsKilled").Doc(); killed.Len() != 1 {
		t.Fatal("the cursor of a stream that stands still was not killed")
	}
	m := c.receive()
	for !isLast(m) {
		m = c.receive()
	}
	if errCode(m) != 43 {
		t.Errorf("the stream ended with %s", bsonx.FormatShell(bsonx.Document(m.Body)))
	}
	c.run("ping", 1)
}

// TestExhaustAwait: the stream of a cursor that waits for new documents also sends empty batches.
// The stream ends by killOp or with its connection.
func TestExhaustAwait(t *testing.T) {
	t.Parallel()
	db, connect := serveRaw(t)
	test := db.Client().Database("test")
	if err := test.RunCommand(t.Context(),
		bson.D{{"create", "log"}, {"capped", true}, {"size", 1 << 20}}).Err(); err != nil {
		t.Fatal(err)
	}
	fillCollection(t, test.Collection("log"), 1, 1)
	other := connect()
	other.db = "admin"
	running := func() []int64 {
		reply := other.run("currentOp", 1, "op", "getmore", "active", true)
		var ids []int64
		for _, v := range reply.Lookup("inprog").Doc().Values() {
			id, _ := v.Doc().Lookup("opid").AsInt64()
			ids = append(ids, id)
		}
		return ids
	}
	stream := func() *rawConn {
		c := connect()
		cursor := c.open("find", "log", "tailable", true, "awaitData", true)
		c.send(wire.FlagExhaustAllowed, "getMore", cursor, "collection", "log", "maxTimeMS", 20)
		for range 3 {
			if m := c.receive(); isLast(m) || m.Body.LookupPath("cursor", "nextBatch").Doc().Len() != 0 {
				t.Fatalf("flags %x: %s", m.Flags, bsonx.FormatShell(bsonx.Document(m.Body)))
			}
		}
		return c
	}
	c := stream()
	m := c.receive()
	for !isLast(m) {
		for _, id := range running() {
			other.run("killOp", 1, "op", id)
		}
		m = c.receive()
	}
	if errCode(m) != 11601 {
		t.Errorf("the stream ended with %s", bsonx.FormatShell(bsonx.Document(m.Body)))
	}
	c.run("ping", 1)
	c = stream()
	_ = c.Close()
	for deadline := time.Now().Add(time.Minute); len(running()) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a stream outlives its connection")
		}
	}
}

// TestExhaustAtTheEnd: the stream of a tailable cursor that does not wait ends at the end of the
// data. Otherwise it would send empty batches without end.
func TestExhaustAtTheEnd(t *testing.T) {
	t.Parallel()
	db, connect := serveRaw(t)
	test := db.Client().Database("test")
	if err := test.RunCommand(t.Context(),
		bson.D{{"create", "log"}, {"capped", true}, {"size", 1 << 20}}).Err(); err != nil {
		t.Fatal(err)
	}
	fillCollection(t, test.Collection("log"), 3, 1)
	for _, options := range [][]any{{}, {"awaitData", true}} {
		c := connect()
		cursor := c.open(append([]any{"find", "log", "tailable", true}, options...)...)
		more := []any{"getMore", cursor, "collection", "log", "batchSize", 1}
		if len(options) > 0 {
			more = append(more, "maxTimeMS", 0)
		}
		c.send(wire.FlagExhaustAllowed, more...)
		for i, want := range []int{1, 1, 0} {
			m := c.receive()
			if got := m.Body.LookupPath("cursor", "nextBatch").Doc().Len(); got != want || isLast(m) != (want == 0) {
				t.Errorf("batch %d of %d documents, flags %x", i, got, m.Flags)
			}
		}
		c.run("ping", 1)
	}
}
