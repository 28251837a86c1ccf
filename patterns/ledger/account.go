package ledger

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Account is an account as it is stored.
type Account struct {
	ID       string `bson:"_id"`
	Currency string `bson:"currency"`
	// Opening is the balance that the account was opened with: that of another system, or zero.
	Opening Amount `bson:"opening"`
	Balance Amount `bson:"balance"`
	// Outgoing and Incoming are reserved by transfers that are not committed.
	Outgoing Amount `bson:"outgoing"`
	Incoming Amount `bson:"incoming"`
	// Floor is what Balance - Outgoing does not fall below: zero, less where the account may be
	// overdrawn, or NoFloor.
	Floor Amount `bson:"floor"`
	// Ceiling is what Balance + Incoming does not rise above. Open takes zero for NoCeiling.
	Ceiling Amount `bson:"ceiling"`
	Closed  bool   `bson:"closed"`
	// Pending are the runs of the transfers that have something reserved.
	Pending []bson.ObjectID `bson:"pending"`
}

// Available is what can be spent, down to the floor.
func (a *Account) Available() Amount { return a.Balance - a.Outgoing }

// stored is an account with what is nobody else's business.
type stored struct {
	Account `bson:",inline"`
	Fences  []bson.ObjectID `bson:"fences"`
}

// Open opens an account: of its fields ID, Currency, Opening, Floor and Ceiling are taken. Opening
// it again is no error; ErrExists says that it is another one.
//
// An account without a floor, such as the outside world's, is where amounts come from that nobody
// had before.
func (l *Ledger) Open(ctx context.Context, a Account) error {
	a.Ceiling = or(a.Ceiling, NoCeiling)
	if a.ID == "" || a.Floor < NoFloor || a.Ceiling > NoCeiling || a.Opening < a.Floor || a.Opening > a.Ceiling {
		return fmt.Errorf("%w: account %q with %d between %d and %d", ErrAmount, a.ID, a.Opening, a.Floor, a.Ceiling)
	}
	doc := stored{
		Account: Account{
			ID: a.ID, Currency: a.Currency, Opening: a.Opening, Balance: a.Opening, Floor: a.Floor, Ceiling: a.Ceiling,
			Pending: []bson.ObjectID{},
		},
		Fences: []bson.ObjectID{},
	}
	_, err := l.accounts.InsertOne(ctx, doc)
	if !mongo.IsDuplicateKeyError(err) {
		return wrap(err, "open account %s", a.ID)
	}
	old, err := l.Account(ctx, a.ID)
	if err != nil {
		return err
	}
	if old.Currency != a.Currency || old.Opening != a.Opening || old.Floor != a.Floor || old.Ceiling != a.Ceiling {
		return ErrExists
	}
	return nil
}

// Account returns an account, or ErrNoAccount.
func (l *Ledger) Account(ctx context.Context, id string) (*Account, error) {
	a := &Account{}
	err := l.accounts.FindOne(ctx, bson.D{{"_id", id}}).Decode(a)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNoAccount
	}
	if err != nil {
		return nil, wrap(err, "read account %s", id)
	}
	return a, nil
}

// SetLimits changes the limits of an account. It fails with ErrInsufficientFunds or ErrCeiling
// where the account is beyond them.
func (l *Ledger) SetLimits(ctx context.Context, id string, floor, ceiling Amount) error {
	if floor < NoFloor || ceiling > NoCeiling || floor > ceiling {
		return fmt.Errorf("%w: limits %d and %d", ErrAmount, floor, ceiling)
	}
	within := bson.D{{"_id", id}, {"$expr", bson.D{{"$and", bson.A{
		bson.D{{"$gte", bson.A{bson.D{{"$subtract", bson.A{"$balance", "$outgoing"}}}, floor}}},
		bson.D{{"$lte", bson.A{bson.D{{"$add", bson.A{"$balance", "$incoming"}}}, ceiling}}},
	}}}}}
	set := bson.D{{"$set", bson.D{{"floor", floor}, {"ceiling", ceiling}}}}
	res, err := l.accounts.UpdateOne(ctx, within, set)
	if err != nil || res.MatchedCount > 0 {
		return wrap(err, "set the limits of account %s", id)
	}
	a, err := l.Account(ctx, id)
	if err != nil {
		return err
	}
	if a.Available() < floor {
		return ErrInsufficientFunds
	}
	return ErrCeiling
}

// Close closes an account for ever. It must be empty, and nothing under way on it.
func (l *Ledger) Close(ctx context.Context, id string) error {
	empty := bson.D{{"_id", id}, {"balance", Amount(0)}, {"pending", bson.A{}}}
	res, err := l.accounts.UpdateOne(ctx, empty, bson.D{{"$set", bson.D{{"closed", true}}}})
	if err != nil || res.MatchedCount > 0 {
		return wrap(err, "close account %s", id)
	}
	if _, err := l.Account(ctx, id); err != nil {
		return err
	}
	return ErrNotEmpty
}

// wrap says what was done when an error of the database occurred.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger: %s: %w", fmt.Sprintf(format, args...), err)
}
