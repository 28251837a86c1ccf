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
	// Opening is the balance with which the account was opened, for example a balance brought over
	// from another system. It is usually zero.
	Opening Amount `bson:"opening"`
	Balance Amount `bson:"balance"`
	// Outgoing and Incoming are the amounts that transfers have reserved and not yet posted:
	// Outgoing will leave the account, Incoming will reach it.
	Outgoing Amount `bson:"outgoing"`
	Incoming Amount `bson:"incoming"`
	// Floor is the lowest value that Balance - Outgoing may have. It is zero for most accounts,
	// negative for an account that may be overdrawn, and NoFloor for no limit.
	Floor Amount `bson:"floor"`
	// Ceiling is the highest value that Balance + Incoming may have. Open stores NoCeiling if it is
	// zero.
	Ceiling Amount `bson:"ceiling"`
	Closed  bool   `bson:"closed"`
	// Pending lists the runs of the transfers that have reserved an amount on the account.
	Pending []bson.ObjectID `bson:"pending"`
}

// Available returns the balance without the amounts reserved by outgoing transfers. The account can
// spend Available() - Floor.
func (a *Account) Available() Amount { return a.Balance - a.Outgoing }

// stored is the document of an account. Only the ledger itself uses the field Fences: it lists the
// runs that were rolled back.
type stored struct {
	Account `bson:",inline"`
	Fences  []bson.ObjectID `bson:"fences"`
}

// Open creates an account from the fields ID, Currency, Opening, Floor and Ceiling of a; it ignores
// the other fields. Opening an account again with the same fields succeeds and changes nothing.
// Open returns ErrExists if the account exists with other values in these fields.
//
// Money enters the ledger through accounts without a floor. Such an account stands for the outside
// world: its balance may be negative without limit.
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

// Account returns the account with this id, or ErrNoAccount.
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

// SetLimits sets the floor and the ceiling of an account. It returns ErrInsufficientFunds or
// ErrCeiling, and changes nothing, if the account already exceeds a new limit.
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

// Close closes an account for ever: no transfer can use it any more. It returns ErrNotEmpty if the
// balance is not zero or a transfer is under way on the account.
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

// wrap adds to a database error the operation that failed. It returns nil if err is nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger: %s: %w", fmt.Sprintf(format, args...), err)
}
