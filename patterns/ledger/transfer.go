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

// Transfer executes all the moves or none of them. id is the idempotency key of the transfer:
// calling Transfer again returns the result of the stored transfer, and executes it again only if
// it was canceled as interrupted or busy.
func (l *Ledger) Transfer(ctx context.Context, id string, moves ...Move) (*Record, error) {
	t, err := l.newRecord(id, moves)
	if err := errors.Join(err, checkID(id)); err != nil {
		return nil, err
	}
	return l.run(ctx, t, passing)
}

// Hold reserves the amounts of the moves. The reservation ends with Post, with Cancel, or when the
// duration lasts is over; if lasts is zero, it does not expire. id is an idempotency key, as in
// Transfer.
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

// Submit stores a transfer that Work or Run execute later, at the time from, or as soon as possible
// after it. Get returns its progress.
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

// Get returns the transfer with this id, or ErrNoTransfer.
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

// same returns the stored transfer with the id of t, or ErrKeyReused if its moves differ.
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

// maxTurns limits how often an operation starts over because other processes change the transfer.
const maxTurns = 100

// run stores a transfer and executes it. again reports whether a transfer that was canceled for a
// reason may be tried again.
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

// take makes the caller the owner of a transfer that no process executes: it stores the run of t.
// It returns nil if another process has changed the transfer since old was read.
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

// step applies the update change to the first transfer that matches the filter from, and returns
// the changed transfer. It returns nil if no transfer matches.
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

// execute executes a transfer that the caller owns. If the engine fails, execute reads the transfer
// again, tries to finish it, and returns the result together with the error.
func (l *Ledger) execute(ctx context.Context, t *Record) (*Record, error) {
	started := l.env.Now()
	err := l.engine.execute(ctx, t)
	if err == nil {
		l.env.Metrics.Add("ledger."+string(t.State), 1)
		l.env.Metrics.Observe("ledger.transfer", l.env.Now().Sub(started))
		return t, t.outcome()
	}
	// The engine may have failed in any step. This process need not wait for Repair: the stored
	// transfer tells which steps are left.
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

// outcome returns the error that the caller of a transfer gets, or nil if the transfer happened.
func (t *Record) outcome() error {
	if t.State == Initial { // the transfer was rolled back, and waits to be executed again
		return ErrInterrupted
	}
	return t.Err()
}

// Undo makes a transfer in the other direction for a transfer that was applied. However often Undo
// is called, it makes only one such transfer. It returns ErrNotHeld if the transfer was not
// applied.
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
	if len(back) == 1 { // PostPart may have posted less than the hold reserved
		back[0].Amount = max(t.Legs[0].Posted, -t.Legs[0].Posted)
	}
	undo, err := l.newRecord(undoPrefix+id, back)
	if err != nil {
		return nil, err
	}
	// Undo is tried again whatever the reason of an earlier refusal was: the receiver may have
	// enough money by now.
	return l.run(ctx, undo, func(string) bool { return true })
}
