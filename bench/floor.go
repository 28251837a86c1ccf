package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// floorEnv is the environment variable that makes this program act as the floor server. The program
// sets it when it starts itself as a child.
const floorEnv = "SHEAF_BENCH_FLOOR"

const (
	opcodeReply = 1
	opcodeQuery = 2004
	opcodeMsg   = 2013
)

// floorServer answers every command with a canned message. It reads only the name of the first
// field of a command. So the rate of a client against it is the greatest that driver and transport
// allow.
type floorServer struct {
	hello   []byte            // the reply to hello as OP_MSG
	legacy  []byte            // the reply to hello as OP_REPLY
	ok      []byte            // the reply to all commands without a reply in replies
	replies map[string][]byte // the replies as OP_MSG, by the name of the command
	scan    []byte            // the reply to a find in the collection of workload E
}

func newFloorServer(d dataset) (*floorServer, error) {
	hello := bson.D{
		{"helloOk", true},
		{"ismaster", true},
		{"isWritablePrimary", true},
		{"maxBsonObjectSize", int32(16 << 20)},
		{"maxMessageSizeBytes", int32(48_000_000)},
		{"maxWriteBatchSize", int32(100_000)},
		{"logicalSessionTimeoutMinutes", int32(30)},
		{"connectionId", int32(1)},
		{"minWireVersion", int32(0)},
		{"maxWireVersion", int32(25)},
		{"readOnly", false},
		{"ok", 1.0},
	}
	doc, err := d.document(0)
	if err != nil {
		return nil, err
	}
	one := bson.E{"n", int32(1)}
	ok := bson.E{"ok", 1.0}
	found := bson.D{
		{"firstBatch", bson.A{doc}},
		{"id", int64(0)},
		{"ns", "bench.docs"},
	}
	batch := make(bson.A, scanMean)
	for i := range batch {
		if batch[i], err = scanDocument(i, scanKey(int64(i))); err != nil {
			return nil, err
		}
	}
	scan := bson.D{{"firstBatch", batch}, {"id", int64(0)}, {"ns", database + "." + scanTable}}
	s := &floorServer{
		hello:  message(hello),
		legacy: legacyReply(hello),
		ok:     message(bson.D{ok}),
		replies: map[string][]byte{
			"insert": message(bson.D{one, ok}),
			"update": message(bson.D{one, {"nModified", int32(1)}, ok}),
			"find":   message(bson.D{{"cursor", found}, ok}),
		},
		scan: message(bson.D{{"cursor", scan}, ok}),
	}
	s.replies["hello"], s.replies["isMaster"], s.replies["ismaster"] = s.hello, s.hello, s.hello
	return s, nil
}

// message returns an OP_MSG with one document. Its field responseTo is not set.
func message(doc bson.D) []byte {
	return frame(opcodeMsg, append(make([]byte, 5), mustMarshal(doc)...))
}

// legacyReply returns an OP_REPLY with one document. The flags, the cursor, the position and the
// number of documents come before the document.
func legacyReply(doc bson.D) []byte {
	head := make([]byte, 20)
	head[16] = 1
	return frame(opcodeReply, append(head, mustMarshal(doc)...))
}

func frame(opcode uint32, body []byte) []byte {
	m := make([]byte, 16, 16+len(body))
	binary.LittleEndian.PutUint32(m[12:], opcode)
	m = append(m, body...)
	binary.LittleEndian.PutUint32(m, uint32(len(m)))
	return m
}

// mustMarshal marshals the constant documents of the canned messages.
func mustMarshal(doc bson.D) []byte {
	b, err := bson.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return b
}

// serve answers connections until the listener is closed.
func (s *floorServer) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_ = s.converse(conn)
		}()
	}
}

// converse answers each message of a connection with a canned message.
func (s *floorServer) converse(conn net.Conn) error {
	in := bufio.NewReaderSize(conn, 16<<10)
	var body, out []byte
	var head [16]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		size := int(binary.LittleEndian.Uint32(head[:])) - len(head)
		if size < 0 || size > 48_000_000 {
			return errors.New("bad length")
		}
		if cap(body) < size {
			body = make([]byte, size)
		}
		body = body[:size]
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		reply, err := s.reply(binary.LittleEndian.Uint32(head[12:]), body)
		if err != nil {
			return err
		}
		out = append(out[:0], reply...)
		copy(out[8:12], head[4:8])
		if _, err := conn.Write(out); err != nil {
			return err
		}
	}
}

// findScan is the beginning of the value of the field find in a command on the collection of
// workload E: the length of the collection's name, and the name.
var findScan = append(binary.LittleEndian.AppendUint32(nil, uint32(len(scanTable)+1)), scanTable...)

// reply returns the canned message for a message. It expects that an OP_MSG begins with flags, kind
// 0, and the length, first type and first name of its body. Messages of the Go driver do so.
func (s *floorServer) reply(opcode uint32, body []byte) ([]byte, error) {
	const nameOffset = 4 + 1 + 4 + 1
	switch {
	case opcode == opcodeQuery:
		return s.legacy, nil
	case opcode != opcodeMsg || len(body) < nameOffset || body[4] != 0:
		return nil, errors.New("not a message of the driver")
	}
	name, value, _ := bytes.Cut(body[nameOffset:], []byte{0})
	if string(name) == "find" && bytes.HasPrefix(value, findScan) {
		return s.scan, nil
	}
	if r, ok := s.replies[string(name)]; ok {
		return r, nil
	}
	return s.ok, nil
}

// runFloor is the main function of the floor server. It serves until its standard input is closed,
// which happens when the parent process ends.
func runFloor() error {
	s, err := newFloorServer(dataset{size: groups})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go s.serve(l)
	ready := readyLine{URI: fmt.Sprintf("mongodb://%s/?directConnection=true", l.Addr())}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
