package session

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// DefaultLifetime is how long a transaction may be open by default
// (transactionLifetimeLimitSeconds).
const DefaultLifetime = 60 * time.Second

// The errors with which other goroutines end a transaction.
var (
	errLifetime = mongoerr.New(mongoerr.TransactionExceededLifetimeLimitSeconds,
		"Transaction has exceeded transactionLifetimeLimitSeconds")
	errSessionKilled = mongoerr.New(mongoerr.Interrupted, "operation was interrupted because its session was killed")
)

// Transactions is the registry of open transactions. It is safe for concurrent use.
type Transactions struct {
	lifetime atomic.Int64 // nanoseconds

	// Ended is called for each transaction that was committed or aborted. It may be nil.
	Ended func(t *Transaction)

	mu    sync.Mutex
	open  map[*Transaction]struct{}
	stats TransactionStats
}

// TransactionStats are the numbers in transactions of serverStatus.
type TransactionStats struct {
	Started, Committed, Aborted int64
	Open, Active                int
}

// NewTransactions returns an empty registry.
func NewTransactions() *Transactions {
	r := &Transactions{open: make(map[*Transaction]struct{})}
	r.SetLifetime(DefaultLifetime)
	return r
}

// SetLifetime changes how long new transactions may be open.
func (r *Transactions) SetLifetime(d time.Duration) { r.lifetime.Store(int64(d)) }

func (r *Transactions) add(t *Transaction) {
	r.mu.Lock()
	r.open[t] = struct{}{}
	r.stats.Started++
	r.mu.Unlock()
}

// Abort aborts a transaction. The caller has its session checked out.
func (r *Transactions) Abort(t *Transaction) {
	if n := t.Session.numbersOf(); n.open == t {
		r.abort(n)
	}
}

// abort aborts the open transaction, if there is one. The caller has n checked out.
func (r *Transactions) abort(n *numbers) {
	n.mu.Lock()
	t := n.open
	if t != nil {
		n.open, n.use = nil, useAborted
	}
	n.mu.Unlock()
	if t == nil {
		return
	}
	if t.Work != nil {
		t.Work.Abort()
	}
	r.remove(t, func(s *TransactionStats) { s.Aborted++ })
}

// Committed records that a transaction was committed. The caller has its session checked out.
func (r *Transactions) Committed(t *Transaction) {
	n := t.Session.numbersOf()
	n.set(t.Number, useCommitted, nil)
	r.remove(t, func(s *TransactionStats) { s.Committed++ })
}

func (r *Transactions) remove(t *Transaction, count func(*TransactionStats)) {
	r.mu.Lock()
	delete(r.open, t)
	count(&r.stats)
	r.mu.Unlock()
	if r.Ended != nil {
		r.Ended(t)
	}
}

// kill aborts a transaction that may be in use. In that case it ends the operation, and the
// check-in of the operation aborts the transaction.
func (r *Transactions) kill(t *Transaction, cause *mongoerr.Error) {
	n := t.Session.numbersOf()
	n.mu.Lock()
	if n.open != t {
		n.mu.Unlock()
		return
	}
	if n.held {
		n.doomed = true
		op, id := n.holder, n.holderID
		n.mu.Unlock()
		if op != nil { // if op is nil, another kill is in progress
			op.kill(id, cause)
		}
		return
	}
	n.held = true // held by this kill, so that no operation gets it meanwhile
	n.mu.Unlock()
	r.abort(n)
	n.checkIn(r)
}

// KillSession aborts the transactions of the sessions that match.
func (r *Transactions) KillSession(match func(SessionID) bool) {
	for _, t := range r.list() {
		if match(t.Session.ID) {
			r.kill(t, errSessionKilled)
		}
	}
}

// Reap aborts the transactions that have been open for too long.
func (r *Transactions) Reap(now time.Time) {
	for _, t := range r.list() {
		if !now.Before(t.Expires) {
			r.kill(t, errLifetime)
		}
	}
}

// Close aborts all transactions.
func (r *Transactions) Close() {
	for _, t := range r.list() {
		r.kill(t, errShutdown)
	}
}

func (r *Transactions) list() []*Transaction {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Transaction, 0, len(r.open))
	for t := range r.open {
		out = append(out, t)
	}
	return out
}

// Open describes the open transactions, oldest first.
func (r *Transactions) Open(now time.Time) []TransactionInfo {
	var out []TransactionInfo
	for _, t := range r.list() {
		out = append(out, t.Info(now))
	}
	slices.SortFunc(out, func(a, b TransactionInfo) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// Stats returns the numbers of transactions.
func (r *Transactions) Stats() TransactionStats {
	active := 0
	for _, t := range r.list() {
		t.mu.Lock()
		if t.active {
			active++
		}
		t.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Open, s.Active = len(r.open), active
	return s
}
