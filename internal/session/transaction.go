package session

import (
	"encoding/base64"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// noNumber is the transaction number of a session that has not used one.
const noNumber = -1

// numberUse tells what the greatest transaction number of a session was used for.
type numberUse int

const (
	useNone       numberUse = iota // no number was used yet
	useRetryable                   // retryable writes
	useInProgress                  // a transaction that is open
	useCommitted                   // a transaction that was committed
	useAborted                     // a transaction that was aborted
)

// numbers is the state machine of a session's transaction numbers. One operation at a time may have
// it checked out; only that one changes it, and uses the open transaction.
//
//	              a greater number                  commit
//	useNone ─────────────────────> useInProgress ─────────> useCommitted
//	   │                                │   abort, any error of a statement, lifetime, end of the session
//	   │ a greater number               └───────────────────> useAborted
//	   └────────────> useRetryable
//
// From every state a greater number leads to useInProgress or useRetryable; what is in progress is
// aborted by it.
type numbers struct {
	mu       sync.Mutex
	number   int64
	use      numberUse
	open     *Transaction // in useInProgress
	holder   *Op          // who has it checked out
	holderID int64
	held     bool
	released chan struct{} // closed at the next check-in; nil where no one waits
	// doomed says that the open transaction must be aborted when its holder gives it back.
	doomed bool
	// restored says that what the session did before the server was started is known.
	restored bool
}

// Work is what a transaction has done so far. Its methods are called by one goroutine at a time.
type Work interface {
	// Abort undoes everything. It is called once, and not after a commit.
	Abort()
}

// Transaction is an open multi-document transaction.
type Transaction struct {
	Session *Session
	Number  int64
	Started time.Time
	Expires time.Time
	// ReadConcern is the level that the first command gave, empty for none.
	ReadConcern string
	// API is what the first command said of the stable API.
	API API
	// Work is set by the first command. Only who has the session checked out looks at it.
	Work Work

	mu       sync.Mutex // guards the rest
	client   Client
	since    time.Time // when it became active or inactive
	active   bool
	activeIn time.Duration
}

// numbersOf returns the session's transaction numbers, made where they are new.
func (s *Session) numbersOf() *numbers {
	if n := s.txns.Load(); n != nil {
		return n
	}
	s.txns.CompareAndSwap(nil, &numbers{number: noNumber})
	return s.txns.Load()
}

// CheckOut takes the session's transaction numbers for one operation. It waits for another one that
// has them, as long as op may run. CheckIn must follow.
func (s *Session) CheckOut(op *Op) error {
	n := s.numbersOf()
	for {
		n.mu.Lock()
		if !n.held {
			n.held, n.holder, n.holderID = true, op, op.ID()
			n.mu.Unlock()
			return nil
		}
		if n.released == nil {
			n.released = make(chan struct{})
		}
		released := n.released
		n.mu.Unlock()
		select {
		case <-released:
		case <-op.Done():
			return op.Err()
		}
	}
}

// CheckIn gives back what CheckOut took. A transaction that was killed meanwhile is aborted by it.
func (s *Session) CheckIn(registry *Transactions) { s.numbersOf().checkIn(registry) }

func (n *numbers) checkIn(registry *Transactions) {
	n.mu.Lock()
	for n.doomed && n.open != nil {
		n.mu.Unlock()
		registry.abort(n)
		n.mu.Lock()
	}
	n.held, n.holder, n.doomed = false, nil, false
	if n.released != nil {
		close(n.released)
		n.released = nil
	}
	n.mu.Unlock()
}

// IsRestored reports whether what the session did earlier is known: it may have been used before
// the server was started. Otherwise who has it checked out finds out and calls Restore.
func (s *Session) IsRestored() bool { return s.numbersOf().restored }

// Restore tells which number the session used last, and whether that was for a transaction, which
// was committed. The number is negative where there is none. The session is checked out.
func (s *Session) Restore(number int64, committed bool) {
	n := s.numbersOf()
	n.restored = true
	if number <= n.number {
		return
	}
	use := useRetryable
	if committed {
		use = useCommitted
	}
	n.set(number, use, nil)
}

// Forget lets the session find out again what it did. The session is checked out, and has no
// transaction open.
func (s *Session) Forget() {
	n := s.numbersOf()
	n.set(noNumber, useNone, nil)
	n.restored = false
}

// TryCheckOut is CheckOut for who does not wait and is no operation.
func (s *Session) TryCheckOut() bool {
	n := s.numbersOf()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held {
		return false
	}
	n.held = true
	return true
}

// BeginRetryable admits a retryable write of that number. known reports whether the session has
// used the number for retryable writes before. The session is checked out.
func (s *Session) BeginRetryable(registry *Transactions, number int64) (known bool, err error) {
	n := s.numbersOf()
	switch {
	case number < n.number:
		return false, mongoerr.New(mongoerr.TransactionTooOld,
			"Retryable write with txnNumber %d is prohibited on session %s because a newer %s with txnNumber %d has already started on this session.",
			number, s.ID.Long(), n.kind(), n.number)
	case number > n.number:
		registry.abort(n)
		n.set(number, useRetryable, nil)
		return false, nil
	case n.use != useRetryable:
		return false, mongoerr.New(mongoerr.IncompleteTransactionHistory,
			"Cannot retry a retryable write that has been converted into a transaction")
	default:
		return true, nil
	}
}

func (n *numbers) isHeld() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

func (n *numbers) kind() string {
	if n.use == useRetryable {
		return "retryable write"
	}
	return "transaction"
}

func (n *numbers) set(number int64, use numberUse, open *Transaction) {
	n.mu.Lock()
	n.number, n.use, n.open = number, use, open
	n.mu.Unlock()
}

// checkNotOld refuses a number below the greatest one that was used.
func (s *Session) checkNotOld(n *numbers, number int64) error {
	if number >= n.number {
		return nil
	}
	return mongoerr.New(mongoerr.TransactionTooOld,
		"Cannot start transaction with { txnNumber: %d } on session %s because a newer %s with txnNumberAndRetryCounter { txnNumber: %d } has already started on this session.",
		number, s.ID.Long(), n.kind(), n.number)
}

// BeginTransaction opens a transaction. What the session has open is aborted. The session is
// checked out.
func (s *Session) BeginTransaction(registry *Transactions, number int64, readConcern string,
	now time.Time) (*Transaction, error) {
	n := s.numbersOf()
	if err := s.checkNotOld(n, number); err != nil {
		return nil, err
	}
	if number == n.number {
		return nil, mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"Only servers in a sharded cluster can start a new transaction at the active transaction number")
	}
	registry.abort(n)
	t := &Transaction{
		Session: s, Number: number, Started: now, Expires: now.Add(registry.Lifetime()),
		ReadConcern: readConcern, since: now,
	}
	n.set(number, useInProgress, t)
	registry.add(t)
	return t, nil
}

// ContinueTransaction returns the open transaction of that number. committing is whether the
// command is commitTransaction: it may be sent again for a transaction that was committed, and nil
// is returned then. The session is checked out.
func (s *Session) ContinueTransaction(number int64, committing bool) (*Transaction, error) {
	n := s.numbersOf()
	if err := s.checkNotOld(n, number); err != nil {
		return nil, err
	}
	switch {
	case number != n.number || n.use == useRetryable || n.use == useNone:
		return nil, mongoerr.New(mongoerr.NoSuchTransaction,
			"Given transaction number %d does not match any in-progress transactions. The active transaction number is %d", number, n.number)
	case n.use == useAborted:
		return nil, mongoerr.New(mongoerr.NoSuchTransaction,
			"Transaction with { txnNumber: %d } has been aborted.", number)
	case n.use == useCommitted && !committing:
		return nil, mongoerr.New(mongoerr.TransactionCommitted,
			"Transaction with { txnNumber: %d } has been committed.", number)
	}
	return n.open, nil
}

// Long returns the session's id as MongoDB's messages about transactions print it.
func (id SessionID) Long() string {
	return id.String() + " - " + base64.StdEncoding.EncodeToString(id.User[:]) + " -  - "
}

// SetActive notes that a command of that client works on the transaction, or has ended.
func (t *Transaction) SetActive(active bool, client Client, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active {
		t.activeIn += now.Sub(t.since)
	}
	t.active, t.since, t.client = active, now, client
}

// TransactionInfo describes an open transaction for currentOp.
type TransactionInfo struct {
	SessionID   SessionID
	Number      int64
	ReadConcern string
	Client      Client
	Started     time.Time
	Expires     time.Time
	Open        time.Duration
	ActiveFor   time.Duration
	Active      bool
}

// Info describes the transaction.
func (t *Transaction) Info(now time.Time) TransactionInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	info := TransactionInfo{
		SessionID: t.Session.ID, Number: t.Number, ReadConcern: t.ReadConcern, Client: t.client,
		Started: t.Started, Expires: t.Expires, Open: now.Sub(t.Started), ActiveFor: t.activeIn, Active: t.active,
	}
	if t.active {
		info.ActiveFor += now.Sub(t.since)
	}
	return info
}
