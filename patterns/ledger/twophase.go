package ledger

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// twoPhase executes transfers without a transaction: each update changes one document.
type twoPhase struct{ *Ledger }

// execute implements engine.
func (e twoPhase) execute(ctx context.Context, t *Record) error {
	reserved, err := e.change(ctx, t.Legs, func(leg Leg) mongo.WriteModel { return reserve(t.Run, leg) })
	if err != nil {
		return err
	}
	if reserved < len(t.Legs) {
		refusal, err := e.refusal(ctx, t.Legs)
		if err != nil {
			return err
		}
		return e.abandon(ctx, t, reasonOf(refusal))
	}
	if t.Hold {
		return e.decide(ctx, t, Held, heldUntil(t))
	}
	now := e.env.Now()
	set := bson.D{{"committed", now}, {"deadline", now.Add(e.cfg.Timeout)}}
	if err := e.decide(ctx, t, Committed, bson.D{{"$set", set}}); err != nil || t.State != Committed {
		return err
	}
	return e.settle(ctx, t)
}

// heldUntil returns the change that sets when a hold expires.
func heldUntil(t *Record) bson.D {
	if t.HoldUntil.IsZero() {
		return bson.D{{"$unset", bson.D{{"deadline", ""}}}}
	}
	return bson.D{{"$set", bson.D{{"deadline", t.HoldUntil}}}}
}

// post implements engine.
func (e twoPhase) post(ctx context.Context, t *Record, posted []Leg) error {
	if err := e.decide(ctx, t, Committed, postChange(e.Ledger, posted)); err != nil || t.State != Committed {
		return err
	}
	return e.settle(ctx, t)
}

func postChange(l *Ledger, posted []Leg) bson.D {
	now := l.env.Now()
	return bson.D{{"$set", bson.D{
		{"committed", now}, {"deadline", now.Add(l.cfg.Timeout)}, {"legs", posted},
	}}}
}

// decide moves a transfer to the next state, if the stored transfer still has the state and the run
// of t. If another process has changed it, decide helps to finish that change. Afterwards t is the
// stored transfer.
func (l *Ledger) decide(ctx context.Context, t *Record, to State, change bson.D) error {
	now, err := l.step(ctx, asIs(t), withState(change, to), nil)
	if err != nil {
		return err
	}
	if now != nil {
		*t = *now
		return nil
	}
	return l.lookAgain(ctx, t)
}

// lookAgain reads a transfer that another process has changed, and finishes what that process has
// begun. It returns ErrInterrupted if the transfer has another run by now.
func (l *Ledger) lookAgain(ctx context.Context, t *Record) error {
	stored, err := l.Get(ctx, t.ID)
	if err != nil {
		return err
	}
	if stored.Run != t.Run { // the transfer was rolled back, and another process already tries it again
		return ErrInterrupted
	}
	*t = *stored
	if t.State == Canceling || t.State == Committed {
		return l.drive(ctx, t)
	}
	return nil
}

// asIs returns the filter that matches a transfer only if its state and its run are unchanged.
func asIs(t *Record) bson.D {
	return bson.D{{"_id", t.ID}, {"state", t.State}, {"run", t.Run}}
}

// withState adds a new state to the $set of a change.
func withState(change bson.D, to State) bson.D {
	state := bson.E{"state", to}
	for i, op := range change {
		if set, ok := op.Value.(bson.D); ok && op.Key == "$set" {
			change[i].Value = append(set, state)
			return change
		}
	}
	return append(change, bson.E{"$set", bson.D{state}})
}

// settle turns the reservations of a committed transfer into balances.
func (l *Ledger) settle(ctx context.Context, t *Record) error {
	if _, err := l.change(ctx, t.Legs, func(leg Leg) mongo.WriteModel { return move(t.Run, leg) }); err != nil {
		return err
	}
	return l.end(ctx, t, Done)
}

// abandon cancels a transfer: it sets the state canceling, releases its reservations, and prevents
// its run from reserving more.
func (l *Ledger) abandon(ctx context.Context, t *Record, reason string) error {
	set := bson.D{{"reason", reason}, {"deadline", l.env.Now().Add(l.cfg.Timeout)}}
	if err := l.decide(ctx, t, Canceling, bson.D{{"$set", set}}); err != nil || t.State != Canceling {
		return err
	}
	return l.giveBack(ctx, t)
}

// giveBack completes the cancellation that abandon has begun.
func (l *Ledger) giveBack(ctx context.Context, t *Record) error {
	if _, err := l.change(ctx, t.Legs, func(leg Leg) mongo.WriteModel { return release(t.Run, leg) }); err != nil {
		return err
	}
	if t.Queued && passing(t.Reason) {
		return l.end(ctx, t, Initial)
	}
	return l.end(ctx, t, Canceled)
}

// end moves a transfer to its final state, or back to initial if it shall be tried again.
func (l *Ledger) end(ctx context.Context, t *Record, state State) error {
	change := bson.D{{"$unset", bson.D{{"deadline", ""}}}}
	if state == Initial {
		change = bson.D{
			{"$set", bson.D{{"deadline", l.env.Now()}}},
			{"$unset", bson.D{{"reason", ""}, {"app", ""}}},
		}
	}
	if _, err := l.transfers.UpdateOne(ctx, asIs(t), withState(change, state)); err != nil {
		return wrap(err, "end transfer %s", t.ID)
	}
	// If the update matched nothing, another process has already ended the transfer.
	if t.State, t.Deadline = state, (time.Time{}); state == Initial {
		t.Deadline = l.env.Now()
	}
	return nil
}

// change updates the accounts of a transfer in one command. It returns the number of accounts that
// matched the condition of their update.
func (l *Ledger) change(ctx context.Context, legs []Leg, model func(Leg) mongo.WriteModel) (int, error) {
	models := make([]mongo.WriteModel, len(legs))
	for i, leg := range legs {
		models[i] = model(leg)
	}
	res, err := l.accounts.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	if err != nil {
		return 0, wrap(err, "change %d accounts", len(legs))
	}
	return int(res.MatchedCount), nil
}

// refusal returns the reason why an account does not allow the transfer. It returns ErrBusy if the
// accounts allow the transfer by now. The second result is an error of the database.
func (l *Ledger) refusal(ctx context.Context, legs []Leg) (error, error) {
	for _, leg := range legs {
		a, err := l.Account(ctx, leg.Account)
		switch {
		case errors.Is(err, ErrNoAccount):
			return ErrNoAccount, nil
		case err != nil:
			return nil, err
		case a.Closed:
			return ErrClosed, nil
		case a.Currency != leg.Currency:
			return ErrCurrency, nil
		case leg.Amount < 0 && a.Available()+leg.Amount < a.Floor:
			return ErrInsufficientFunds, nil
		case leg.Amount > 0 && a.Balance+a.Incoming+leg.Amount > a.Ceiling:
			return ErrCeiling, nil
		}
	}
	return ErrBusy, nil
}
