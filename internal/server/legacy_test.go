package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/wire"
)

// frame returns a message with any operation code.
func frame(id int32, op wire.OpCode, body []byte) []byte {
	b := make([]byte, wire.HeaderLen, wire.HeaderLen+len(body))
	binary.LittleEndian.PutUint32(b[4:], uint32(id))
	binary.LittleEndian.PutUint32(b[12:], uint32(op))
	b = append(b, body...)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

// opCodes are all operation codes that ever existed, and three that never did.
var opCodes = []wire.OpCode{
	wire.OpReply, 1000, wire.OpUpdate, wire.OpInsert, 2003, wire.OpQuery, wire.OpGetMore, wire.OpDelete,
	wire.OpKillCursors, 2010, 2011,
	wire.OpCompressed, wire.OpMsg, 0, -1, 9999,
}

// opBodies returns message bodies, by the operation code to which they belong.
func opBodies() map[string][]byte {
	doc := bsonx.NewDoc("a", 1)
	ns := append(make([]byte, 4), "test.c\x00"...)
	query := func(flags uint32, ns string, doc bsonx.Doc) []byte {
		b := binary.LittleEndian.AppendUint32(nil, flags)
		b = append(append(b, ns...), 0)
		return append(append(b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff), doc...)
	}
	msg := func(flags wire.Flags, doc bsonx.Doc) []byte { return request(0, flags, doc)[wire.HeaderLen:] }
	hello := bsonx.NewDoc("hello", 1)
	unacknowledged := bsonx.NewDoc("insert", "c", "documents", bsonx.NewArray(doc), "writeConcern",
		bsonx.NewDoc("w", 0), "$db", "test")
	out := map[string][]byte{
		"empty":                {},
		"short":                {0, 0, 0},
		"insert":               append(ns, doc...),
		"update":               append(append(append(ns[:len(ns):len(ns)], 0, 0, 0, 0), doc...), doc...),
		"delete":               append(append(ns[:len(ns):len(ns)], 0, 0, 0, 0), doc...),
		"getMore":              append(ns[:len(ns):len(ns)], make([]byte, 12)...),
		"killCursors":          append([]byte{0, 0, 0, 0, 1, 0, 0, 0}, make([]byte, 8)...),
		"query, broken":        query(0, "admin.$cmd", bsonx.Doc{0xff, 0, 0, 0, 16}),
		"message, broken":      append(make([]byte, 5), 0xff, 0, 0, 0, 16),
		"message, two bodies":  append(append(msg(0, ping), 0), ping...),
		"message, unknown bit": msg(1<<7, ping),
		"message, w 0":         msg(0, unacknowledged),
	}
	for _, flags := range []uint32{0, 2, 16, 64, 64 | 16, 0xffffffff} {
		for name, c := range map[string]struct {
			ns  string
			doc bsonx.Doc
		}{
			"hello": {"admin.$cmd", hello}, "ping": {"admin.$cmd", bsonx.NewDoc("ping", 1)},
			"find command": {"test.$cmd", bsonx.NewDoc("find", "c")},
			"find":         {"test.c", doc}, "find all": {"test.c", bsonx.NewDoc()},
			"no command":  {"test.$cmd", bsonx.NewDoc()},
			"no database": {"$cmd", hello}, "inprog": {"admin.$cmd.sys.inprog", bsonx.NewDoc()},
		} {
			out[fmt.Sprintf("query %x, %s", flags, name)] = query(flags, c.ns, c.doc)
		}
	}
	for _, flags := range []wire.Flags{
		0, wire.FlagMoreToCome, wire.FlagExhaustAllowed,
		wire.FlagMoreToCome | wire.FlagExhaustAllowed, 1 << 20,
	} {
		for name, doc := range map[string]bsonx.Doc{
			"ping": ping, "unknown": bsonx.NewDoc("nosuch", 1, "$db", "test"),
			"w 0": unacknowledged, "no database": hello,
			"getMore": bsonx.NewDoc("getMore", int64(5), "collection", "c", "$db", "test"),
		} {
			out[fmt.Sprintf("message %x, %s", uint32(flags), name)] = msg(flags, doc)
		}
	}
	return out
}

// outcome is the server's reaction to a message.
type outcome struct {
	closed  bool
	replies int
}

// exchange sends a message and a ping, and checks that each reply belongs to its request. With a
// reply too many or too few, a client would mistake one reply for another.
func exchange(t *testing.T, nc net.Conn, message []byte) outcome {
	t.Helper()
	const id, pingID = 41, 77
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := nc.Write(message); err != nil {
		return outcome{closed: true}
	}
	_, _ = nc.Write(request(pingID, 0, ping))
	var out outcome
	for {
		raw, err := wire.ReadMessage(nc, nil)
		if err != nil {
			out.closed = true
			return out
		}
		h, err := wire.ParseHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		switch h.ResponseTo {
		case pingID:
			return out
		case id:
			out.replies++
		default:
			t.Fatalf("a reply to %d: %x", h.ResponseTo, raw)
		}
	}
}

// expected returns MongoDB's reaction to a message.
func expected(op wire.OpCode, body []byte) outcome {
	var m wire.Message
	err := wire.Parse(&m, frame(41, op, body))
	switch {
	case op != wire.OpMsg && op != wire.OpQuery && op != wire.OpGetMore && op != wire.OpCompressed,
		err != nil && wire.IsFatal(err):
		return outcome{closed: true}
	case err == nil && m.OpCode == wire.OpMsg && m.Flags&wire.FlagMoreToCome != 0:
		return outcome{}
	default:
		return outcome{replies: 1}
	}
}

// TestOperationCodes sends every operation code with every body, plain and compressed. Legacy
// writes must get no reply, whatever their bytes are. No other message may leave its client
// waiting, or get a reply too many.
func TestOperationCodes(t *testing.T) {
	t.Parallel()
	srv := newTestServer(t)
	l := NewMemoryListener("opcodes")
	go func() { _ = srv.Serve(context.Background(), l) }()
	for _, op := range opCodes {
		for name, body := range opBodies() {
			plain := frame(41, op, body)
			packed, err := wire.Compress(nil, plain, wire.CompressorSnappy)
			if err != nil {
				t.Fatal(err)
			}
			for how, message := range map[string][]byte{"plain": plain, "compressed": packed} {
				if op == wire.OpCompressed && how == "compressed" {
					continue // refused as a whole
				}
				nc, err := l.DialContext(context.Background(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				if got, want := exchange(t, nc, message), expected(op, body); got != want {
					t.Errorf("operation code %d, %s, %s: %+v, want %+v", op, name, how, got, want)
				}
				_ = nc.Close()
			}
		}
	}
}

// TestLegacyOperations checks the replies to legacy reads, and that all legacy operations are
// counted.
func TestLegacyOperations(t *testing.T) {
	t.Parallel()
	addr := listenTCP(t, newTestServer(t))
	const unsupported, removed = 352, 5739101
	bodies := opBodies()
	for name, want := range map[string]int32{
		"query 40, find": removed, "query 0, find all": removed, "query 0, inprog": removed,
		"query 0, no database": removed,
		"query 40, ping":       unsupported, "query 0, find command": unsupported,
		"query 40, hello": 0, "query ffffffff, hello": 0,
	} {
		c := dial(t, addr)
		c.send(frame(41, wire.OpQuery, bodies[name]))
		raw, err := wire.ReadMessage(c, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, flags := bsonx.Doc(raw[36:]), raw[wire.HeaderLen]
		if got, _ := body.Lookup("code").AsInt64(); int32(got) != want {
			t.Errorf("%s: %s", name, bsonx.FormatShell(bsonx.Document(body)))
		}
		if failed := flags&2 != 0; failed != (want == removed) ||
			failed != strings.Contains(bsonx.FormatShell(body.Lookup("$err")), "no longer supported") {
			t.Errorf("%s: flags %x of %s", name, flags, bsonx.FormatShell(bsonx.Document(body)))
		}
	}
	for op, body := range map[wire.OpCode]string{
		wire.OpInsert: "insert", wire.OpUpdate: "update", wire.OpDelete: "delete",
		wire.OpKillCursors: "killCursors", wire.OpGetMore: "getMore",
	} {
		c := dial(t, addr)
		c.send(frame(41, op, bodies[body]))
		if op != wire.OpGetMore && !c.closed() {
			t.Errorf("%s: the connection stays open", body)
		} else if op == wire.OpGetMore {
			if m := c.receive(); m.Body.Lookup("code").Int32() != removed || m.ResponseTo != 41 {
				t.Errorf("getMore: %+v", m)
			}
		}
	}
	c := dial(t, addr)
	c.send(request(1, 0, bsonx.NewDoc("serverStatus", 1, "$db", "admin")))
	counters := c.receive().Body.LookupPath("opcounters", "deprecated").Doc()
	for name, want := range map[string]int64{
		"total": 11, "insert": 1, "query": 6, "update": 1, "delete": 1,
		"getmore": 1, "killcursors": 1,
	} {
		if got, _ := counters.Lookup(name).AsInt64(); got != want {
			t.Errorf("opcounters.deprecated.%s is %d, want %d", name, got, want)
		}
	}
}

// FuzzOperations sends any operation with any body. The server must continue, and replies must
// belong to their requests.
func FuzzOperations(f *testing.F) {
	for _, op := range opCodes {
		for _, body := range opBodies() {
			f.Add(int32(op), body, false)
		}
	}
	srv := newTestServer(f)
	l := NewMemoryListener("operations")
	go func() { _ = srv.Serve(context.Background(), l) }()
	f.Fuzz(func(t *testing.T, op int32, body []byte, compressed bool) {
		message := frame(41, wire.OpCode(op), body)
		if compressed {
			var err error
			if message, err = wire.Compress(nil, message, wire.CompressorSnappy); err != nil {
				t.Fatal(err)
			}
		}
		if stops(wire.OpCode(op), message) {
			return
		}
		nc, err := l.DialContext(context.Background(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		got := exchange(t, nc, message)
		unanswered := []wire.OpCode{wire.OpInsert, wire.OpUpdate, wire.OpDelete, wire.OpKillCursors}
		if slices.Contains(unanswered, wire.OpCode(op)) && got != (outcome{closed: true}) {
			t.Errorf("%+v", got)
		}
		if got.replies > 1 {
			t.Errorf("%d replies", got.replies)
		}
	})
}

// stops reports whether a message is a command that ends or stops the server, or streams its
// replies.
func stops(op wire.OpCode, message []byte) bool {
	var m wire.Message
	if wire.Parse(&m, message) != nil {
		return false
	}
	name := string(m.Body.First().Key)
	return op != wire.OpQuery && m.Flags&wire.FlagExhaustAllowed != 0 || name == "shutdown" ||
		name == "fsync" || name == "configureFailPoint"
}
