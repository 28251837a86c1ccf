package session

import (
	"encoding/base64"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// noNumber is the transaction number of a session that has not used any number.
const noNumber = -1

// numberUse is the use of a session's greatest transaction number.
type numberUse int

const (
	useNone       numberUse = iota // no number was used yet
	useRetryable                   // retryable writes
	useInProgress                  // a transaction that is open
	useCommitted                   // a transaction that was committed
	useAborted                     // a transaction that was aborted
)

// numbers is the state machine of a session's transaction numbers. Only one operation at a time can
// check it out. Only that operation changes it and uses the open transaction.
//
//	              a greater number                  commit
//	useNone ─────────────────────> useInProgress ─────────> useCommitted
//	   │                                │   abort, any error of a statement, lifetime, end of the session
//	   │ a greater number               └───────────────────> useAborted
//	   └────────────> useRetryable
//
// From every state a greater number leads to useInProgress or useRetryable, and aborts an open
// transaction.
type numbers struct {
	mu       sync.Mutex
	number   int64
	use      numberUse
	open     *Transaction // in useInProgress
	holder   *Op          // the operation that has it checked out
	holderID int64
	held     bool
	released chan struct{} // closed at the next check-in; nil while nobody waits
	// doomed means that the open transaction must be aborted at the next check-in.
	doomed bool
	// restored means that the session's history from before the start of the server is loaded.
	restored bool
}

// Work is the state of a transaction's statements. Only one goroutine at a time calls its methods.
type Work interface {
	// Abort undoes all changes. It is called once, and not after a commit.
	Abort()
}

// Transaction is an open multi-document transaction.
type Transaction struct {
	Session *Session
	Number  int64
	Started time.Time
	Expires time.Time
	// ReadConcern is the level from the first command, or empty.
	ReadConcern string
	// API has the stable API parameters of the first command.
	API API
	// Work is set by the first command. Only the operation that has the session checked out uses
	// it.
	Work Work

	mu       sync.Mutex // guards the fields below
	client   Client
	since    time.Time // when the transaction became active or inactive
	active   bool
	activeIn time.Duration
}

// numbersOf returns the session's transaction numbers. It creates them if they are new.
func (s *Session) numbersOf() *numbers {
	if n := s.txns.Load(); n != nil {
		return n
	}
	s.txns.CompareAndSwap(nil, &numbers{number: noNumber})
	return s.txns.Load()
}

// CheckOut takes the session's transaction numbers for one operation. While another operation has
// them, CheckOut waits, at most until op is ended. The caller must call CheckIn.
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

// CheckIn gives back the numbers that CheckOut took. It aborts a transaction that was killed
// meanwhile.
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

// IsRestored reports whether the session's history is known. The session may have been used before
// the server was started. If IsRestored is false, the operation that has checked the session out
// loads the history and calls Restore.
func (s *Session) IsRestored() bool { return s.numbersOf().restored }

// Restore sets the number that the session used last, and whether it belonged to a committed
// transaction. The number is negative if the session has used no number. The session must be
// checked out.
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

// Forget drops the session's history, so that it will be loaded again. The session must be checked
// out and have no open transaction.
func (s *Session) Forget() {
	n := s.numbersOf()
	n.set(noNumber, useNone, nil)
	n.restored = false
}

// TryCheckOut is CheckOut for callers that are not operations. It does not wait: it returns false
// if an operation has the numbers.
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

// BeginRetryable starts a retryable write with that number. known reports whether the session has
// already used the number for retryable writes. The session must be checked out.
func (s *Session) BeginRetryable(registry *Transactions, number int64) (known bool, err error) {
	n := s.numbersOf()
	switch {
	case number < n.number:
		return false, mongoerr.New(mongoerr.TransactionTooOld,
			"Retryable write with txnNumber %d is prohibited on session %s because a newer %s with txnNumber %d has already started on this session.",
			number, s.ID.long(), n.kind(), n.number)
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

// checkNotOld returns an error if a number is less than the greatest one used.
func (s *Session) checkNotOld(n *numbers, number int64) error {
	if number >= n.number {
		return nil
	}
	return mongoerr.New(mongoerr.TransactionTooOld,
		"Cannot start transaction with { txnNumber: %d } on session %s because a newer %s with txnNumberAndRetryCounter { txnNumber: %d } has already started on this session.",
		number, s.ID.long(), n.kind(), n.number)
}

// BeginTransaction opens a transaction. If the session already has an open transaction, it is
// aborted. The session must be checked out.
func (s *Session) BeginTransaction(registry *Transactions, number int64, readConcern string,
	now time.Time,
) (*Transaction, error) {
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
		Session: s, Number: number, Started: now, Expires: now.Add(time.Duration(registry.lifetime.Load())),
		ReadConcern: readConcern, since: now,
	}
	n.set(number, useInProgress, t)
	registry.add(t)
	return t, nil
}

// ContinueTransaction returns the open transaction with that number. committing means that the
// command is commitTransaction. It may be sent again after the commit, and then the result is nil.
// The session must be checked out.
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

// long returns the session's id in the form of MongoDB's messages about transactions.
func (id SessionID) long() string {
	return id.String() + " - " + base64.StdEncoding.EncodeToString(id.User[:]) + " -  - "
}

// SetActive records that a command of that client works on the transaction, or has ended.
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
