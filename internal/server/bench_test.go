package server

import (
	"bytes"
	"context"
	"net"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/wire"
)

// floorServer replies to every message with a constant and does nothing else. It shows the best
// possible result with this transport and driver.
func floorServer(l net.Listener, hello, ok []byte) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		go floorConn(nc, hello, ok)
	}
}

func floorConn(nc net.Conn, hello, ok []byte) {
	defer nc.Close()
	buf := make([]byte, 0, 64<<10)
	out := make([]byte, 0, 4<<10)
	var msg wire.Message
	for {
		var err error
		if buf, err = readFloor(nc, buf); err != nil {
			return
		}
		if wire.Parse(&msg, buf) != nil {
			return
		}
		body := ok
		if msg.Legacy || string(msg.Body.First().Key) == "hello" {
			body = hello
		}
		var start int
		if msg.Legacy {
			out, start = wire.BeginReply(out[:0], 1, msg.RequestID)
			out = wire.FinishReply(append(out, body...), start)
		} else {
			out, start = wire.BeginMsg(out[:0], 1, msg.RequestID, 0)
			out = wire.FinishMsg(append(out, body...), start)
		}
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

// readFloor reads with one call if a message arrives complete.
func readFloor(nc net.Conn, buf []byte) ([]byte, error) {
	n, err := nc.Read(buf[:cap(buf)])
	if err != nil || n < wire.HeaderLen {
		return buf[:0], err
	}
	h, err := wire.ParseHeader(buf[:n])
	if err != nil {
		return buf[:0], err
	}
	return wire.ReadRest(nc, buf[:n], int(h.Length))
}

func floorReplies(b *testing.B) (hello, ok []byte) {
	b.Helper()
	hello, err := bson.Marshal(bson.D{
		{"isWritablePrimary", true},
		{"ismaster", true},
		{"helloOk", true},
		{"maxBsonObjectSize", int32(16 << 20)},
		{"maxMessageSizeBytes", int32(48000000)},
		{"maxWriteBatchSize", int32(100000)},
		{"logicalSessionTimeoutMinutes", int32(30)},
		{"minWireVersion", int32(0)},
		{"maxWireVersion", int32(25)},
		{"ok", 1.0},
	})
	if err != nil {
		b.Fatal(err)
	}
	ok, err = bson.Marshal(bson.D{{"ok", 1.0}})
	if err != nil {
		b.Fatal(err)
	}
	return hello, ok
}

// BenchmarkPing measures the official driver's ping against this server and against the floor, over
// both transports.
func BenchmarkPing(b *testing.B) {
	transports := map[string]func(b *testing.B) (net.Listener, options.ContextDialer){
		"tcp": func(b *testing.B) (net.Listener, options.ContextDialer) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			return l, &tcpDialer{l.Addr().String()}
		},
		"memory": func(*testing.B) (net.Listener, options.ContextDialer) {
			l := NewMemoryListener("bench")
			return l, l
		},
	}
	for _, transport := range []string{"tcp", "memory"} {
		for _, kind := range []string{"floor", "sheaf"} {
			for _, clients := range []int{1, 16} {
				name := transport + "/" + kind + "/clients=" + map[int]string{1: "1", 16: "16"}[clients]
				b.Run(name, func(b *testing.B) {
					l, dialer := transports[transport](b)
					defer l.Close()
					if kind == "floor" {
						hello, ok := floorReplies(b)
						go floorServer(l, hello, ok)
					} else {
						srv := newTestServer(b)
						go func() { _ = srv.Serve(context.Background(), l) }()
					}
					benchPing(b, dialer, clients)
				})
			}
		}
	}
}

type tcpDialer struct{ addr string }

func (d *tcpDialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	var nd net.Dialer
	return nd.DialContext(ctx, "tcp", d.addr)
}

func benchPing(b *testing.B, dialer options.ContextDialer, clients int) {
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://bench.invalid:1/?directConnection=true").SetDialer(dialer))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	ctx := context.Background()
	db := client.Database("admin")
	ping := bson.D{{"ping", 1}}
	if err := db.RunCommand(ctx, ping).Err(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan error, clients)
	each := b.N / clients
	for range clients {
		go func() {
			for range each + 1 {
				if err := db.RunCommand(ctx, ping).Err(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ping/s")
}

// BenchmarkReplies measures replies of 256 KiB, the size of batches of documents, over both
// transports. It shows the cost of the buffers.
func BenchmarkReplies(b *testing.B) {
	piece := bytes.Repeat([]byte("x"), 1<<10)
	large := command.Definition{
		Name: "large",
		Run: func(_ context.Context, _ *command.Request, reply *bsonx.Builder) error {
			reply.StartArrayField("batch")
			for range 256 {
				reply.Grow(len(piece) + 16)
				reply.Elem(bsonx.String(string(piece)))
			}
			reply.End()
			return nil
		},
	}
	memory := NewMemoryListener("bench")
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	for _, transport := range []struct {
		name   string
		l      net.Listener
		dialer options.ContextDialer
	}{{"tcp", tcp, &tcpDialer{tcp.Addr().String()}}, {"memory", memory, memory}} {
		b.Run(transport.name, func(b *testing.B) {
			srv := newTestServer(b, large)
			go func() { _ = srv.Serve(context.Background(), transport.l) }()
			client, err := mongo.Connect(options.Client().
				ApplyURI("mongodb://bench.invalid:1/?directConnection=true").SetDialer(transport.dialer))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = client.Disconnect(context.Background()) }()
			b.ReportAllocs()
			for b.Loop() {
				if err := client.Database("bench").
					RunCommand(context.Background(), bson.D{{"large", 1}}).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
