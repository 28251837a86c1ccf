package session

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// IdleTimeout is how long a cursor lives between two batches by default (cursorTimeoutMillis).
const IdleTimeout = 10 * time.Minute

// Cursors is the registry of open cursors. It is safe for concurrent use.
type Cursors struct {
	clock clock.Clock

	mu      sync.Mutex
	open    map[int64]*Cursor
	idle    time.Duration
	closed  bool
	stats   CursorStats
	newID   func() int64
	held    memory.Holding
	bytes   int64 // memory of the open cursors
	pinned  int
	noLimit int
}

// CursorStats are the counters in metrics.cursor of serverStatus.
type CursorStats struct {
	Opened    int64
	TimedOut  int64
	Open      int
	Pinned    int
	NoTimeout int
	// MoreThanOneBatch counts the cursors that were read beyond their first batch.
	MoreThanOneBatch int64
}

// NewCursors returns an empty registry.
func NewCursors(c clock.Clock) *Cursors {
	return &Cursors{clock: c, open: make(map[int64]*Cursor), idle: IdleTimeout, newID: rand.Int64}
}

// LimitMemory counts the cursors in the budget of the requests. Call it before the first cursor is
// opened.
func (r *Cursors) LimitMemory(b *memory.Budget) { r.held = b.Hold() }

// SetIdleTimeout changes how long idle cursors live.
func (r *Cursors) SetIdleTimeout(d time.Duration) {
	r.mu.Lock()
	r.idle = d
	r.mu.Unlock()
}

// Register saves the source of a cursor, gives the cursor a number, and keeps it open until it is
// killed or removed. It fails, and closes the source, if the server has no memory for the cursor or
// stops.
func (r *Cursors) Register(c *Cursor) (int64, error) {
	c.Save()
	now := r.clock.Now()
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		c.Source.Close()
		return 0, errShutdown
	}
	defer r.mu.Unlock()
	if err := r.weigh(c); err != nil {
		c.Source.Close()
		return 0, err
	}
	for {
		c.id = r.newID()
		if _, taken := r.open[c.id]; c.id > 0 && !taken {
			break
		}
	}
	c.created, c.lastUse = now, now
	r.open[c.id] = c
	r.stats.Opened++
	if c.NoTimeout {
		r.noLimit++
	}
	return c.id, nil
}

// The memory of a cursor in bytes, in addition to the memory of its source.
const (
	// cursorBytes is the memory of the cursor itself, with its plan.
	cursorBytes = 6 << 10
	// CommandShare is the memory for each byte of a command or of a view's pipeline: the byte
	// itself, and the structures that are compiled from it. If the compilation has counted more
	// memory for the structures, its count is used instead.
	CommandShare = 8
)

// weigh counts the memory of a new cursor. It fails if the server has no memory left. The caller
// holds the lock.
func (r *Cursors) weigh(c *Cursor) error {
	n := c.weight()
	if err := r.held.Hold(r.bytes + n); err != nil {
		return err
	}
	r.bytes += n
	c.bytes = n
	return nil
}

// reweigh counts the memory of a cursor again after a batch, because its stash and its source have
// changed. It fails if the server has no memory for the increase. The caller holds the lock.
func (r *Cursors) reweigh(c *Cursor) error {
	n := c.weight()
	if err := r.held.Hold(r.bytes + n - c.bytes); err != nil {
		return err
	}
	r.bytes += n - c.bytes
	c.bytes = n
	r.held.Shrink(r.bytes + memory.Step)
	return nil
}

func (c *Cursor) weight() int64 {
	command := int64(len(c.Command))
	return cursorBytes + command + max((CommandShare-1)*command, c.Compiled) + int64(len(c.stash)) + c.kept
}

// Pin takes the cursor for one command. namespace must be the namespace for which it was opened.
func (r *Cursors) Pin(id int64, namespace string, owner Owner, op *Op) (*Cursor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.open[id]
	if !ok {
		return nil, notFound(id)
	}
	if c.pinned {
		return nil, mongoerr.New(mongoerr.CursorInUse, "cursor id %d is already in use", id)
	}
	if err := c.checkUse(namespace, owner); err != nil {
		return nil, err
	}
	c.pinned, c.pinnedOp = true, op
	r.pinned++
	if !c.again {
		c.again = true
		r.stats.MoreThanOneBatch++
	}
	return c, nil
}

func notFound(id int64) error {
	return mongoerr.New(mongoerr.CursorNotFound, "cursor id %d not found", id)
}

func (c *Cursor) checkUse(namespace string, owner Owner) error {
	switch {
	case c.Namespace() != namespace:
		return mongoerr.New(mongoerr.Unauthorized,
			"Requested getMore on namespace '%s', but cursor belongs to a different namespace %s", namespace, c.Namespace())
	case c.Owner.User != owner.User:
		return mongoerr.New(mongoerr.Unauthorized, "cursor id %d was not created by the authenticated user", c.id)
	case c.Owner.Session != owner.Session:
		return sessionMismatch(c, owner)
	case c.Owner.InTransaction != owner.InTransaction || c.Owner.TxnNumber != owner.TxnNumber:
		return transactionMismatch(c, owner)
	default:
		return nil
	}
}

// Location codes of a getMore with another session than the cursor's.
const (
	codeCursorHasNoSession   = mongoerr.Code(50736)
	codeCursorOfSession      = mongoerr.Code(50737)
	codeCursorOfOtherSession = mongoerr.Code(50738)
)

func sessionMismatch(c *Cursor, owner Owner) error {
	switch {
	case c.Owner.Session.IsZero():
		return mongoerr.New(codeCursorHasNoSession,
			"Cannot run getMore on cursor %d, which was not created in a session, in session %s", c.id, owner.Session)
	case owner.Session.IsZero():
		return mongoerr.New(codeCursorOfSession,
			"Cannot run getMore on cursor %d, which was created in session %s, without an lsid", c.id, c.Owner.Session)
	default:
		return mongoerr.New(codeCursorOfOtherSession,
			"Cannot run getMore on cursor %d, which was created in session %s, in session %s", c.id, c.Owner.Session, owner.Session)
	}
}

// Location codes of a getMore in another transaction than the cursor's.
const (
	codeCursorHasNoTransaction   = mongoerr.Code(50739)
	codeCursorOfTransaction      = mongoerr.Code(50740)
	codeCursorOfOtherTransaction = mongoerr.Code(50741)
)

func transactionMismatch(c *Cursor, owner Owner) error {
	switch {
	case !c.Owner.InTransaction:
		return mongoerr.New(codeCursorHasNoTransaction,
			"Cannot run getMore on cursor %d, which was not created in a transaction, in transaction %d", c.id, owner.TxnNumber)
	case !owner.InTransaction:
		return mongoerr.New(codeCursorOfTransaction,
			"Cannot run getMore on cursor %d, which was created in transaction %d, without a txnNumber", c.id, c.Owner.TxnNumber)
	default:
		return mongoerr.New(codeCursorOfOtherTransaction,
			"Cannot run getMore on cursor %d, which was created in transaction %d, in transaction %d", c.id, c.Owner.TxnNumber, owner.TxnNumber)
	}
}

// Unpin gives the cursor back after a batch. It closes the cursor if it was killed meanwhile. It
// also closes the cursor and returns an error if the server has no memory for it.
func (r *Cursors) Unpin(c *Cursor) error {
	c.Save()
	now := r.clock.Now()
	r.mu.Lock()
	c.pinned, c.pinnedOp, c.lastUse = false, nil, now
	err := r.reweigh(c)
	r.pinned--
	ends := err != nil || c.killed != nil
	if ends {
		r.forget(c)
	}
	r.mu.Unlock()
	if ends {
		c.Source.Close()
	}
	return err
}

// Remove closes a pinned cursor that is exhausted or has failed.
func (r *Cursors) Remove(c *Cursor) {
	r.mu.Lock()
	c.pinned, c.pinnedOp = false, nil
	r.pinned--
	r.forget(c)
	r.mu.Unlock()
	c.Source.Close()
}

func (r *Cursors) forget(c *Cursor) {
	if _, ok := r.open[c.id]; !ok {
		return
	}
	delete(r.open, c.id)
	r.bytes -= c.bytes
	r.held.Shrink(r.bytes + memory.Step)
	if len(r.open) == 0 {
		r.held.Release()
	}
	if c.NoTimeout {
		r.noLimit--
	}
}

// Kill closes the cursor with that number: immediately if it is idle, otherwise when it is
// unpinned. It interrupts the operation that uses the cursor. It reports whether there was a cursor
// that the owner may kill.
func (r *Cursors) Kill(id int64, owner Owner) (bool, error) {
	r.mu.Lock()
	c, ok := r.open[id]
	r.mu.Unlock()
	if !ok {
		return false, nil
	}
	if c.Owner.User != owner.User {
		return false, mongoerr.New(mongoerr.Unauthorized, "not authorized to kill cursor %d", id)
	}
	return r.killWhere(func(other *Cursor) bool { return other == c },
		mongoerr.New(mongoerr.CursorKilled, "cursor was killed")) > 0, nil
}

// KillSession closes the cursors of the sessions that match.
func (r *Cursors) KillSession(match func(SessionID) bool) int {
	return r.killWhere(func(c *Cursor) bool { return !c.Owner.Session.IsZero() && match(c.Owner.Session) },
		mongoerr.New(mongoerr.CursorKilled, "cursor was killed because its session ended"))
}

// KillTransaction closes the cursors of a transaction.
func (r *Cursors) KillTransaction(id SessionID, number int64) int {
	return r.killWhere(func(c *Cursor) bool {
		return c.Owner.InTransaction && c.Owner.TxnNumber == number && c.Owner.Session == id
	}, mongoerr.New(mongoerr.CursorKilled, "cursor was killed because its transaction ended"))
}

func (r *Cursors) killWhere(match func(*Cursor) bool, cause *mongoerr.Error) int {
	var idle []*Cursor
	n := 0
	r.mu.Lock()
	for _, c := range r.open {
		if c.killed != nil || !match(c) {
			continue
		}
		n++
		c.killed = cause
		if !c.pinned {
			r.forget(c)
			idle = append(idle, c)
		} else if op := c.pinnedOp; op != nil {
			op.kill(op.ID(), cause)
		}
	}
	r.mu.Unlock()
	for _, c := range idle {
		c.Source.Close()
	}
	return n
}

// Reap closes the cursors that were idle for too long, and returns their number.
func (r *Cursors) Reap() int {
	now := r.clock.Now()
	var old []*Cursor
	r.mu.Lock()
	for _, c := range r.open {
		if !c.pinned && !c.NoTimeout && now.Sub(c.lastUse) >= r.idle {
			r.forget(c)
			old = append(old, c)
		}
	}
	r.stats.TimedOut += int64(len(old))
	r.mu.Unlock()
	for _, c := range old {
		c.Source.Close()
	}
	return len(old)
}

// EndIdle closes idle cursors to free n bytes, the largest first. It closes no cursor if all idle
// cursors together hold less than half of n, because then they are not the cause of the shortage.
// The limit is one half because the memory of cursors is an estimate.
func (r *Cursors) EndIdle(n int64) (ended int, freed int64) {
	var idle []*Cursor
	all := int64(0)
	r.mu.Lock()
	for _, c := range r.open {
		if !c.pinned {
			idle = append(idle, c)
			all += c.bytes
		}
	}
	if n <= 0 || all < n/2 {
		r.mu.Unlock()
		return 0, 0
	}
	slices.SortFunc(idle, func(a, b *Cursor) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), a.lastUse.Compare(b.lastUse))
	})
	for ended < len(idle) && freed < n {
		r.forget(idle[ended])
		freed += idle[ended].bytes
		ended++
	}
	r.mu.Unlock()
	for _, c := range idle[:ended] {
		c.Source.Close()
	}
	return ended, freed
}

// Close closes all cursors and refuses new ones.
func (r *Cursors) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.killWhere(func(*Cursor) bool { return true }, errShutdown)
}

// Stats returns the counters of the cursors.
func (r *Cursors) Stats() CursorStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Open, s.Pinned, s.NoTimeout = len(r.open), r.pinned, r.noLimit
	return s
}

// CursorInfo describes an idle cursor for currentOp.
type CursorInfo struct {
	ID        int64
	Namespace string
	Owner     Owner
	Created   time.Time
	LastUse   time.Time
	NoTimeout bool
	Tailable  bool
	AwaitData bool
	// Returned and Batches count the documents and batches sent.
	Returned, Batches int64
	// Command opened the cursor. It must not be changed.
	Command bsonx.Doc
	Plan    PlanSummary
}

// Idle describes the cursors that no command uses, in the order in which they were opened.
func (r *Cursors) Idle() []CursorInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []CursorInfo
	for _, c := range r.open {
		if c.pinned {
			continue
		}
		out = append(out, CursorInfo{
			ID: c.id, Namespace: c.Namespace(), Owner: c.Owner, Created: c.created,
			LastUse: c.lastUse, NoTimeout: c.NoTimeout,
			Tailable: c.Tailable, AwaitData: c.AwaitData, Returned: c.Returned, Batches: c.Batches,
			Command: c.Command, Plan: c.Plan,
		})
	}
	slices.SortFunc(out, func(a, b CursorInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return out
}
