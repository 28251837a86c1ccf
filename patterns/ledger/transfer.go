package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Transfer makes the moves, all of them or none. id is the transfer's idempotency key: calling it
// again returns what became of the transfer, and executes it only if it was interrupted before.
func (l *Ledger) Transfer(ctx context.Context, id string, moves ...Move) (*Record, error) {
	t, err := l.newRecord(id, moves)
	if err := errors.Join(err, checkID(id)); err != nil {
		return nil, err
	}
	return l.run(ctx, t, passing)
}

// Hold reserves the moves until Post makes them, Cancel gives them up, or the time is over. Zero is
// no end. Its id is that of Transfer.
func (l *Ledger) Hold(ctx context.Context, id string, lasts time.Duration, moves ...Move) (*Record, error) {
	t, err := l.newRecord(id, moves)
	if err := errors.Join(err, checkID(id)); err != nil {
		return nil, err
	}
	t.Hold = true
	if lasts > 0 {
		t.HoldUntil = t.Created.Add(lasts)
	}
	for i := range t.Legs {
		t.Legs[i].Posted = 0
	}
	return l.run(ctx, t, passing)
}

// Submit stores a transfer for others to execute, now or from a later time on: see Work and Run.
// Get tells what became of it.
func (l *Ledger) Submit(ctx context.Context, id string, from time.Time, moves ...Move) error {
	t, err := l.newRecord(id, moves)
	if err := errors.Join(err, checkID(id)); err != nil {
		return err
	}
	t.State, t.App, t.Queued, t.Deadline = Initial, "", true, t.Created
	if from.After(t.Created) {
		t.Deadline = from
	}
	_, err = l.transfers.InsertOne(ctx, t)
	if mongo.IsDuplicateKeyError(err) {
		_, err = l.same(ctx, t)
		return err
	}
	return wrap(err, "submit %s", id)
}

// Get returns a transfer, or ErrNoTransfer.
func (l *Ledger) Get(ctx context.Context, id string) (*Record, error) {
	t := &Record{}
	err := l.transfers.FindOne(ctx, bson.D{{"_id", id}}).Decode(t)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNoTransfer
	}
	if err != nil {
		return nil, wrap(err, "read transfer %s", id)
	}
	return t, nil
}

// same returns the stored transfer with the id of t, or ErrKeyReused where it is another one.
func (l *Ledger) same(ctx context.Context, t *Record) (*Record, error) {
	old, err := l.Get(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	if old.Hold != t.Hold || !slices.Equal(old.Moves, t.Moves) {
		return nil, ErrKeyReused
	}
	return old, nil
}

// maxTurns bounds how often an operation looks again at a transfer that others change.
const maxTurns = 100

// run stores a transfer and executes it. again says which reasons allow one that was canceled to be
// tried again.
func (l *Ledger) run(ctx context.Context, t *Record, again func(reason string) bool) (*Record, error) {
	_, err := l.transfers.InsertOne(ctx, t)
	if err == nil {
		return l.execute(ctx, t)
	}
	if !mongo.IsDuplicateKeyError(err) {
		return nil, wrap(err, "store transfer %s", t.ID)
	}
	for range maxTurns {
		old, err := l.same(ctx, t)
		if err != nil {
			return nil, err
		}
		late := !old.Deadline.IsZero() && !l.env.Now().Before(old.Deadline)
		switch {
		case old.State == Done || old.State == Committed || old.State == Held && !late:
			return old, nil
		case old.State == Canceled && !again(old.Reason):
			return old, old.Err()
		case old.State == Canceled || old.State == Initial:
			mine, err := l.take(ctx, old, t)
			if mine != nil || err != nil {
				return l.executeTaken(ctx, mine, err)
			}
		case !late:
			return old, ErrInProgress
		default:
			if err := l.drive(ctx, old); err != nil {
				return nil, err
			}
		}
	}
	return nil, ErrInProgress
}

// take makes a transfer that stands still, as old says, the caller's with the run of t. It returns
// nil where another was faster.
func (l *Ledger) take(ctx context.Context, old, t *Record) (*Record, error) {
	still := bson.D{{"_id", old.ID}, {"state", old.State}, {"run", old.Run}}
	set := bson.D{
		{"state", Pending},
		{"run", t.Run},
		{"app", l.cfg.App},
		{"deadline", l.env.Now().Add(l.cfg.Timeout)},
	}
	gone := bson.D{{"reason", ""}}
	if t.HoldUntil.IsZero() {
		gone = append(gone, bson.E{"holdUntil", ""})
	} else {
		set = append(set, bson.E{"holdUntil", t.HoldUntil})
	}
	return l.step(ctx, still, bson.D{{"$set", set}, {"$unset", gone}}, nil)
}

func (l *Ledger) executeTaken(ctx context.Context, t *Record, err error) (*Record, error) {
	if err != nil {
		return nil, err
	}
	return l.execute(ctx, t)
}

// step changes the transfer that a condition selects and returns it as it is then, nil where there
// is none.
func (l *Ledger) step(ctx context.Context, from, change, sort bson.D) (*Record, error) {
	t := &Record{}
	opts := options.FindOneAndUpdate().SetReturnDocument(options.After)
	if sort != nil {
		opts.SetSort(sort)
	}
	err := l.transfers.FindOneAndUpdate(ctx, from, change, opts).Decode(t)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap(err, "change a transfer")
	}
	return t, nil
}

// execute executes a transfer that is the caller's. Where that does not come to an end, it says
// what is known.
func (l *Ledger) execute(ctx context.Context, t *Record) (*Record, error) {
	started := l.env.Now()
	err := l.engine.execute(ctx, t)
	if err == nil {
		l.env.Metrics.Add("ledger."+string(t.State), 1)
		l.env.Metrics.Observe("ledger.transfer", l.env.Now().Sub(started))
		return t, t.outcome()
	}
	// It is not known what was done. If this process lives it need not wait for Repair: what is
	// left tells how to go on.
	stored, getErr := l.Get(ctx, t.ID)
	if getErr != nil {
		return nil, errors.Join(err, getErr)
	}
	if stored.Run != t.Run {
		return nil, errors.Join(err, ErrInterrupted)
	}
	if driveErr := l.drive(ctx, stored); driveErr != nil {
		return nil, errors.Join(err, driveErr)
	}
	if stored.outcome() != nil {
		return stored, errors.Join(err, stored.outcome())
	}
	return stored, nil
}

// outcome is what the caller of a transfer hears.
func (t *Record) outcome() error {
	if t.State == Initial { // it was rolled back, and waits for others again
		return ErrInterrupted
	}
	return t.Err()
}

// Undo makes the moves of a transfer that was applied in the other direction, once, however often
// it is called.
func (l *Ledger) Undo(ctx context.Context, id string) (*Record, error) {
	t, err := l.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if t.State != Done && t.State != Committed {
		return nil, fmt.Errorf("%w: %s is %s", ErrNotHeld, id, t.State)
	}
	back := slices.Clone(t.Moves)
	for i := range back {
		back[i].From, back[i].To = back[i].To, back[i].From
	}
	if len(back) == 1 { // of a hold, Post may have taken less than was reserved
		back[0].Amount = max(t.Legs[0].Posted, -t.Legs[0].Posted)
	}
	undo, err := l.newRecord(undoPrefix+id, back)
	if err != nil {
		return nil, err
	}
	// What refused it once, too little money, for example, may be over.
	return l.run(ctx, undo, func(string) bool { return true })
}
