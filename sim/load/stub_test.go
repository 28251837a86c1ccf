package load_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// stub starts a server that speaks MongoDB's protocol, but answers every message with the same
// hello reply. A load against it measures the limit of the load generator, the driver and TCP.
func stub(tb testing.TB) (uri string) {
	tb.Helper()
	reply, err := bson.Marshal(bson.D{
		{"helloOk", true},
		{"ismaster", true},
		{"isWritablePrimary", true},
		{"maxBsonObjectSize", int32(16 << 20)},
		{"maxMessageSizeBytes", int32(48_000_000)},
		{"maxWriteBatchSize", int32(100_000)},
		{"logicalSessionTimeoutMinutes", int32(30)},
		{"minWireVersion", int32(0)},
		{"maxWireVersion", int32(25)},
		{"n", int32(1)},
		{"ok", 1.0},
	})
	if err != nil {
		tb.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn, reply)
		}
	}()
	return "mongodb://" + l.Addr().String() + "/?directConnection=true"
}

// answer answers the messages of a connection: an OP_QUERY with an OP_REPLY, other messages with an
// OP_MSG.
func answer(conn net.Conn, reply []byte) {
	defer conn.Close()
	const head, query = 16, 2004
	legacy := frame(1, append(append(make([]byte, 16), 1, 0, 0, 0), reply...))
	msg := frame(2013, append(make([]byte, 5), reply...))
	from, in := bufio.NewReader(conn), make([]byte, 64<<10)
	for {
		if _, err := io.ReadFull(from, in[:head]); err != nil {
			return
		}
		size, op := int(binary.LittleEndian.Uint32(in)), binary.LittleEndian.Uint32(in[12:])
		if size < head || size > len(in) {
			return
		}
		if _, err := io.ReadFull(from, in[head:size]); err != nil {
			return
		}
		out := msg
		if op == query {
			out = legacy
		}
		copy(out[8:12], in[4:8])
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

func frame(opcode uint32, body []byte) []byte {
	m := make([]byte, 16, 16+len(body))
	binary.LittleEndian.PutUint32(m[12:], opcode)
	m = append(m, body...)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	return m
}
