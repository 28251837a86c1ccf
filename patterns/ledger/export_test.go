package ledger

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Half stores a transfer in a given state, as if its last update command had changed only the
// accounts in mask.
func (l *Ledger) Half(ctx context.Context, id string, state State, mask int, moves ...Move) (*Record, error) {
	t, err := l.newRecord(id, moves)
	if err != nil {
		return nil, err
	}
	t.State = state
	switch state {
	case Pending:
		err = l.Reserve(ctx, t, mask)
	case Held:
		t.Hold, t.HoldUntil = true, t.Deadline
		err = l.Reserve(ctx, t, -1)
	case Committed:
		t.Committed = l.env.Now()
		if err = l.Reserve(ctx, t, -1); err == nil {
			err = l.some(ctx, t, mask, func(leg Leg) mongo.WriteModel { return move(t.Run, leg) })
		}
	case Canceling:
		t.Reason = reasonInterrupted
		if err = l.Reserve(ctx, t, -1); err == nil {
			err = l.some(ctx, t, mask, func(leg Leg) mongo.WriteModel { return release(t.Run, leg) })
		}
	case Initial, Done, Canceled:
	}
	if err != nil {
		return nil, err
	}
	_, err = l.transfers.InsertOne(ctx, t)
	return t, err
}

// Reserve makes the reservations of t, as a worker does that slept after it took the transfer.
func (l *Ledger) Reserve(ctx context.Context, t *Record, mask int) error {
	return l.some(ctx, t, mask, func(leg Leg) mongo.WriteModel { return reserve(t.Run, leg) })
}

// Commit makes the next step of a worker that slept after Reserve: it commits the transfer.
func (l *Ledger) Commit(ctx context.Context, t *Record) error { return twoPhase{l}.execute(ctx, t) }

func (l *Ledger) some(ctx context.Context, t *Record, mask int, model func(Leg) mongo.WriteModel) error {
	var legs []Leg
	for i, leg := range t.Legs {
		if mask&(1<<i) != 0 {
			legs = append(legs, leg)
		}
	}
	if len(legs) == 0 {
		return nil
	}
	_, err := l.change(ctx, legs, model)
	return err
}
