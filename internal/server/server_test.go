package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/wire"
)

func newTestServer(tb testing.TB, defs ...command.Definition) *Server {
	tb.Helper()
	svc, err := commands.NewService(command.Deps{Definitions: defs, TestCommands: true})
	if err != nil {
		tb.Fatal(err)
	}
	srv := New(Options{Service: svc})
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			tb.Error(err)
		}
	})
	return srv
}

// listenTCP serves on a free port and returns its address.
func listenTCP(t *testing.T, srv *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(context.Background(), l) }()
	return l.Addr().String()
}

// rawClient speaks the protocol without a driver.
type rawClient struct {
	t *testing.T
	net.Conn
}

func dial(t *testing.T, addr string) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
	return &rawClient{t, nc}
}

func request(id int32, flags wire.Flags, body bsonx.Doc) []byte {
	out, start := wire.BeginMsg(nil, id, 0, flags)
	return wire.FinishMsg(append(out, body...), start)
}

func (c *rawClient) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawClient) receive() *wire.Message {
	c.t.Helper()
	raw, err := wire.ReadMessage(c.Conn, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var m wire.Message
	if raw[12] == 1 { // OP_REPLY: the document follows 20 bytes of header
		m.Header, _ = wire.ParseHeader(raw)
		m.Body = bsonx.Doc(raw[36:])
		return &m
	}
	if err := wire.Parse(&m, raw); err != nil {
		c.t.Fatal(err)
	}
	return &m
}

// closed reports whether the server closes the connection without a reply.
func (c *rawClient) closed() bool {
	var b [1]byte
	n, err := c.Read(b[:])
	var ne net.Error
	return n == 0 && err != nil && (!errors.As(err, &ne) || !ne.Timeout())
}

var ping = bsonx.NewDoc("ping", 1, "$db", "admin")

func (c *rawClient) ping() {
	c.t.Helper()
	c.send(request(77, 0, ping))
	if m := c.receive(); m.ResponseTo != 77 || m.Body.Lookup("ok").Double() != 1 {
		c.t.Fatalf("ping answered %+v", m)
	}
}

func TestMalformedMessagesEndTheirConnectionOnly(t *testing.T) {
	addr := listenTCP(t, newTestServer(t))
	bystander := dial(t, addr)
	bystander.ping()
	good := request(1, wire.FlagChecksumPresent, ping)
	flip := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	for name, in := range map[string][]byte{
		"negative length": flip(0, 0xff, 0xff, 0xff, 0xff),
		"tiny length":     flip(0, 4, 0, 0, 0),
		"huge length":     flip(0, 0, 0, 0, 0x70),
		"unknown opcode":  flip(12, 9, 9),
		"required flag":   flip(16, 0x41),
		"checksum":        flip(len(good)-1, good[len(good)-1]^1),
		"http":            []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	} {
		c := dial(t, addr)
		c.send(in)
		if !c.closed() {
			t.Errorf("%s: the connection stays open", name)
		}
		bystander.ping()
	}
}

func TestBadDocumentsAreAnswered(t *testing.T) {
	c := dial(t, listenTCP(t, newTestServer(t)))
	for name, doc := range map[string]bsonx.Doc{
		"length":  {200, 0, 0, 0, 0},
		"type":    {8, 0, 0, 0, 0x42, 'a', 0, 0},
		"no body": {5, 0, 0, 0, 0},
	} {
		c.send(request(5, 0, doc))
		m := c.receive()
		if m.ResponseTo != 5 || m.Body.Lookup("ok").Double() != 0 {
			t.Errorf("%s: %+v", name, m)
		}
		c.ping()
	}
}

func TestPipelinedSplitAndLargeMessages(t *testing.T) {
	size := command.Definition{
		Name: "size", Loose: true,
		Run: func(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
			reply.Int32("size", int32(len(req.String("pad"))))
			return nil
		},
	}
	c := dial(t, listenTCP(t, newTestServer(t, size)))
	var all []byte
	sizes := []int{1, 3000, 10, 5 << 20, 2000, 100, 0}
	for i, n := range sizes {
		all = append(all, request(int32(i), 0,
			bsonx.NewDoc("size", 1, "pad", strings.Repeat("x", n), "$db", "test"))...)
	}
	go func() {
		for len(all) > 0 { // parts that end anywhere
			n := min(len(all), 1777)
			if len(all) > 1<<20 {
				n = 300_000
			}
			_, _ = c.Write(all[:n])
			all = all[n:]
		}
	}()
	for i, n := range sizes {
		if m := c.receive(); m.ResponseTo != int32(i) || m.Body.Lookup("size").Int32() != int32(n) {
			t.Fatalf("message %d: %+v", i, m)
		}
	}
}

func TestRetainedRequestsKeepTheirBytes(t *testing.T) {
	var kept []bsonx.Value
	keep := command.Definition{
		Name: "keep", Loose: true,
		Run: func(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
			req.Retain()
			kept = append(kept, req.Get("v"))
			return nil
		},
	}
	c := dial(t, listenTCP(t, newTestServer(t, keep)))
	var want []string
	for i, n := range []int{10, 10, 5000, 10, 100_000} {
		v := strings.Repeat(string(rune('a'+i)), n)
		want = append(want, v)
		body := request(1, 0, bsonx.NewDoc("keep", 1, "v", v, "$db", "test"))
		if i%2 == 1 {
			packed, err := wire.Compress(nil, body, wire.CompressorSnappy)
			if err != nil {
				t.Fatal(err)
			}
			body = packed
		}
		c.send(body)
		c.receive()
		c.ping()
	}
	for i := range want {
		if kept[i].Str() != want[i] {
			t.Errorf("request %d was overwritten", i)
		}
	}
}

func TestCompressedRequestsGetCompressedReplies(t *testing.T) {
	c := dial(t, listenTCP(t, newTestServer(t)))
	for _, id := range []wire.Compressor{wire.CompressorSnappy, wire.CompressorZlib, wire.CompressorZstd} {
		packed, err := wire.Compress(nil, request(3, 0, ping), id)
		if err != nil {
			t.Fatal(err)
		}
		c.send(packed)
		if m := c.receive(); m.Compressor != id || m.ResponseTo != 3 || m.Body.Lookup("ok").Double() != 1 {
			t.Errorf("%s: %+v", id, m)
		}
	}
	c.send(request(4, wire.FlagChecksumPresent, ping))
	if m := c.receive(); m.Flags&wire.FlagChecksumPresent == 0 {
		t.Error("a message with a checksum is answered without one")
	}
}

func legacyQuery(ns string, doc bsonx.Doc) []byte {
	b := make([]byte, wire.HeaderLen, 256)
	b[4], b[12], b[13] = 9, 0xd4, 7
	b = append(b, 0, 0, 0, 0)
	b = append(append(b, ns...), 0)
	b = append(b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
	b = append(b, doc...)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

func TestLegacyHandshake(t *testing.T) {
	c := dial(t, listenTCP(t, newTestServer(t)))
	c.send(legacyQuery("admin.$cmd", bsonx.NewDoc("isMaster", 1, "helloOk", true)))
	m := c.receive()
	if m.ResponseTo != 9 || !m.Body.Lookup("helloOk").Truthy() || m.Body.Lookup("maxWireVersion").Int32() != 25 {
		t.Errorf("%+v", m)
	}
	c.ping()
}

func TestExhaustHello(t *testing.T) {
	srv := newTestServer(t)
	c := dial(t, listenTCP(t, srv))
	c.send(request(1, 0, bsonx.NewDoc("hello", 1, "$db", "admin")))
	version := c.receive().Body.Lookup("topologyVersion")
	c.send(request(2, wire.FlagExhaustAllowed,
		bsonx.NewDoc("hello", 1, "topologyVersion", version, "maxAwaitTimeMS", 10, "$db", "admin")))
	to := int32(2)
	for i := range 3 {
		m := c.receive()
		if m.Flags&wire.FlagMoreToCome == 0 || m.ResponseTo != to {
			t.Fatalf("reply %d of the stream: flags %x, to %d instead of %d", i, m.Flags, m.ResponseTo, to)
		}
		to = m.RequestID
	}
}

func TestShutdownLetsCommandsFinish(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	slow := command.Definition{Name: "slow", Run: func(context.Context, *command.Request, *bsonx.Builder) error {
		close(started)
		<-finish
		return nil
	}}
	srv := newTestServer(t, slow)
	addr := listenTCP(t, srv)
	busy, idle := dial(t, addr), dial(t, addr)
	idle.ping()
	busy.send(request(1, 0, bsonx.NewDoc("slow", 1, "$db", "test")))
	<-started
	done := make(chan error)
	go func() { done <- srv.Shutdown(context.Background()) }()
	if !idle.closed() {
		t.Error("an idle connection stays open")
	}
	close(finish)
	if m := busy.receive(); m.Body.Lookup("ok").Double() != 1 {
		t.Errorf("the running command was answered %+v", m)
	}
	if !busy.closed() {
		t.Error("the busy connection stays open")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := srv.Serve(context.Background(), NewMemoryListener("late")); !errors.Is(err, ErrClosed) {
		t.Errorf("serving after the end: %v", err)
	}
}

func TestShutdownInterruptsWhatDoesNotEnd(t *testing.T) {
	started := make(chan struct{})
	stuck := command.Definition{
		Name: "stuck",
		Run: func(ctx context.Context, _ *command.Request, _ *bsonx.Builder) error {
			close(started)
			<-ctx.Done()
			return ctx.Err()
		},
	}
	srv := newTestServer(t, stuck)
	c := dial(t, listenTCP(t, srv))
	c.send(request(1, 0, bsonx.NewDoc("stuck", 1, "$db", "test")))
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_ = srv.Shutdown(ctx)
	if m := c.receive(); m.Body.Lookup("code").Int32() != 11600 {
		t.Errorf("%+v", m)
	}
}

func TestConnectionLimit(t *testing.T) {
	svc, err := commands.NewService(command.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	srv := New(Options{Service: svc, MaxConnections: 1})
	t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
	addr := listenTCP(t, srv)
	first := dial(t, addr)
	first.ping()
	if second := dial(t, addr); !second.closed() {
		t.Error("a connection beyond the limit stays open")
	}
	first.ping()
}

func TestMemoryConn(t *testing.T) {
	client, server := memoryPair("m", new(bufferPool))
	big := bytes.Repeat([]byte("0123456789"), pipeLimit/4) // more than the pipe holds
	go func() {
		_, _ = client.Write(big)
		_ = client.Close()
	}()
	got, err := io.ReadAll(server)
	if err != nil || !bytes.Equal(got, big) {
		t.Fatalf("%d bytes of %d: %v", len(got), len(big), err)
	}
	if _, err := server.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing to a closed end: %v", err)
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("reading from the own closed end: %v", err)
	}
}

// TestMemoryConnSizes sends small and large messages in turn. The bytes must be right, and the
// small ones must use the pipe's own buffer again.
func TestMemoryConnSizes(t *testing.T) {
	client, server := memoryPair("m", new(bufferPool))
	defer client.Close()
	pipe := client.(*memoryConn).out
	var own *byte
	for i, size := range []int{100, 4 * pipeKeep, 100, pipeKeep / 2, pipeKeep / 2, 8 * pipeKeep, 100} {
		message := bytes.Repeat([]byte{byte(i)}, size)
		for _, part := range [][]byte{message[:size/4], message[size/4:]} {
			if _, err := client.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]byte, size)
		if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, message) {
			t.Fatalf("message %d: %v", i, err)
		}
		if cap(pipe.buf) == 0 || cap(pipe.buf) > pipeKeep {
			t.Errorf("message %d leaves a buffer of %d bytes", i, cap(pipe.buf))
		}
		if size == pipeKeep/2 {
			own = &pipe.buf[:1][0]
		}
	}
	if own != &pipe.buf[:1][0] {
		t.Error("the pipe's own buffer was lost to a large message")
	}
}

// TestNextReplySize checks that the expected size shrinks slowly after a cursor's batches, but
// quickly after one large reply.
func TestNextReplySize(t *testing.T) {
	t.Parallel()
	if got := nextReplySize(nextReplySize(6000, 200), 200); got < 4096 {
		t.Errorf("%d bytes are expected after a batch of 6,000 and two small replies", got)
	}
	expected := 16 << 20
	for range 9 {
		expected = nextReplySize(expected, 200)
	}
	if expected > slowReply {
		t.Errorf("%d bytes are expected after nine small replies", expected)
	}
	if got := nextReplySize(200, 9000); got != 9000 {
		t.Errorf("%d bytes are expected after 9,000", got)
	}
}

func TestMemoryConnDeadlines(t *testing.T) {
	client, server := memoryPair("m", new(bufferPool))
	defer client.Close()
	isTimeout := func(err error) bool {
		var ne net.Error
		return errors.As(err, &ne) && ne.Timeout()
	}
	b := make([]byte, 1)
	_ = client.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	if _, err := client.Read(b); !isTimeout(err) {
		t.Errorf("read: %v", err)
	}
	if n, err := client.Write(make([]byte, pipeLimit)); err != nil || n != pipeLimit {
		t.Errorf("wrote %d into an empty pipe: %v", n, err)
	}
	_ = client.SetWriteDeadline(time.Now().Add(5 * time.Millisecond))
	if n, err := client.Write(b); !isTimeout(err) || n != 0 {
		t.Errorf("wrote %d into a full pipe: %v", n, err)
	}
	_ = client.SetDeadline(time.Now().Add(-time.Second))
	if _, err := client.Read(b); !isTimeout(err) {
		t.Errorf("read after a deadline in the past: %v", err)
	}
	_ = client.SetDeadline(time.Time{})
	if _, err := server.Write([]byte("y")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(b); err != nil || b[0] != 'y' {
		t.Errorf("after the deadline was taken away: %q %v", b, err)
	}
	go func() {
		time.Sleep(5 * time.Millisecond)
		_ = client.Close()
	}()
	if _, err := client.Read(b); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a close does not wake the reader: %v", err)
	}
}

// TestDamagedMessages sends messages with random damage. The connection must end or reply, and the
// server must continue. The parser has its own fuzz target in package wire.
func TestDamagedMessages(t *testing.T) {
	const rounds = 2000
	seed := time.Now().UnixNano()
	rnd := rand.New(rand.NewPCG(uint64(seed), 0))
	l := NewMemoryListener("damage")
	srv := newTestServer(t)
	go func() { _ = srv.Serve(context.Background(), l) }()
	connect := func() net.Conn {
		c, err := l.DialContext(context.Background(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		return c
	}
	bystander := connect()
	defer bystander.Close()
	packed, err := wire.Compress(nil, request(1, 0, ping), wire.CompressorZlib)
	if err != nil {
		t.Fatal(err)
	}
	corpus := [][]byte{
		request(1, 0, ping), append(request(1, wire.FlagMoreToCome, ping),
			request(2, wire.FlagChecksumPresent, ping)...),
		legacyQuery("admin.$cmd", bsonx.NewDoc("isMaster", 1)), packed,
	}
	for i := range rounds {
		in := bytes.Clone(corpus[rnd.IntN(len(corpus))])
		for range 1 + rnd.IntN(3) {
			in[rnd.IntN(len(in))] = byte(rnd.Uint32())
		}
		c := connect()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		_, _ = c.Write(in)
		_, _ = bystander.Write(request(1, 0, ping))
		if _, err := wire.ReadMessage(bystander, nil); err != nil {
			t.Fatalf("seed %d, round %d: the server does not answer any more: %v", seed, i, err)
		}
		_ = c.Close()
	}
}
