package adversarial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/wire"
)

const (
	// containerBytes is the memory that the server under attack may use.
	containerBytes = 512 << 20
	// attackers is the number of connections that attack at the same time.
	attackers = 16
	// pingBound is how long a ping may take during an attack, on a busy machine.
	pingBound = 10 * time.Second
)

// together runs fn on n goroutines.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// memoryAttack is an attack that takes much memory. It gets a client, and a collection of its own.
type memoryAttack struct {
	name string
	run  func(t *testing.T, c *container, coll *mongo.Collection)
}

// insertMessage returns an insert message with n documents of the given size.
func insertMessage(n, size int) []byte {
	out, start := wire.BeginMsg(nil, 1, 0, 0)
	out = append(out, bsonx.NewDoc("insert", "messages", "$db", "d")...)
	docs := make([]bsonx.Doc, n)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", bsonx.ObjectID(bson.NewObjectID()), "p", strings.Repeat("x", size))
	}
	return wire.FinishMsg(wire.AppendSequence(out, "documents", docs...), start)
}

// sendEach sends an insert message on each of the attackers' connections at the same time, and
// reads the replies. Each message has n documents of the given size, 47 MB in total.
func sendEach(t *testing.T, c *container, compressor wire.Compressor, n, size int) {
	t.Helper()
	// The messages are built one after another before the attack. Otherwise the pings would wait
	// for this process, and not for the server.
	var msgs [attackers][]byte
	for i := range msgs {
		msg, err := wire.Compress(nil, insertMessage(n, size), compressor)
		if err != nil {
			t.Fatal(err)
		}
		msgs[i] = msg
	}
	var done atomic.Int64
	together(attackers, func(i int) {
		conn := c.dial(t)
		if conn == nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(3 * time.Minute))
		if _, err := conn.Write(msgs[i]); err != nil {
			t.Errorf("write: %v", err)
			return
		}
		reply, err := wire.ReadMessage(conn, nil)
		if err != nil {
			t.Errorf("read: %v", err)
			return
		}
		var m wire.Message
		if err := wire.Parse(&m, reply); err != nil {
			t.Error(err)
		} else if ok, _ := m.Body.Lookup("ok").AsFloat64(); ok == 1 && m.Body.Lookup("writeErrors").IsMissing() {
			done.Add(1)
		}
	})
	if t.Logf("%d of %d were done", done.Load(), attackers); done.Load() == 0 {
		t.Error("a message that waits its turn must be done")
	}
}

func stalled(t *testing.T, c *container, _ *mongo.Collection) {
	msg := insertMessage(46, 1_000_000)
	conns := make(chan net.Conn, attackers)
	// The server does not read from a connection that waits for its share of memory. So the write
	// to this connection blocks, too.
	together(attackers, func(int) {
		conn := c.dial(t)
		if conn == nil {
			return
		}
		_ = conn.SetWriteDeadline(time.Now().Add(3 * time.Second))
		_, _ = conn.Write(msg[:40_000_000])
		conns <- conn
	})
	close(conns)
	for conn := range conns {
		_ = conn.Close()
	}
}

func fetchLarge(t *testing.T, _ *container, coll *mongo.Collection) {
	doc := bson.D{{"p", strings.Repeat("x", 1_000_000)}}
	for range 20 {
		if _, err := coll.InsertOne(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
	together(2*attackers, func(int) {
		for range 5 {
			cur, err := coll.Find(t.Context(), bson.D{})
			if err != nil {
				continue
			}
			var raw []bson.Raw
			_ = cur.All(t.Context(), &raw)
		}
	})
}

func commandEach(cmds ...string) func(*testing.T, *container, *mongo.Collection) {
	return func(t *testing.T, _ *container, coll *mongo.Collection) {
		if _, err := coll.InsertOne(t.Context(), bson.D{{"a", 1}}); err != nil {
			t.Fatal(err)
		}
		together(attackers, func(i int) {
			cmd := bsonxtest.ParseD(t, strings.ReplaceAll(cmds[i%len(cmds)], "COLL", coll.Name()))
			_ = coll.Database().RunCommand(t.Context(), append(cmd, bson.E{"maxTimeMS", 20_000})).Err()
		})
	}
}

func manyKeys(t *testing.T, _ *container, coll *mongo.Collection) {
	elements := make(bson.A, 1_000_000)
	for i := range elements {
		elements[i] = int32(i)
	}
	raw, err := bson.Marshal(bson.D{{"a", elements}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = coll.Indexes().CreateMany(t.Context(), []mongo.IndexModel{
		{Keys: bson.D{{"a", 1}}},
		{Keys: bson.D{{"a", -1}}},
		{Keys: bson.D{{"a", 1}, {"b", 1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	together(attackers/4, func(int) { _, _ = coll.InsertOne(t.Context(), bson.Raw(raw)) })
}

func nestedUnions(t *testing.T, _ *container, coll *mongo.Collection) {
	db := coll.Database()
	if _, err := coll.InsertOne(t.Context(), bson.D{{"a", 1}}); err != nil {
		t.Fatal(err)
	}
	below := coll.Name()
	for i := range 18 {
		name := fmt.Sprintf("union%d", i)
		union := mongo.Pipeline{{{"$unionWith", below}}}
		if err := db.CreateView(t.Context(), name, below, union); err != nil {
			t.Fatal(err)
		}
		below = name
	}
	together(attackers, func(int) {
		cur, err := db.Collection(below).
			Find(t.Context(), bson.D{}, options.Find().SetSort(bson.D{{"a", 1}}))
		if err == nil {
			_ = cur.Close(t.Context())
		}
	})
}

func manyStreams(t *testing.T, _ *container, coll *mongo.Collection) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	go func() {
		doc := bson.D{{"p", strings.Repeat("x", 1_000_000)}}
		for range 40 {
			_, _ = coll.InsertOne(ctx, doc)
		}
	}()
	together(400, func(int) {
		stream, err := coll.Watch(ctx, mongo.Pipeline{})
		if err != nil {
			return
		}
		defer stream.Close(context.Background())
		for stream.Next(ctx) {
		}
	})
}

func manyCursors(t *testing.T, _ *container, coll *mongo.Collection) {
	if _, err := coll.InsertMany(t.Context(), []any{bson.D{}, bson.D{}, bson.D{}}); err != nil {
		t.Fatal(err)
	}
	opened := 0
	var mu sync.Mutex
	together(attackers, func(int) {
		for range 50_000 / attackers {
			cmd := bson.D{
				{"find", coll.Name()},
				{"batchSize", 1},
				{"noCursorTimeout", true},
			}
			if coll.Database().RunCommand(t.Context(), cmd).Err() != nil {
				return
			}
			mu.Lock()
			opened++
			mu.Unlock()
		}
	})
	t.Logf("%d cursors", opened)
	_ = coll.Drop(t.Context())
}

func largeTransactions(t *testing.T, c *container, coll *mongo.Collection) {
	if err := coll.Database().CreateCollection(t.Context(), coll.Name()); err != nil {
		t.Fatal(err)
	}
	doc := bson.D{{"p", strings.Repeat("x", 1_000_000)}}
	together(attackers, func(int) {
		session, err := coll.Database().Client().StartSession()
		if err != nil {
			t.Error(err)
			return
		}
		defer session.EndSession(context.Background())
		_ = session.StartTransaction()
		ctx := mongo.NewSessionContext(t.Context(), session)
		for range 200 {
			if _, err := coll.InsertOne(ctx, doc); err != nil {
				break
			}
		}
		_ = session.AbortTransaction(t.Context())
	})
}

// explainLarge explains finds with many values and several possible plans. The reply repeats the
// values for each plan.
func explainLarge(t *testing.T, _ *container, coll *mongo.Collection) {
	var indexes []mongo.IndexModel
	for _, name := range []string{"b", "c", "d", "e"} {
		indexes = append(indexes, mongo.IndexModel{Keys: bson.D{{"a", 1}, {name, 1}}})
	}
	if _, err := coll.Indexes().CreateMany(t.Context(), indexes); err != nil {
		t.Fatal(err)
	}
	values := make(bson.A, 300_000)
	for i := range values {
		values[i] = fmt.Sprintf("value %012d", i)
	}
	find := bson.D{
		{"find", coll.Name()},
		{"filter", bson.D{{"a", bson.D{{"$in", values}}}}},
	}
	cmd, err := bson.Marshal(bson.D{{"explain", find}, {"verbosity", "allPlansExecution"}})
	if err != nil {
		t.Fatal(err)
	}
	codes, mu := map[int32]int{}, sync.Mutex{}
	together(attackers, func(int) {
		var refused mongo.CommandError
		if err := coll.Database().RunCommand(t.Context(), bson.Raw(cmd)).
			Err(); err != nil && !errors.As(err, &refused) {
			t.Error(err)
		}
		mu.Lock()
		codes[refused.Code]++
		mu.Unlock()
	})
	t.Logf("codes %v", codes)
}

// filterEach returns an attack that sends finds with large filters to a collection with several
// indexes.
func filterEach(filters ...bson.D) func(*testing.T, *container, *mongo.Collection) {
	return func(t *testing.T, _ *container, coll *mongo.Collection) {
		var indexes []mongo.IndexModel
		for _, name := range []string{"b", "c", "d"} {
			indexes = append(indexes, mongo.IndexModel{Keys: bson.D{{"a", 1}, {name, 1}}},
				mongo.IndexModel{Keys: bson.D{
					{"a", 1},
					{name, 1},
					{"p", "2dsphere"},
				}})
		}
		if _, err := coll.Indexes().CreateMany(t.Context(), indexes); err != nil {
			t.Fatal(err)
		}
		point := geometry("Point", bson.A{1, 1})
		for i := range 200 {
			if _, err := coll.InsertOne(t.Context(),
				bson.D{{"a", i}, {"b", i}, {"p", point}}); err != nil {
				t.Fatal(err)
			}
		}
		for i, f := range filters {
			cmd, err := bson.Marshal(bson.D{
				{"find", coll.Name()},
				{"filter", f},
				{"batchSize", 1},
				{"maxTimeMS", 20_000},
			})
			if err != nil {
				t.Fatal(err)
			}
			codes := attackTogether(t, coll.Database(), fmt.Sprint(i), bson.Raw(cmd))
			t.Logf("filter %d of %d bytes: codes %v", i, len(cmd), codes)
		}
	}
}

// wideFilters are filters of about 15 MB.
func wideFilters() []bson.D {
	or := func(n int, branch func(i int) any) bson.D { return is("$or", many(n, branch)) }
	return []bson.D{
		or(500_000, func(i int) any { return is("a", i) }),
		or(300_000, func(i int) any { return is("a", is("$gt", i)) }),
		or(200_000, func(i int) any { return bson.D{{"a", i}, {"b", is("$lt", i)}} }),
		or(300_000, func(i int) any { return is(fmt.Sprint("f", i), is("$exists", true)) }),
		is("$and", many(300_000, func(i int) any { return is("a", is("$ne", i)) })),
		is("$and", many(300_000, func(i int) any { return is(fmt.Sprint("f", i), is("$gt", i)) })),
		is("$nor", many(300_000, func(i int) any { return is("a", is("$lt", -i)) })),
		manyFields(600_000, func(i int) any { return int32(i) }),
		is("a", is("$nin", many(900_000, func(i int) any { return int32(i + 1000) }))),
		is("a", is("$bitsAllSet", bson.Binary{Data: bytes.Repeat([]byte{0xff}, 15_000_000)})),
		is("a", is("$bitsAnyClear", many(1_000_000, func(i int) any { return int32(i) }))),
	}
}

// nearFilters returns searches by distance with many values of another field of the index.
func nearFilters() []bson.D {
	near := bson.E{"p", is("$nearSphere", is("$geometry", geometry("Point", bson.A{1, 1})))}
	values := many(900_000, func(i int) any { return int32(i) })
	texts := many(300_000, func(i int) any { return fmt.Sprintf("value %022d", i) })
	return []bson.D{
		{{"a", is("$in", values)}, near},
		{{"a", is("$in", texts)}, near},
		{{"a", is("$in", values[:400_000])}, {"b", is("$in", values[400_000:])}, near},
	}
}

// memoryAttacks returns requests that once exhausted a server's memory.
func memoryAttacks() []memoryAttack {
	return []memoryAttack{
		{"messages", func(t *testing.T, c *container, _ *mongo.Collection) {
			sendEach(t, c, wire.CompressorNone, 46, 1_000_000)
		}},
		{"messages of large documents", func(t *testing.T, c *container, _ *mongo.Collection) {
			sendEach(t, c, wire.CompressorNone, 3, 15_600_000)
		}},
		{"compressed messages", func(t *testing.T, c *container, _ *mongo.Collection) {
			for _, name := range []string{"snappy", "zlib", "zstd"} {
				id, _ := wire.CompressorByName(name)
				sendEach(t, c, id, 46, 1_000_000)
			}
		}},
		{"stalled messages", stalled},
		{"large replies", fetchLarge},
		{"where that doubles", commandEach(`{"find": "COLL", "filter": {"$where": "var s = 'xxxxxxxxxxxxxxxx'; for (;;) { s += s; }"}}`)},
		{"many keys", manyKeys},
		{"nested unions", nestedUnions},
		{"change streams", manyStreams},
		{"cursors", manyCursors},
		{"transactions", largeTransactions},
		{"explanations", explainLarge},
		{"wide filters", filterEach(wideFilters()...)},
		{"near", filterEach(nearFilters()...)},
	}
}

// TestMemoryOfAttacks runs each attack in a container. The server must survive, stay within its
// memory, and reply to a ping.
func TestMemoryOfAttacks(t *testing.T) {
	needsLong(t)
	for _, a := range memoryAttacks() {
		t.Run(a.name, func(t *testing.T) {
			c := startContainer(t)
			coll := c.client(t).Database("d").Collection("c")
			stop := c.watchPings(t)
			a.run(t, c, coll)
			stop()
			peak := c.status(t, "VmHWM")
			t.Logf("peak %d MiB", peak>>20)
			if peak > containerBytes {
				t.Errorf("the server took %d MiB", peak>>20)
			}
			if _, err := coll.InsertOne(t.Context(), bson.D{{"after", true}}); err != nil {
				t.Errorf("after the attack: %v", err)
			}
		})
	}
}
