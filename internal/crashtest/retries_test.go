package crashtest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/torture"
)

// The clients of this test send a command again, with the same transaction number, until they get a
// reply. Whatever happens to the server meanwhile, the command must be done once. So a client knows
// the exact state of its data.

const (
	retriers = 6
)

// The error codes that a client may get when it sends a command again.
const (
	codeWriteConflict     = 112
	codeTransactionTooOld = 225
	codeNoSuchTransaction = 251
)

// retrier is a client with a session.
type retrier struct {
	t      *testing.T
	rng    *rand.Rand
	server func() string
	link   *link
	lsid   bson.D
	// number is the number of the newest transaction or retryable write.
	number int64
	// done counts the steps. resent counts the commands whose reply was lost. asked counts the
	// commands that were sent again although they had a reply.
	done, resent, asked int
	*expected
}

// TestKillRetries kills a server again and again while clients send their retryable writes and
// commits until they get a reply. Each reply must be the same as without the kill, and everything
// must be done exactly once.
func TestKillRetries(t *testing.T) {
	s := newSite(t)
	clients := newRetriers(s, s.Addr)
	s.attack(clients, func() { s.killAndStart() })
	reportRetries(t, s.run.Rounds(), clients)
}

// TestCutRetries does the same as TestKillRetries, but cuts connections and does not kill the
// server.
func TestCutRetries(t *testing.T) {
	torture.SkipShort(t)
	s := newSite(t)
	proxy := torture.NewProxy(t, s.run.Rand(-1), s.Addr)
	clients := newRetriers(s, func() string { return proxy.Addr })
	s.attack(clients, func() {
		proxy.Set(torture.Faults{
			Cut: 0.05 * s.rng.Float64(), Slow: 0.1,
			Delay: time.Duration(s.rng.IntN(5)) * time.Millisecond,
		})
	})
	t.Logf("%d connections were cut", proxy.Cuts())
	reportRetries(t, s.run.Rounds(), clients)
}

func newRetriers(s *site, server func() string) (out []knowing) {
	for i := range retriers {
		rng := s.run.Rand(i + 1)
		out = append(out, &retrier{t: s.t, rng: rng, server: server, lsid: newSession(rng), expected: newExpected(i)})
	}
	return out
}

func reportRetries(t *testing.T, rounds int, clients []knowing) {
	t.Helper()
	done, resent, asked, transactions := 0, 0, 0, 0
	for _, k := range clients {
		c := k.(*retrier)
		done, resent, asked, transactions = done+c.done, resent+c.resent, asked+
			c.asked, transactions+len(c.transactions)
	}
	t.Logf("%d rounds, %d commands and %d transactions, %d sent again without an answer, %d with one", rounds, done, transactions, resent, asked)
	if torture.Long() && (done < 10*rounds || resent == 0 || asked == 0 || transactions == 0) {
		t.Error("the test did not do what it is for")
	}
}

// step does a random step.
func (c *retrier) step() {
	total := 0
	for _, s := range retrySteps {
		total += s.weight
	}
	n := c.rng.IntN(total)
	for _, s := range retrySteps {
		if n -= s.weight; n < 0 {
			s.run(c)
			c.done++
			return
		}
	}
}

// send sends a command until it gets a reply. It returns nil only if the test has failed.
func (c *retrier) send(cmd bson.D) bson.Raw {
	for !c.t.Failed() {
		reply, err := c.sendOnce(cmd)
		switch {
		case err == nil:
			return reply
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.t.Errorf("client %d: no answer: %v", c.id, cmd)
		case errors.Is(err, errNoServer):
			time.Sleep(2 * time.Millisecond)
		default:
			c.resent++
		}
	}
	return nil
}

var errNoServer = errors.New("there is no server")

func (c *retrier) sendOnce(cmd bson.D) (bson.Raw, error) {
	if c.link == nil {
		var err error
		if c.link, err = dial(c.server()); err != nil {
			c.link = nil
			return nil, errors.Join(errNoServer, err)
		}
	}
	reply, err := c.link.ask(cmd)
	if err != nil {
		c.link.close()
		c.link = nil
	}
	return reply, err
}

// write does a retryable write that changes data. Sometimes it sends the write again after the
// reply, and must get the same reply. Sometimes it also sends the write with the previous
// transaction number, which must be refused.
func (c *retrier) write(db string, cmd bson.D) bson.Raw {
	c.number++
	concern := []bson.D{
		{},
		{{"w", 1}},
		{{"j", true}},
		{{"w", "majority"}},
	}[c.rng.IntN(4)]
	cmd = append(cmd[:len(cmd):len(cmd)], bson.E{"$db", db}, bson.E{"lsid", c.lsid},
		bson.E{"writeConcern", concern})
	numbered := func(n int64) bson.D { return append(cmd[:len(cmd):len(cmd)], bson.E{"txnNumber", n}) }
	reply := c.send(numbered(c.number))
	for reply != nil && c.rng.IntN(4) == 0 {
		c.asked++
		again := c.send(numbered(c.number))
		if again != nil && !bytes.Equal(lasting(reply), lasting(again)) {
			c.t.Errorf("%v\nwas answered %v\nand then %v", cmd, reply, again)
		}
	}
	if reply != nil && c.rng.IntN(10) == 0 && c.number > 1 {
		if old := c.send(numbered(c.number - 1)); code(old) != codeTransactionTooOld {
			c.t.Errorf("the number before the newest one: %v", old)
		}
	}
	return reply
}

// lasting returns the part of a reply that must be the same each time.
func lasting(reply bson.Raw) []byte {
	elements, _ := reply.Elements()
	var out []byte
	for _, e := range elements {
		switch e.Key() {
		case "$clusterTime", "operationTime", "retriedStmtId", "retriedStmtIds":
		default:
			out = append(out, e...)
		}
	}
	return out
}

func code(reply bson.Raw) int32 {
	n, _ := reply.Lookup("code").AsInt64OK()
	return int32(n)
}

// expect checks that the fields of a reply have the expected numbers. pairs has names and numbers
// in turn.
func (c *retrier) expect(reply bson.Raw, pairs ...any) {
	if reply == nil {
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		got, ok := reply.Lookup(pairs[i].(string)).AsInt64OK()
		if want := int64(pairs[i+1].(int)); !ok || got != want {
			c.t.Errorf("client %d: %v is %d, not %d: %v", c.id, pairs[i], got, want, reply)
		}
	}
	if errs, err := reply.LookupErr("writeErrors"); err == nil {
		c.t.Errorf("client %d: %v", c.id, errs)
	}
}

// transact does a transaction of two insertions and an addition. It starts again as often as the
// server asks for it, and sends its commit until it gets a reply.
func (c *retrier) transact() {
	n := c.nextNumber()
	id := bson.D{{"c", c.id}, {"n", n}}
	statements := []bson.D{
		{{"insert", "a"}, {"documents", bson.A{bson.D{{"_id", id}}}}},
		{{"insert", "b"}, {"documents", bson.A{bson.D{{"_id", id}}}}},
		add(sharedName, c.rng.IntN(sharedCounters), 1),
	}
	for !c.t.Failed() && !c.tryTransaction(statements) {
	}
	c.transactions = append(c.transactions, n)
	c.shared++
}

func (c *retrier) tryTransaction(statements []bson.D) bool {
	c.number++
	inside := func(db string, cmd bson.D) bson.D {
		return append(cmd[:len(cmd):len(cmd)], bson.E{"$db", db}, bson.E{"lsid", c.lsid},
			bson.E{"txnNumber", c.number}, bson.E{"autocommit", false})
	}
	for i, s := range statements {
		cmd := inside(retryDB, s)
		if i == 0 {
			cmd = append(cmd, bson.E{"startTransaction", true})
		}
		reply, err := c.sendOnce(cmd)
		switch {
		case err != nil:
			if errors.Is(err, errNoServer) {
				time.Sleep(2 * time.Millisecond)
			}
			return false // the end of the server or the next transaction aborts this one
		case !c.mayBeginAnew(reply):
			c.expect(reply, "n", 1)
		default:
			return false
		}
	}
	resent := c.resent
	commit := inside("admin", bson.D{{"commitTransaction", 1}})
	reply := c.send(commit)
	if c.mayBeginAnew(reply) {
		if code(reply) == codeNoSuchTransaction && c.resent == resent {
			c.t.Errorf("client %d: a commit that was sent once: %v", c.id, reply)
		}
		return false
	}
	c.expect(reply, "ok", 1)
	for c.rng.IntN(4) == 0 {
		c.asked++
		c.expect(c.send(commit), "ok", 1)
	}
	return true
}

// mayBeginAnew reports whether a reply says that the transaction had no effect.
func (c *retrier) mayBeginAnew(reply bson.Raw) bool {
	n := code(reply)
	if n != codeWriteConflict && n != codeNoSuchTransaction {
		return false
	}
	var labels struct{ ErrorLabels []string }
	if err := bson.Unmarshal(reply, &labels); err != nil || len(labels.ErrorLabels) != 1 ||
		labels.ErrorLabels[0] != "TransientTransactionError" {
		c.t.Errorf("client %d: an error that is not transient: %v", c.id, reply)
	}
	return true
}
