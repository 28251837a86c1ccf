package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Move is one part of a transfer: an amount that leaves one account and reaches another.
type Move struct {
	From     string `bson:"from"`
	To       string `bson:"to"`
	Amount   Amount `bson:"amount"`
	Currency string `bson:"currency"`
	// Note is a text for people. It has no effect on balances. A transfer that is repeated with the
	// same id must have the same notes, or it fails with ErrKeyReused.
	Note string `bson:"note,omitempty"`
}

// Leg is the effect of a transfer on one account.
type Leg struct {
	Account  string `bson:"account"`
	Currency string `bson:"currency"`
	// Amount is the reserved amount. It is negative on the account that pays.
	Amount Amount `bson:"amount"`
	// Posted is the change of the balance. It equals Amount, except in a hold: there it is zero
	// until Post or PostPart sets it.
	Posted Amount `bson:"posted"`
}

// State is the progress of a transfer.
type State string

// The states of a transfer.
const (
	Initial   State = "initial"
	Pending   State = "pending"
	Held      State = "held"
	Committed State = "committed"
	Done      State = "done"
	Canceling State = "canceling"
	Canceled  State = "canceled"
)

// Record is a transfer as it is stored.
type Record struct {
	ID    string        `bson:"_id"`
	State State         `bson:"state"`
	Run   bson.ObjectID `bson:"run"`
	// App is the application that executes the transfer.
	App     string    `bson:"app,omitempty"`
	Created time.Time `bson:"created"`
	// Committed is the time at which the transfer was committed.
	Committed time.Time `bson:"committed,omitempty"`
	// Deadline depends on the state. For a transfer under way it is the time from which other
	// processes may take it over. For a hold it is the time of expiry. For a submitted transfer it
	// is the earliest time of execution. It is zero for a finished transfer and for a hold that
	// does not expire.
	Deadline time.Time `bson:"deadline,omitempty"`
	Moves    []Move    `bson:"moves"`
	Legs     []Leg     `bson:"legs"`
	// Hold marks a hold: its amounts stay reserved until Post. HoldUntil is the time at which a
	// hold expires, or zero if it does not expire.
	Hold      bool      `bson:"hold,omitempty"`
	HoldUntil time.Time `bson:"holdUntil,omitempty"`
	// Queued marks a transfer that was submitted for other processes to execute.
	Queued bool `bson:"queued,omitempty"`
	// Reason is the name of the reason for which the transfer was canceled. Err returns it as an
	// error.
	Reason string `bson:"reason,omitempty"`
}

// reasons maps the names that documents store to the errors for which transfers are canceled.
var reasons = map[string]error{
	"insufficient funds": ErrInsufficientFunds,
	"ceiling":            ErrCeiling,
	"no account":         ErrNoAccount,
	"closed":             ErrClosed,
	"currency":           ErrCurrency,
	"canceled":           ErrCanceled,
	"expired":            ErrExpired,
	reasonBusy:           ErrBusy,
	reasonInterrupted:    ErrInterrupted,
}

const (
	reasonBusy        = "busy"
	reasonInterrupted = "interrupted"
)

// reasonOf returns the name under which documents store an error.
func reasonOf(err error) string {
	for name, reason := range reasons {
		if errors.Is(err, reason) {
			return name
		}
	}
	return reasonInterrupted
}

// Err returns the reason for which the transfer was canceled. It returns nil if the transfer is not
// canceled or canceling.
func (t *Record) Err() error {
	if t.State != Canceled && t.State != Canceling {
		return nil
	}
	if err, ok := reasons[t.Reason]; ok {
		return err
	}
	return ErrCanceled
}

// passing reports whether a reason is temporary: the transfer itself may succeed when it is tried
// again.
func passing(reason string) bool { return reason == reasonBusy || reason == reasonInterrupted }

// undoPrefix is the prefix of the ids of transfers that undo other transfers.
const undoPrefix = "undo:"

// legsOf adds up the moves for each account. The paying accounts come first, because they are the
// most likely to refuse.
func legsOf(moves []Move) ([]Leg, error) {
	if len(moves) == 0 || len(moves) > MaxMoves {
		return nil, fmt.Errorf("%w: %d moves", ErrAmount, len(moves))
	}
	sums := map[string]*Leg{}
	for _, m := range moves {
		if m.Amount <= 0 || m.Amount > NoCeiling/MaxMoves {
			return nil, fmt.Errorf("%w: %d", ErrAmount, m.Amount)
		}
		if m.From == m.To {
			return nil, fmt.Errorf("%w: from %s to itself", ErrAmount, m.From)
		}
		for _, side := range []Leg{{Account: m.From, Amount: -m.Amount}, {Account: m.To, Amount: m.Amount}} {
			leg := sums[side.Account]
			if leg == nil {
				leg = &Leg{Account: side.Account, Currency: m.Currency}
				sums[side.Account] = leg
			}
			if leg.Currency != m.Currency {
				return nil, ErrCurrency // the moves of one account must have the same currency
			}
			leg.Amount += side.Amount
		}
	}
	legs := make([]Leg, 0, len(sums))
	for _, leg := range sums {
		leg.Posted = leg.Amount
		legs = append(legs, *leg)
	}
	slices.SortFunc(legs, func(a, b Leg) int {
		return cmp.Or(cmp.Compare(a.Amount, b.Amount), cmp.Compare(a.Account, b.Account))
	})
	return legs, nil
}

// newRecord returns a pending transfer that is not stored yet.
func (l *Ledger) newRecord(id string, moves []Move) (*Record, error) {
	if id == "" {
		return nil, ErrID
	}
	legs, err := legsOf(moves)
	if err != nil {
		return nil, err
	}
	now := l.env.Now()
	return &Record{
		ID: id, State: Pending, Run: bson.NewObjectID(), App: l.cfg.App,
		Created: now, Deadline: now.Add(l.cfg.Timeout), Moves: moves, Legs: legs,
	}, nil
}

// checkID refuses ids with the prefix reserved for the transfers of Undo.
func checkID(id string) error {
	if strings.HasPrefix(id, undoPrefix) {
		return fmt.Errorf("%w: %s", ErrID, id)
	}
	return nil
}
