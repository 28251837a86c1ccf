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

// Move is one movement of a transfer: an amount that leaves one account and reaches another.
type Move struct {
	From     string `bson:"from"`
	To       string `bson:"to"`
	Amount   Amount `bson:"amount"`
	Currency string `bson:"currency"`
	// Note is for people.
	Note string `bson:"note,omitempty"`
}

// Leg is what a transfer does to one account.
type Leg struct {
	Account  string `bson:"account"`
	Currency string `bson:"currency"`
	// Amount is what is reserved: negative on the account that pays.
	Amount Amount `bson:"amount"`
	// Posted is what the balance changes by. It is Amount but for a hold, where Post decides it.
	Posted Amount `bson:"posted"`
}

// State is how far a transfer has come.
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
	// App is the application that executes it.
	App     string    `bson:"app,omitempty"`
	Created time.Time `bson:"created"`
	// Committed is when it was decided that the transfer happens.
	Committed time.Time `bson:"committed,omitempty"`
	// Deadline is when others may go on with a transfer that is under way, when a hold expires, and
	// from when on one that was submitted may be executed. A transfer at its end has none, nor has
	// a hold that does not expire.
	Deadline time.Time `bson:"deadline,omitempty"`
	Moves    []Move    `bson:"moves"`
	Legs     []Leg     `bson:"legs"`
	// Hold is set where the amounts wait for Post; HoldUntil is when they are given back, if ever.
	Hold      bool      `bson:"hold,omitempty"`
	HoldUntil time.Time `bson:"holdUntil,omitempty"`
	// Queued is set where the transfer was submitted for others to execute.
	Queued bool `bson:"queued,omitempty"`
	// Reason is why it was canceled.
	Reason string `bson:"reason,omitempty"`
}

// reasons are the errors that are stored with a transfer, by the name that is stored.
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

// reasonOf is the name of an error that is stored.
func reasonOf(err error) string {
	for name, reason := range reasons {
		if errors.Is(err, reason) {
			return name
		}
	}
	return reasonInterrupted
}

// Err returns why a transfer was canceled; nil for one that was not, or not yet.
func (t *Record) Err() error {
	if t.State != Canceled && t.State != Canceling {
		return nil
	}
	if err, ok := reasons[t.Reason]; ok {
		return err
	}
	return ErrCanceled
}

// passing reports whether a transfer was canceled for a reason that says nothing about it.
func passing(reason string) bool { return reason == reasonBusy || reason == reasonInterrupted }

// undoPrefix begins the ids of transfers that undo others.
const undoPrefix = "undo:"

// legsOf adds the moves up for each account. Those that pay come first: they are the ones that can
// be refused.
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
				return nil, ErrCurrency // an account has one currency
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

// newRecord returns a transfer that is not stored yet.
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

// checkID refuses the ids that are those of undone transfers.
func checkID(id string) error {
	if strings.HasPrefix(id, undoPrefix) {
		return fmt.Errorf("%w: %s", ErrID, id)
	}
	return nil
}
