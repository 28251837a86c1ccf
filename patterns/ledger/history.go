package ledger

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Entry is one line of an account's history.
type Entry struct {
	Transfer *Record
	// Amount is the change of the balance by the transfer. Balance is the balance after the
	// transfer.
	Amount, Balance Amount
}

// BalanceAt returns the balance of an account at a time: its opening balance and the sum of all
// transfers committed before that millisecond.
func (l *Ledger) BalanceAt(ctx context.Context, account string, at time.Time) (Amount, error) {
	a, err := l.Account(ctx, account)
	if err != nil {
		return 0, err
	}
	found, err := l.transfers.Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{
			{"legs.account", account}, {"committed", bson.D{{"$lt", at}}},
		}}},
		{{"$unwind", "$legs"}},
		{{"$match", bson.D{{"legs.account", account}}}},
		{{"$group", bson.D{{"_id", nil}, {"sum", bson.D{{"$sum", "$legs.posted"}}}}}},
	})
	if err != nil {
		return 0, wrap(err, "add up the transfers of %s", account)
	}
	var sums []struct{ Sum Amount }
	if err := found.All(ctx, &sums); err != nil {
		return 0, wrap(err, "add up the transfers of %s", account)
	}
	if len(sums) == 0 {
		return a.Opening, nil
	}
	return a.Opening + sums[0].Sum, nil
}

// History yields the transfers committed on an account at or after from and before to, the oldest
// first. It stops after the first error.
func (l *Ledger) History(ctx context.Context, account string, from, to time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		balance, err := l.BalanceAt(ctx, account, from)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		between := bson.D{
			{"legs.account", account}, {"committed", bson.D{{"$gte", from}, {"$lt", to}}},
		}
		order := bson.D{{"committed", 1}, {"_id", 1}}
		found, err := l.transfers.Find(ctx, between, options.Find().SetSort(order))
		if err != nil {
			yield(Entry{}, wrap(err, "read the history of %s", account))
			return
		}
		defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
		for found.Next(ctx) {
			t := &Record{}
			if err := found.Decode(t); err != nil {
				yield(Entry{}, wrap(err, "read the history of %s", account))
				return
			}
			e := Entry{Transfer: t}
			for _, leg := range t.Legs {
				if leg.Account == account {
					e.Amount = leg.Posted
				}
			}
			balance += e.Amount
			e.Balance = balance
			if !yield(e, nil) {
				return
			}
		}
		if err := found.Err(); err != nil {
			yield(Entry{}, wrap(err, "read the history of %s", account))
		}
	}
}
