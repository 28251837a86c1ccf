package adversarial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/internal/wire"
	"github.com/sheafdb/sheaf/sheaftest"
)

// aborter sends commands and ends each of them early.
type aborter struct {
	t    *testing.T
	addr string
	rng  *rand.Rand
	n    *atomic.Int64
}

// message returns the message of a command. A session of zeros means that the command has no
// session.
func (a *aborter) message(session [16]byte, cmd bson.D) []byte {
	cmd = append(cmd, bson.E{"$db", "d"})
	if session != [16]byte{} {
		cmd = append(cmd, bson.E{
			"lsid",
			bson.D{{"id", bson.Binary{Subtype: 4, Data: session[:]}}},
		})
	}
	raw, err := bson.Marshal(cmd)
	if err != nil {
		a.t.Error(err)
	}
	out, start := wire.BeginMsg(nil, int32(a.n.Add(1)), 0, 0)
	return wire.FinishMsg(append(out, raw...), start)
}

func (a *aborter) dial() net.Conn {
	conn, err := net.Dial("tcp", a.addr)
	if err != nil {
		a.t.Error(err)
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(hang))
	return conn
}

// ask sends a command and reads the answer.
func (a *aborter) ask(conn net.Conn, msg []byte) bsonx.Doc {
	if _, err := conn.Write(msg); err != nil {
		a.t.Errorf("write: %v", err)
		return nil
	}
	reply, err := wire.ReadMessage(conn, nil)
	var m wire.Message
	if err == nil {
		err = wire.Parse(&m, reply)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		a.t.Errorf("read: %v", err)
	}
	return m.Body
}

// abortable returns a command that runs for long, or holds resources, or both.
func abortable(i int) bson.D {
	coll := "c"
	stages := func(stages ...any) bson.D {
		return bson.D{
			{"aggregate", coll},
			{"cursor", bson.D{}},
			{"pipeline", bson.A(stages)},
		}
	}
	long := bson.D{{"$set", bson.D{{"x", bson.D{{"$map", bson.D{
		{"input", bson.D{{"$range", bson.A{0, 20_000}}}},
		{"in", bson.D{{"$range", bson.A{0, 20}}}},
	}}}}}}}
	all := []bson.D{
		stages(long, bson.D{{"$sort", bson.D{{"x", 1}}}}),
		stages(long, bson.D{{"$group", bson.D{{"_id", "$x"}}}}),
		{{"find", coll}, {"batchSize", 1}, {"singleBatch", true}},
		{
			{"find", coll},
			{"filter", bson.D{{"$where", "for (;;) {}"}}},
			{"singleBatch", true},
		},
		{
			{"update", coll},
			{"updates", bson.A{bson.D{
				{"q", bson.D{}},
				{"u", bson.D{{"$inc", bson.D{{"n", 1}}}}},
				{"multi", true},
			}}},
		},
		{{"distinct", coll}, {"key", "n"}},
	}
	return all[i%len(all)]
}

// abort sends a random command and ends it early in one of four ways.
func (a *aborter) abort(i int) {
	conn := a.dial()
	if conn == nil {
		return
	}
	defer conn.Close()
	cmd := abortable(a.rng.IntN(1000))
	switch i % 4 {
	case 0: // the connection ends in the middle of the message
		msg := a.message([16]byte{}, cmd)
		_, _ = conn.Write(msg[:a.rng.IntN(len(msg))])
	case 1: // the client closes its connection while the command runs
		_, _ = conn.Write(a.message([16]byte{}, cmd))
		time.Sleep(time.Duration(a.rng.IntN(5)) * time.Millisecond)
	case 2: // the command exceeds its time limit
		a.ask(conn, a.message([16]byte{}, append(cmd, bson.E{"maxTimeMS", 1 + a.rng.IntN(5)})))
	default:
		a.transaction(conn)
	}
}

// transaction begins a transaction and opens a cursor in it. An error or the end of the session
// aborts the transaction.
func (a *aborter) transaction(conn net.Conn) {
	session := [16]byte{}
	for i := range session {
		session[i] = byte(a.rng.Uint32())
	}
	session[6], session[8] = session[6]&0x0F|0x40, session[8]&0x3F|0x80
	of := func(cmd bson.D) bson.D {
		return append(cmd, bson.E{"txnNumber", int64(1)}, bson.E{"autocommit", false})
	}
	insert := bson.D{{"insert", "c"}, {"documents", bson.A{bson.D{{"n", 1}}}}}
	a.ask(conn, a.message(session, append(of(insert), bson.E{"startTransaction", true})))
	cursor := bson.D{{"find", "c"}, {"batchSize", 1}}
	a.ask(conn, a.message(session, of(cursor)))
	switch a.rng.IntN(3) {
	case 0:
		a.ask(conn, a.message(session,
			append(of(bson.D{{"abortTransaction", 1}}), bson.E{"$db", "admin"})[:3]))
		fallthrough // the command fails, because it is not on the database admin
	case 1:
		a.ask(conn, a.message(session,
			of(bson.D{{"insert", "c"}, {"documents", bson.A{bson.D{{"_id", 1}}}}})))
		fallthrough
	default:
		id := bson.D{{"id", bson.Binary{Subtype: 4, Data: session[:]}}}
		a.ask(conn, a.message([16]byte{}, bson.D{{"endSessions", bson.A{id}}}))
	}
}

// traces are the open resources of a process and its server.
type traces struct {
	goroutines, descriptors, cursors, transactions, connections, operations int64
	heapMB, heldKB                                                          int64
}

func look(t *testing.T, db *mongo.Database) traces {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := db.Client().Database("admin").
		RunCommand(context.Background(), bson.D{{"serverStatus", 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	figure := func(path ...string) int64 { return raw.Lookup(path...).AsInt64() }
	return traces{
		goroutines: int64(runtime.NumGoroutine()), descriptors: int64(len(fds)),
		cursors: figure("metrics", "cursor", "open", "total"), transactions: figure("transactions", "currentOpen"),
		connections: figure("connections", "current"), operations: figure("connections", "active"),
		heapMB: int64(heapInUse() >> 20), heldKB: figure("requestMemory", "usedBytes") >> 10,
	}
}

// over lists the resources of which b has more than a, where a was measured before b. Some
// resources may grow a little, because they come and go by themselves.
func (a traces) over(b traces) string {
	var out []string
	for _, f := range []struct {
		name               string
		before, now, slack int64
	}{
		{"goroutines", a.goroutines, b.goroutines, 5},
		{"descriptors", a.descriptors, b.descriptors, 5},
		{"cursors", a.cursors, b.cursors, 0},
		{"transactions", a.transactions, b.transactions, 0},
		{"connections", a.connections, b.connections, 2},
		{"operations", a.operations, b.operations, 0},
		{"MiB of heap", a.heapMB, b.heapMB, 64},
		{"KiB held", a.heldKB, b.heldKB, 0},
	} {
		if f.now > f.before+f.slack {
			out = append(out, fmt.Sprintf("%d %s, %d before", f.now, f.name, f.before))
		}
	}
	return strings.Join(out, "; ")
}

// TestAbortedCommandsLeaveNothing ends commands early in every way. After a while all their
// resources must be released.
func TestAbortedCommandsLeaveNothing(t *testing.T) {
	torture.NeedsLong(t)
	commands := 120
	if *long {
		commands = 10_000
	}
	client := served(t, sheaftest.Open(t, nil))
	db := client.Database("d")
	docs := make([]any, 200)
	for i := range docs {
		docs[i] = bson.D{{"_id", i}, {"n", i}}
	}
	if _, err := db.Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	addr := addressOf(t, db)
	before := look(t, db)
	var left, number atomic.Int64
	left.Store(int64(commands))
	stop := killRunning(db)
	together(8, func(i int) {
		a := &aborter{t: t, addr: addr, rng: rand.New(rand.NewPCG(uint64(i), 7)), n: &number}
		for n := left.Add(-1); n >= 0; n = left.Add(-1) {
			a.abort(int(n))
		}
	})
	stop()
	var what string
	for start := time.Now(); time.Since(start) < hang; time.Sleep(100 * time.Millisecond) {
		if what = before.over(look(t, db)); what == "" {
			return
		}
	}
	var stacks bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	t.Errorf("after %d aborted commands: %s\n%.3000s", commands, what, stacks.String())
}

// addressOf returns the address at which a database is served.
func addressOf(t *testing.T, db *mongo.Database) string {
	t.Helper()
	var hello struct{ Me string }
	if err := db.RunCommand(t.Context(), bson.D{{"hello", 1}}).Decode(&hello); err != nil {
		t.Fatal(err)
	}
	return hello.Me
}

// killRunning kills all aggregates and finds of the database d again and again, until it is
// stopped.
func killRunning(db *mongo.Database) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	admin := db.Client().Database("admin")
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			var ops struct {
				InProg []struct {
					OpID int64  `bson:"opid"`
					NS   string `bson:"ns"`
				} `bson:"inprog"`
			}
			_ = admin.RunCommand(ctx, bson.D{{"currentOp", 1}}).Decode(&ops)
			for _, op := range ops.InProg {
				if op.NS == "d.c" {
					_ = admin.RunCommand(ctx, bson.D{{"killOp", 1}, {"op", op.OpID}}).Err()
				}
			}
			time.Sleep(30 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}
