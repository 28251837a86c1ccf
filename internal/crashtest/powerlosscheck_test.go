package crashtest

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// foundLossy is the data of a client on a server.
type foundLossy struct {
	// n is the value of the counter, and k the operation that last added to it.
	n, k int
	// a and b have the numbers of the transactions in the collections a and b.
	a, b []int
	// docs has the number of inserted documents, by the number of the operation.
	docs map[int]int
}

func findLossy(t *testing.T, m *machine) []*foundLossy {
	t.Helper()
	out := make([]*foundLossy, lossyClients)
	db := m.client.Database(lossDB)
	number := func(v bson.RawValue) int { return int(v.AsInt64()) }
	for _, d := range documents(t, db.Collection("counters")) {
		out[d.Lookup("_id").Int32()] = &foundLossy{
			n: number(d.Lookup("n")),
			k: number(d.Lookup("k")), docs: map[int]int{},
		}
	}
	for _, d := range documents(t, db.Collection("a")) {
		f := out[d.Lookup("_id", "c").Int32()]
		f.a = append(f.a, number(d.Lookup("_id", "k")))
	}
	for _, d := range documents(t, db.Collection("b")) {
		f := out[d.Lookup("_id", "c").Int32()]
		f.b = append(f.b, number(d.Lookup("_id", "k")))
	}
	for _, d := range documents(t, db.Collection("docs")) {
		out[d.Lookup("c").Int32()].docs[number(d.Lookup("k"))]++
	}
	for _, f := range out {
		slices.Sort(f.a)
		slices.Sort(f.b)
	}
	return out
}

// newest returns the newest operation with an effect.
func (f *foundLossy) newest() int {
	newest := f.k
	for k := range f.docs {
		newest = max(newest, k)
	}
	return newest
}

// settle checks which operations of the client survived. It sends the last survivor and the first
// lost operation again, and forgets the later operations.
func (c *lossy) settle(m *machine, all []*foundLossy) {
	c.t.Helper()
	left := all[c.id].newest()
	if left < c.durable || left > len(c.ops) {
		c.t.Errorf("client %d: %d operations are left; %d were durable, %d sent", c.id, left, c.durable, len(c.ops))
		return
	}
	c.compare(all[c.id], left, true)
	conn, err := m.dial()
	if err != nil {
		c.t.Fatal(err)
	}
	c.link = &link{conn: conn}
	defer c.link.close()
	if left > 0 {
		c.sendAgain(left)
	}
	if left < len(c.ops) {
		c.sendLost(left + 1)
		left++
	}
	c.ops = c.ops[:left]
	c.compare(findLossy(c.t, m)[c.id], left, false)
	c.durable = 0 // the next round begins without durable operations
}

// compare checks that exactly the first left operations exist. If partly is set and the last of
// them is an insertion, some of its documents may be missing.
func (c *lossy) compare(f *foundLossy, left int, partly bool) {
	c.t.Helper()
	n, last := 0, 0
	var transactions []int
	for i, op := range c.ops[:left] {
		k := i + 1
		got := f.docs[k]
		switch {
		case op.kind == lossyInsert && (got == op.docs || partly && k == left && got > 0 && got < op.docs):
		case op.kind == lossyInsert || got > 0:
			c.t.Errorf("client %d: %d documents of operation %d, which is %+v", c.id, got, k, op)
		case op.kind == lossyTransaction:
			transactions = append(transactions, k)
		}
		if op.kind != lossyInsert {
			n, last = n+1, k
		}
	}
	if f.n != n || f.k != last {
		c.t.Errorf("client %d: the counter is %d, the last time by operation %d, not %d and %d", c.id, f.n, f.k, n, last)
	}
	if !slices.Equal(f.a, transactions) || !slices.Equal(f.b, transactions) {
		c.t.Errorf("client %d: %d transactions in a, %d in b, not %d, or others", c.id, len(f.a), len(f.b), len(transactions))
	}
}

// sendAgain sends operation k again, which survived. The server must recognise it and not run it
// again. The operation before it must be refused.
func (c *lossy) sendAgain(k int) {
	c.t.Helper()
	if c.ops[k-1].kind == lossyTransaction {
		c.done(c.commit(k, bson.D{}))
	} else if reply := c.perform(k, bson.D{}); c.done(reply) && reply.Lookup("retriedStmtIds").
		Value == nil && reply.Lookup("retriedStmtId").Value == nil {
		c.t.Errorf("client %d: operation %d was sent again and executed again: %v", c.id, k, reply)
	}
	if k > 1 {
		if old := c.ask(lossDB, c.command(k), k-1); code(old) != codeTransactionTooOld {
			c.t.Errorf("client %d: the number before the newest one: %v", c.id, old)
		}
	}
}

// sendLost sends operation k again, which was lost. The server must run it, because no part of it
// may have survived.
func (c *lossy) sendLost(k int) {
	c.t.Helper()
	if c.ops[k-1].kind == lossyTransaction {
		if reply := c.commit(k, bson.D{}); code(reply) != codeNoSuchTransaction {
			c.t.Errorf("client %d: the commit of a transaction that was lost: %v", c.id, reply)
		}
	}
	if reply := c.perform(k, bson.D{}); c.done(reply) && reply.Lookup("retriedStmtIds").Value != nil {
		c.t.Errorf("client %d: operation %d was lost, and is not executed again: %v", c.id, k, reply)
	}
}

// checkMachine validates the collections, and checks that the oplog leads to their documents.
func checkMachine(t *testing.T, m *machine) {
	t.Helper()
	for _, name := range []string{"counters", "a", "b", "docs"} {
		validate(t.Context(), t, m.client.Database(lossDB), name)
	}
	newFollower(false).check(t, m.client)
}
