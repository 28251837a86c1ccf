package crashtest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/storage/pebble/crashdisk"
	"github.com/sheafdb/sheaf/internal/torture"
)

// Power is lost at any moment: the disk keeps all synced data, and any part of the rest.

const (
	lossyClients = 5
	lossDB       = "loss"
	// generations is the number of power losses of a disk before it is replaced by a new one,
	// because disks are in memory.
	generations = 25
)

type lossyKind int

const (
	lossyUpdate lossyKind = iota
	lossyModify
	lossyTransaction
	lossyInsert
	lossyKinds
)

// lossyOp is the k-th operation of a client, with the transaction number k. Each operation except
// insertions adds 1 to the client's counter, and stores k there. Transactions also insert into a
// and b.
type lossyOp struct {
	kind lossyKind
	docs int // number of documents of an insertion
}

// lossy is a client with a session.
type lossy struct {
	t    *testing.T
	id   int32
	rng  *rand.Rand
	lsid bson.D
	link *link

	mu sync.Mutex
	// ops are the operations sent. All except possibly the last one have their replies.
	ops []lossyOp
	// durable is the newest operation that was acknowledged with j: true or w: "majority".
	durable int
}

// TestPowerLoss cuts the power of a working server, again and again, so that it loses any part of
// the unsynced data. Writes that were acknowledged with j: true or w: "majority" must survive. If a
// write survived, all writes that were acknowledged before it must have survived, too. Transactions
// must be complete, and the oplog must lead to the collections. A command that is sent again must
// be done once, whether its first effect survived or not.
func TestPowerLoss(t *testing.T) {
	run := torture.Begin(t)
	rng := run.Rand(0)
	var clients []*lossy
	for i := range lossyClients {
		clients = append(clients, &lossy{t: t, id: int32(i), rng: run.Rand(i + 1)})
	}
	var m *machine
	done, lost := 0, 0
	for run.Next(6, patience) {
		if m == nil || run.Rounds()%generations == 0 {
			m = newMachine(t, m, clients)
		}
		before := operations(clients)
		disk := loseWhileWorking(t, m, clients, rng)
		if err := m.shutDown(); err != nil {
			t.Fatal(err)
		}
		m = boot(t, disk)
		found := findLossy(t, m)
		for _, c := range clients {
			sent := len(c.ops)
			c.settle(m, found)
			lost += sent - len(c.ops)
		}
		done += operations(clients) - before
		checkMachine(t, m)
	}
	if err := m.shutDown(); err != nil {
		t.Error(err)
	}
	t.Logf("%d losses of power, %d operations, and %d that were lost", run.Rounds(), done, lost)
	if torture.Long() && (done == 0 || lost == 0) {
		t.Error("the test did not do what it is for")
	}
}

// operations returns the number of all operations that the clients have sent.
func operations(clients []*lossy) (n int) {
	for _, c := range clients {
		n += len(c.ops)
	}
	return n
}

// newMachine returns a server with an empty disk, and shuts down the old one. The clients start
// again with their first operation.
func newMachine(t *testing.T, old *machine, clients []*lossy) *machine {
	t.Helper()
	if old != nil {
		if err := old.shutDown(); err != nil {
			t.Fatal(err)
		}
	}
	m := boot(t, crashdisk.New())
	db := m.client.Database(lossDB)
	for _, c := range clients {
		c.ops, c.durable, c.lsid = nil, 0, newSession(c.rng)
		if _, err := db.Collection("counters").
			InsertOne(t.Context(), bson.D{
				{"_id", c.id},
				{"n", 0},
				{"k", 0},
			}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "docs"} {
		if err := db.CreateCollection(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	// The data written so far must be durable before the first loss.
	if err := m.client.Database("admin").RunCommand(t.Context(), bson.D{{"fsync", 1}}).Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

// loseWhileWorking runs the clients, and copies the disk while they work. Each client forgets the
// operations that it sent after the copy, and keeps the number of its newest durable operation
// before the copy.
func loseWhileWorking(t *testing.T, m *machine, clients []*lossy, rng *rand.Rand) *crashdisk.Disk {
	t.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	odds := [...]int{4, 40, 2000}[rng.IntN(3)]
	for _, c := range clients {
		wg.Go(func() { c.work(m, &stop, odds) })
	}
	time.Sleep(time.Duration(20+rng.IntN(100)) * time.Millisecond)
	durable := make([]int, len(clients))
	for i, c := range clients {
		c.mu.Lock()
		durable[i] = c.durable
		c.mu.Unlock()
	}
	percent := [...]int{0, rng.IntN(100), 100}[rng.IntN(3)]
	disk := m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
	sent := make([]int, len(clients))
	for i, c := range clients {
		c.mu.Lock()
		sent[i] = len(c.ops)
		c.mu.Unlock()
	}
	stop.Store(true)
	wg.Wait()
	for i, c := range clients {
		c.ops, c.durable = c.ops[:sent[i]], durable[i]
		c.link.close()
		c.link = nil
	}
	return disk
}

// work does operations until stop is set. On average one of odds operations asks for durability.
func (c *lossy) work(m *machine, stop *atomic.Bool, odds int) {
	conn, err := m.dial()
	if err != nil {
		c.t.Error(err)
		return
	}
	c.link = &link{conn: conn}
	for !stop.Load() && !c.t.Failed() {
		op := lossyOp{kind: lossyKind(c.rng.IntN(int(lossyKinds))), docs: 1 + c.rng.IntN(20)}
		c.mu.Lock()
		c.ops = append(c.ops, op)
		k := len(c.ops)
		c.mu.Unlock()
		concern := bson.D{}
		durable := c.rng.IntN(odds) == 0
		if durable {
			concern = []bson.D{{{"j", true}}, {{"w", "majority"}}}[c.rng.IntN(2)]
		}
		if !c.done(c.perform(k, concern)) {
			return
		}
		if durable {
			c.mu.Lock()
			c.durable = k
			c.mu.Unlock()
		}
	}
}

// done reports whether a reply means success.
func (c *lossy) done(reply bson.Raw) bool {
	if reply == nil {
		return false
	}
	if ok, _ := reply.Lookup("ok").AsInt64OK(); ok != 1 || reply.Lookup("writeErrors").Value != nil {
		c.t.Errorf("client %d: %v", c.id, reply)
		return false
	}
	return true
}

// ask sends a command with the client's session and the given transaction number.
func (c *lossy) ask(db string, cmd bson.D, number int, more ...bson.E) bson.Raw {
	cmd = append(cmd[:len(cmd):len(cmd)], bson.E{"$db", db}, bson.E{"lsid", c.lsid},
		bson.E{"txnNumber", int64(number)})
	reply, err := c.link.ask(append(cmd, more...))
	if err != nil {
		c.t.Errorf("client %d: %v", c.id, err)
		return nil
	}
	return reply
}

// perform sends the k-th operation, and returns the reply to its last command.
func (c *lossy) perform(k int, concern bson.D) bson.Raw {
	op := c.ops[k-1]
	if op.kind != lossyTransaction {
		return c.ask(lossDB, c.command(k), k, bson.E{"writeConcern", concern})
	}
	id := bson.D{{"c", c.id}, {"k", k}}
	for i, s := range []bson.D{
		{{"insert", "a"}, {"documents", bson.A{byID(id)}}},
		c.command(k),
		{{"insert", "b"}, {"documents", bson.A{byID(id)}}},
	} {
		inside := []bson.E{{"autocommit", false}}
		if i == 0 {
			inside = append(inside, bson.E{"startTransaction", true})
		}
		if !c.done(c.ask(lossDB, s, k, inside...)) {
			return nil
		}
	}
	return c.commit(k, concern)
}

func (c *lossy) commit(k int, concern bson.D) bson.Raw {
	return c.ask("admin", bson.D{{"commitTransaction", 1}}, k, bson.E{"autocommit", false},
		bson.E{"writeConcern", concern})
}

// command returns the k-th operation, without the insertions of a transaction.
func (c *lossy) command(k int) bson.D {
	note := bson.D{
		{"$inc", bson.D{{"n", 1}}},
		{"$set", bson.D{{"k", k}}},
	}
	switch op := c.ops[k-1]; op.kind {
	case lossyInsert:
		docs := bson.A{}
		for i := range op.docs {
			docs = append(docs, bson.D{
				{"_id", fmt.Sprintf("%d-%d-%d", c.id, k, i)},
				{"c", c.id},
				{"k", k},
			})
		}
		return bson.D{{"insert", "docs"}, {"documents", docs}}
	case lossyModify:
		return bson.D{
			{"findAndModify", "counters"},
			{"query", byID(c.id)},
			{"update", note},
			{"new", true},
		}
	default:
		return bson.D{
			{"update", "counters"},
			{"updates", bson.A{bson.D{{"q", byID(c.id)}, {"u", note}}}},
		}
	}
}
