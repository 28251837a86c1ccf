package ledger

import (
	"context"
	"fmt"
	"slices"
)

// Post executes the moves of a hold. Posting a posted hold again returns the transfer and no error.
// Post returns ErrNotHeld if the transfer is not a hold, and ErrExpired if the hold has expired.
func (l *Ledger) Post(ctx context.Context, id string) (*Record, error) {
	return l.post(ctx, id, func(t *Record) ([]Leg, error) {
		legs := slices.Clone(t.Legs)
		for i := range legs {
			legs[i].Posted = legs[i].Amount
		}
		return legs, nil
	})
}

// PostPart executes the only move of a hold with the given amount, and releases the rest of the
// reservation. It fails with ErrAmount if the hold has several moves or reserves less than the
// amount.
func (l *Ledger) PostPart(ctx context.Context, id string, amount Amount) (*Record, error) {
	return l.post(ctx, id, func(t *Record) ([]Leg, error) {
		if len(t.Moves) != 1 || amount <= 0 || amount > t.Moves[0].Amount {
			return nil, fmt.Errorf("%w: %d of %v", ErrAmount, amount, t.Moves)
		}
		legs := slices.Clone(t.Legs)
		legs[0].Posted, legs[1].Posted = -amount, amount
		return legs, nil
	})
}

// post posts the amounts that the function legs returns for a hold.
func (l *Ledger) post(ctx context.Context, id string, legs func(*Record) ([]Leg, error)) (*Record, error) {
	for range maxTurns {
		t, err := l.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if t.Err() != nil {
			return t, t.Err()
		}
		posted, err := legs(t)
		switch {
		case err != nil:
			return nil, err
		case !t.Hold || t.State == Pending || t.State == Initial:
			return t, fmt.Errorf("%w: %s is %s", ErrNotHeld, id, t.State)
		case t.State != Held: // committed or done
			if !slices.Equal(t.Legs, posted) {
				return t, ErrKeyReused
			}
			return t, nil
		case !t.HoldUntil.IsZero() && !l.env.Now().Before(t.HoldUntil):
			if err := l.abandon(ctx, t, reasonOf(ErrExpired)); err != nil {
				return nil, err
			}
			continue
		}
		if err := l.engine.post(ctx, t, posted); err != nil {
			return nil, err
		}
	}
	return nil, ErrInProgress
}

// Cancel cancels a transfer that is not committed: a submitted transfer, a transfer under way, or a
// hold. Canceling it again is not an error. Cancel returns ErrApplied if the transfer is already
// committed.
func (l *Ledger) Cancel(ctx context.Context, id string) error {
	for range maxTurns {
		t, err := l.Get(ctx, id)
		if err != nil {
			return err
		}
		switch t.State {
		case Canceled:
			return nil
		case Committed, Done:
			return ErrApplied
		case Canceling:
			err = l.giveBack(ctx, t)
		case Initial, Pending, Held:
			err = l.abandon(ctx, t, reasonOf(ErrCanceled))
		}
		if err != nil {
			return err
		}
	}
	return ErrInProgress
}
