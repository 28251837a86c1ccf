package sheaf_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/wire"
)

// diagnosticLoad is a served store with some data, and the load that changes its figures.
type diagnosticLoad struct {
	db      *sheaf.DB
	address string
	client  *mongo.Client // a client that connects over the network
	ended   context.Context
}

// loadConnections is how many connections the server accepts.
const loadConnections = 60

func newDiagnosticLoad(t *testing.T) *diagnosticLoad {
	t.Helper()
	db := mustOpen(t, t.TempDir(), &sheaf.Options{
		TestCommands: true, SlowOperation: time.Millisecond, Sync: sheaf.SyncDefault, MaxConnections: loadConnections,
		MemoryBudget: 8 << 20, RequestMemory: 16 << 20,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = db.Serve(context.Background(), listener) }()
	l := &diagnosticLoad{db: db, address: listener.Addr().String()}
	l.client = l.connect(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel) // this runs before the database is closed
	l.ended = ctx
	l.insert(t, 0, 50)
	l.must(t, "d", bson.D{{"createIndexes", "c"}, {"indexes", bson.A{
		bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a_1"}},
		bson.D{{"key", bson.D{{"b", 1}, {"a", 1}}}, {"name", "b_1_a_1"}},
		bson.D{{"key", bson.D{{"tags", 1}}}, {"name", "tags_1"}},
	}}})
	return l
}

// connect returns a client of the server with further options of the URI.
func (l *diagnosticLoad) connect(t *testing.T, more string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://" + l.address + "/?directConnection=true&retryReads=false" + more).
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// dial returns a connection over which a test sends handmade messages.
func (l *diagnosticLoad) dial(t *testing.T) *rawConn {
	t.Helper()
	nc, err := net.Dial("tcp", l.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(patience))
	return &rawConn{t: t, Conn: nc, db: "admin"}
}

// must runs a command over the network that must succeed.
func (l *diagnosticLoad) must(t *testing.T, db string, cmd bson.D) bson.Raw {
	t.Helper()
	raw, err := l.client.Database(db).RunCommand(t.Context(), cmd).Raw()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return raw
}

// send sends a command with a session of its own over a handmade connection. A driver would replace
// the session.
func (l *diagnosticLoad) send(t *testing.T, db string, cmd bson.D) *rawConn {
	t.Helper()
	doc, err := bson.Marshal(append(append(bson.D{}, cmd...), bson.E{"$db", db}))
	if err != nil {
		t.Fatal(err)
	}
	c := l.dial(t)
	out, start := wire.BeginMsg(nil, 1, 0, 0)
	if _, err := c.Write(wire.FinishMsg(append(out, doc...), start)); err != nil {
		t.Fatal(err)
	}
	return c
}

// inSession runs a command with its own session, or without a session. The command must end with
// the given code, where 0 means success.
func (l *diagnosticLoad) inSession(t *testing.T, db string, code int64, cmd bson.D) bsonx.Doc {
	t.Helper()
	c := l.send(t, db, cmd)
	m := c.receive()
	if errCode(m) != code {
		t.Fatalf("%v: %s", cmd, bsonx.FormatShell(bsonx.Document(m.Body)))
	}
	_ = c.Close()
	return m.Body
}

// fails runs a command that must fail with a code; 0 means any code.
func (l *diagnosticLoad) fails(t *testing.T, db string, code int, cmd bson.D) {
	t.Helper()
	err := l.client.Database(db).RunCommand(t.Context(), cmd).Err()
	var e mongo.ServerError
	if !errors.As(err, &e) || code != 0 && !e.HasErrorCode(code) {
		t.Fatalf("%v: %v, want code %d", cmd, err, code)
	}
}

func (l *diagnosticLoad) set(t *testing.T, name string, v any) {
	t.Helper()
	l.must(t, "admin", bson.D{{"setParameter", 1}, {name, v}})
}

// status returns a number of serverStatus.
func (l *diagnosticLoad) status(t *testing.T, path ...string) int64 {
	t.Helper()
	return mustRun(t, l.db.Client().Database("admin"), "serverStatus", 1).Lookup(path...).AsInt64()
}

// await waits until a number of serverStatus is at least n.
func (l *diagnosticLoad) await(t *testing.T, n int64, path ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); l.status(t, path...) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not %d in time", strings.Join(path, "."), n)
		}
	}
}

func (l *diagnosticLoad) insert(t *testing.T, from, to int) {
	t.Helper()
	var docs []any
	for i := from; i < to; i++ {
		docs = append(docs, bson.D{
			{"_id", i},
			{"a", i % 10},
			{"b", i},
			{"tags", bson.A{i % 10, i % 10, i % 7}},
			{"pad", strings.Repeat(fmt.Sprint(i*7919), 40)},
		})
	}
	if _, err := l.client.Database("d").Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// run runs the load. Cursors, transactions and operations that are open at its end stay open until
// the test ends.
func (l *diagnosticLoad) run(t *testing.T) {
	t.Helper()
	l.refusals(t)
	l.write(t)
	l.read(t)
	l.replan(t)
	l.others(t)
	l.transactions(t)
	l.retries(t)
	l.concerns(t)
	l.cursors(t)
	l.limits(t)
	l.failures(t)
	l.catalog(t)
	l.compression(t)
	l.expire(t)
	l.must(t, "admin", bson.D{{"replSetResizeOplog", 1}, {"size", 1000}, {"minRetentionHours", 1}})
	l.must(t, "admin", bson.D{{"replSetStepDown", 1}, {"force", true}})
	l.hold(t)
}

func (l *diagnosticLoad) write(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	c := l.client.Database("d").Collection("c")
	l.insert(t, 50, 6000)
	if _, err := c.UpdateMany(ctx, bson.D{{"a", 3}}, bson.D{{"$inc", bson.D{{"b", 1}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteMany(ctx, bson.D{{"a", 4}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReplaceOne(ctx, bson.D{{"_id", -1}}, bson.D{{"z", 1}},
		options.Replace().SetUpsert(true)); err != nil {
		t.Fatal(err)
	}
	l.must(t, "d", bson.D{
		{"insert", "c"},
		{"documents", bson.A{bson.D{{"_id", -2}}}},
		{"writeConcern", bson.D{{"w", 1}}},
	})
}

func (l *diagnosticLoad) read(t *testing.T) {
	t.Helper()
	c := l.client.Database("d").Collection("c")
	for i := range 5 {
		for range 5 {
			l.all(t, c, bson.D{{"a", 3}, {"b", bson.D{{"$lt", 200 * i}}}}, nil)
		}
	}
	l.all(t, c, bson.D{{"_id", 7}}, nil)
	l.all(t, c, bson.D{{"tags", bson.D{{"$gte", 0}}}}, options.Find().SetHint("tags_1"))
	l.all(t, c, bson.D{{"pad", "none"}}, options.Find().SetSort(bson.D{{"pad", 1}}))
	l.all(t, c, bson.D{}, options.Find().SetSort(bson.D{{"pad", 1}}))
}

func (l *diagnosticLoad) all(t *testing.T, c *mongo.Collection, filter bson.D, opts *options.FindOptionsBuilder) {
	t.Helper()
	cursor, err := c.Find(t.Context(), filter, opts)
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.Raw
	if err := cursor.All(t.Context(), &docs); err != nil {
		t.Fatal(err)
	}
}

// inTransaction runs a command in a transaction. Then it runs the command end, which ends the
// transaction, unless end is "".
func (l *diagnosticLoad) inTransaction(t *testing.T, concern, cmd bson.D, end string) (fields bson.D) {
	t.Helper()
	fields = newSession(bson.E{"autocommit", false})
	first := append(append(append(bson.D{}, cmd...), fields...), bson.E{"startTransaction", true})
	if concern != nil {
		first = append(first, bson.E{"readConcern", concern})
	}
	l.inSession(t, "d", 0, first)
	if end != "" {
		l.inSession(t, "admin", 0, append(bson.D{{end, 1}}, fields...))
	}
	return fields
}

// newSession returns the fields that a command needs to begin the first transaction of a new
// session.
func newSession(more ...bson.E) bson.D {
	var id [16]byte
	_, _ = rand.Read(id[:])
	return append(bson.D{
		{"lsid", bson.D{{"id", bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id[:]}}}},
		{"txnNumber", int64(1)},
	}, more...)
}

// transactions commits a transaction, aborts another one, and makes two transactions conflict.
func (l *diagnosticLoad) transactions(t *testing.T) {
	t.Helper()
	insert := bson.D{{"insert", "t"}, {"documents", bson.A{bson.D{{"x", 1}}}}}
	l.inTransaction(t, nil, insert, "commitTransaction")
	l.inTransaction(t, nil, insert, "abortTransaction")
	update := bson.D{{"update", "c"}, {"updates", bson.A{
		bson.D{{"q", bson.D{{"_id", 5}}}, {"u", bson.D{{"$inc", bson.D{{"n", 1}}}}}},
	}}}
	first := l.inTransaction(t, nil, update, "")
	l.inSession(t, "d", 112, append(append(bson.D{}, update...),
		newSession(bson.E{"autocommit", false}, bson.E{"startTransaction", true})...))
	// A write outside of transactions waits for the first transaction.
	done := make(chan error, 1)
	go func() { done <- l.client.Database("d").RunCommand(l.ended, update).Err() }()
	l.await(t, 1, "storage", "transactions", "lockWaits")
	l.inSession(t, "admin", 0, append(bson.D{{"abortTransaction", 1}}, first...))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// retries sends a retryable write twice, like a driver that lost the reply.
func (l *diagnosticLoad) retries(t *testing.T) {
	t.Helper()
	for _, cmd := range []bson.D{
		{{"insert", "t"}, {"documents", bson.A{bson.D{{"_id", "once"}}}}},
		{{"findAndModify", "t"}, {"query", bson.D{{"_id", "once"}}}, {"remove", true}},
	} {
		cmd = append(cmd, newSession()...)
		l.inSession(t, "d", 0, cmd)
		l.inSession(t, "d", 0, cmd)
	}
}

// concerns reads with each read concern, outside of transactions and in a transaction. The read
// concern comes from the command or from the default.
func (l *diagnosticLoad) concerns(t *testing.T) {
	t.Helper()
	find := bson.D{{"find", "c"}, {"limit", 1}}
	with := func(level bson.D) bson.D {
		return append(append(bson.D{}, find...), bson.E{"readConcern", level})
	}
	l.must(t, "d", find)
	l.inTransaction(t, nil, find, "commitTransaction")
	for _, level := range []string{"local", "available", "majority", "snapshot", "linearizable"} {
		concern := bson.D{{"level", level}}
		reply := l.must(t, "d", with(concern))
		inside := level == "local" || level == "majority" || level == "snapshot"
		if inside {
			l.inTransaction(t, concern, find, "commitTransaction")
		}
		if level == "snapshot" {
			at := append(concern, bson.E{"atClusterTime", reply.Lookup("$clusterTime", "clusterTime")})
			l.must(t, "d", with(at))
			l.inTransaction(t, at, find, "commitTransaction")
		}
		if level == "snapshot" || level == "linearizable" {
			continue
		}
		l.must(t, "admin", bson.D{{"setDefaultRWConcern", 1}, {"defaultReadConcern", concern}})
		l.must(t, "d", find)
		l.inTransaction(t, nil, find, "commitTransaction")
	}
}

// cursors lets a cursor time out.
func (l *diagnosticLoad) cursors(t *testing.T) {
	t.Helper()
	l.set(t, "cursorTimeoutMillis", 1)
	l.must(t, "d", bson.D{{"find", "c"}, {"batchSize", 1}})
	l.await(t, 1, "metrics", "cursor", "timedOut")
	l.set(t, "cursorTimeoutMillis", 600_000)
}

// sleeps returns a find whose predicate takes a second for each of thousands of documents.
func sleeps(more ...bson.E) bson.D {
	return append(bson.D{{"find", "c"}, {"filter", bson.D{{"$where", "sleep(1000); true"}}}}, more...)
}

// limits runs operations that end early: by their time limit, by the default time limit, and
// because their client has gone.
func (l *diagnosticLoad) limits(t *testing.T) {
	t.Helper()
	l.fails(t, "d", 50, sleeps(bson.E{"maxTimeMS", 20}))
	limit := func(ms int) {
		l.must(t, "admin", bson.D{{
			"setClusterParameter",
			bson.D{{"defaultMaxTimeMS", bson.D{{"readOperations", ms}}}},
		}})
	}
	limit(20)
	l.fails(t, "d", 50, sleeps())
	limit(0)
	gone := l.dial(t)
	gone.db = "d"
	gone.send(0, "find", "c", "filter", bsonx.NewDoc("$where", "sleep(1000); true"))
	l.await(t, 2, "connections", "active")
	_ = gone.Close()
	l.await(t, 1, "metrics", "operation", "killedDueToClientDisconnect")
}

// failures runs commands that fail for each kind of reason: a mistake of the user, a lack of
// memory, and a fault of the server.
func (l *diagnosticLoad) failures(t *testing.T) {
	t.Helper()
	l.fails(t, "d", 2, bson.D{{"find", "c"}, {"filter", bson.D{{"$none", 1}}}})
	l.fails(t, "d", 59, bson.D{{"noSuchCommand", 1}})
	l.fails(t, "d", 48, bson.D{{"create", "c"}, {"capped", true}, {"size", 4096}})
	group := bson.D{{"_id", nil}}
	for i := range 8 {
		group = append(group, bson.E{fmt.Sprint("all", i), bson.D{{"$push", bson.D{{"d", "$$ROOT"}, {"i", i}}}}})
	}
	l.fails(t, "d", 146, bson.D{
		{"aggregate", "c"},
		{"cursor", bson.D{}},
		{"pipeline", bson.A{bson.D{{"$group", group}}}},
	})
	l.must(t, "admin", bson.D{
		{"configureFailPoint", "failCommand"},
		{"mode", bson.D{{"times", 1}}},
		{"data", bson.D{{"failCommands", bson.A{"ping"}}, {"errorCode", 1}}},
	})
	l.fails(t, "d", 1, bson.D{{"ping", 1}})
	commands, err := l.must(t, "admin", bson.D{{"listCommands", 1}}).Lookup("commands").Document().Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range commands {
		l.failOnce(t, e.Key())
	}
}

// failOnce makes a command fail after it was parsed, because only such a failure is counted.
func (l *diagnosticLoad) failOnce(t *testing.T, name string) {
	t.Helper()
	if name == "configureFailPoint" { // no fail point can stop this command
		l.fails(t, "admin", 0, bson.D{{name, "none"}, {"mode", "off"}})
		return
	}
	l.must(t, "admin", bson.D{
		{"configureFailPoint", "failCommand"},
		{"mode", bson.D{{"times", 1}}},
		{"data", bson.D{{"failCommands", bson.A{name}}, {"errorCode", 1}, {"failInternalCommands", true}}},
	})
	l.fails(t, "admin", 1, bson.D{{name, 1}})
}

// refusals opens more connections than the server allows, and more per second than the server
// allows.
func (l *diagnosticLoad) refusals(t *testing.T) {
	t.Helper()
	var open []*rawConn
	for range loadConnections + 1 {
		open = append(open, l.dial(t))
	}
	l.await(t, 1, "connections", "rejected")
	for _, c := range open {
		_ = c.Close()
	}
	for deadline := time.Now().
		Add(patience); l.status(t, "connections", "current") > loadConnections/2 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	rate := func(name string, v any) { l.set(t, "ingressConnectionEstablishment"+name, v) }
	rate("RatePerSec", 1)
	rate("BurstCapacitySecs", 1)
	rate("RateLimiterEnabled", true)
	queue := []string{"queues", "ingressSessionEstablishment"}
	for deadline := time.Now().
		Add(patience); l.status(t, append(queue, "rejectedAdmission")...) == 0 && time.Now().Before(deadline); {
		_ = l.dial(t).Close()
	}
	rate("MaxQueueDepth", 100)
	for deadline := time.Now().
		Add(patience); l.status(t, append(queue, "addedToQueue")...) == 0 && time.Now().Before(deadline); {
		_ = l.dial(t).Close()
	}
	l.await(t, 1, append(queue, "removedFromQueue")...)
	embedded, err := mongo.Connect(l.db.ClientOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = embedded.Disconnect(context.Background()) }()
	if err := embedded.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	rate("RateLimiterEnabled", false)
}

// hold opens cursors, transactions, and operations that run or wait, because gauges count them.
func (l *diagnosticLoad) hold(t *testing.T) {
	t.Helper()
	l.must(t, "d", bson.D{{"find", "c"}, {"batchSize", 1}})
	l.must(t, "d", bson.D{{"find", "c"}, {"batchSize", 1}, {"noCursorTimeout", true}, {"sort", bson.D{{"pad", 1}}}})
	insert := bson.D{{"insert", "t"}, {"documents", bson.A{bson.D{{"x", 1}}}}}
	l.inTransaction(t, nil, insert, "")
	running := l.inTransaction(t, nil, insert, "")
	l.send(t, "d", sleeps(running...))
	l.await(t, 1, "transactions", "currentActive")
	stream := l.inSession(t, "d", 0, bson.D{{"aggregate", "quiet"}, {"cursor", bson.D{}}, {"pipeline", bson.A{
		bson.D{{"$changeStream", bson.D{}}},
	}}})
	id, _ := stream.LookupPath("cursor", "id").AsInt64()
	l.send(t, "d", bson.D{
		{"getMore", id},
		{"collection", "quiet"},
		{"maxTimeMS", 10 * patience.Milliseconds()},
	})
	l.await(t, 1, "metrics", "cursor", "open", "pinned")
	hello := l.dial(t)
	version := hello.run("hello", 1).Lookup("topologyVersion")
	hello.send(wire.FlagExhaustAllowed, "hello", 1, "topologyVersion", version,
		"maxAwaitTimeMS", 10*patience.Milliseconds())
	l.await(t, 1, "connections", "awaitingTopologyChanges")
	l.start(t, "d", bson.D{{"update", "c"}, {"updates", bson.A{
		bson.D{{"q", bson.D{{"$where", "sleep(1000); false"}}}, {"u", bson.D{{"$set", bson.D{{"x", 1}}}}}},
	}}})
	l.await(t, 1, "globalLock", "activeClients", "writers")
}

// lock blocks writers, so that one of them waits.
func (l *diagnosticLoad) lock(t *testing.T) {
	t.Helper()
	l.must(t, "admin", bson.D{{"killOp", 1}, {"op", l.writer(t)}})
	l.must(t, "admin", bson.D{{"fsync", 1}, {"lock", true}})
	t.Cleanup(func() {
		_ = l.db.Client().Database("admin").RunCommand(context.Background(), bson.D{{"fsyncUnlock", 1}}).Err()
	})
	l.start(t, "d", bson.D{{"insert", "t"}, {"documents", bson.A{bson.D{{"x", 1}}}}})
	l.await(t, 1, "globalLock", "currentQueue", "writers")
}

// writer returns the opid of the update that waits.
func (l *diagnosticLoad) writer(t *testing.T) int64 {
	t.Helper()
	values, err := mustRun(t, l.db.Client().Database("admin"), "currentOp", 1, "op", "update").
		Lookup("inprog").Array().Values()
	if err != nil || len(values) != 1 {
		t.Fatalf("%d updates are running: %v", len(values), err)
	}
	return values[0].Document().Lookup("opid").AsInt64()
}

// endSession opens a cursor in a session, and then ends the session.
func (l *diagnosticLoad) endSession(t *testing.T) {
	t.Helper()
	session := newSession()[:1]
	l.inSession(t, "d", 0, append(bson.D{{"find", "c"}, {"batchSize", 1}}, session...))
	l.inSession(t, "admin", 0, bson.D{{"endSessions", bson.A{session[0].Value}}})
}

// start runs a command that does not end by itself before the test ends.
func (l *diagnosticLoad) start(t *testing.T, db string, cmd bson.D) {
	t.Helper()
	client, done := l.connect(t, ""), make(chan struct{})
	ctx, cancel := context.WithCancel(l.ended)
	go func() {
		defer close(done)
		_ = client.Database(db).RunCommand(ctx, cmd).Err()
	}()
	t.Cleanup(func() { cancel(); <-done })
}
