package failover

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Func is an operation: one or several commands on db, with ctx. What it reads it reads to the end:
// ctx ends when it returns.
type Func func(ctx context.Context, db *mongo.Database) error

// attempt executes fn once. missing says that the member that it was for does not answer at all.
func (f *Failover) attempt(ctx context.Context, db *mongo.Database, fn Func) (out outcome, missing bool, err error) {
	err = f.once(ctx, db, fn)
	out = classify(err)
	switch {
	case out == answered:
		f.seen(db)
		return out, false, err
	case ctx.Err() != nil: // of the caller
		return out, false, err
	case out == unknown:
		// A slow operation, or a connection that broke, says nothing of the deployment.
		missing = classify(f.once(ctx, db, hello)) != answered && ctx.Err() == nil
	default:
		missing = true
	}
	if missing {
		f.missed(Searching)
	}
	return out, missing, err
}

// once calls fn with the time of one attempt.
func (f *Failover) once(ctx context.Context, db *mongo.Database, fn Func) error {
	one, cancel := context.WithTimeout(ctx, f.cfg.Attempt)
	defer cancel()
	return fn(one, db)
}

// hello asks a member whether it is there.
func hello(ctx context.Context, db *mongo.Database) error {
	return db.RunCommand(ctx, bson.D{{"ping", 1}}).Err()
}

// Read executes a read. fn may be called several times, with the primary or with any member; in a
// session (Session.Context) it sees what the session has written in either case.
func (f *Failover) Read(ctx context.Context, fn Func) error {
	mode, probe := f.turn()
	if mode == Emergency && !probe {
		return ErrEmergency
	}
	lost := false // no member answers at all
	done, err := f.attempts(ctx, func() (done, stop bool, err error) {
		if mode == Normal || probe {
			out, missing, err := f.attempt(ctx, f.primary, fn)
			if out == answered || !missing {
				return out == answered, false, err
			}
		}
		out, missing, err := f.attempt(ctx, f.any, fn)
		if lost = missing; out == answered || mode == Emergency {
			return out == answered, true, err
		}
		mode, probe = f.turn()
		return false, mode == Emergency && !probe, err
	})
	if done || !lost || ctx.Err() != nil {
		return err
	}
	f.missed(Emergency)
	return fmt.Errorf("%w: %w", ErrEmergency, err)
}

// Repeat is what may be done with a write whose answer was lost.
type Repeat int

// What may be done.
const (
	// Never: the caller is told, by ErrUncertain.
	Never Repeat = iota
	// Always: to execute it twice is to execute it once, as with $set, upserts by _id, deletes.
	Always
	// Ask: Write.Done tells whether it was executed, as for inserts with a given _id.
	Ask
)

// Write is a write, and what may be done with it.
type Write struct {
	Do     Func
	Repeat Repeat
	// Done says whether Do was executed, for Ask. It reads from the primary.
	Done func(ctx context.Context, db *mongo.Database) (bool, error)
}

// Write executes a write, until it is done or the patience ends. ErrReadOnly says that it was not
// executed, ErrUncertain that this is not known; other errors are the server's, about the write
// itself.
func (f *Failover) Write(ctx context.Context, w Write) error {
	if w.Repeat == Ask && w.Done == nil {
		return errors.New("failover: a write to ask for, without Done")
	}
	if f.refused() {
		return ErrReadOnly
	}
	mode, probe := f.turn()
	if mode >= ReadOnly && !probe {
		return ErrReadOnly
	}
	t := &writing{f: f, w: w, single: mode >= ReadOnly}
	done, err := f.attempts(ctx, func() (bool, bool, error) {
		done, err := t.try(ctx)
		return done, t.stopped, err
	})
	if done {
		return err
	}
	if t.missing && ctx.Err() == nil {
		f.missed(ReadOnly)
	}
	switch {
	case t.ever: // even where Done has said no since: it may still be under way
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	case ctx.Err() != nil:
		return err
	default:
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
}

// writing is a write in progress.
type writing struct {
	f         *Failover
	w         Write
	single    bool // only to see whether there is a primary again
	ever      bool // an answer was lost
	uncertain bool // and it is not known what it was
	missing   bool // the primary was not there at the last attempt
	stopped   bool
}

// stop ends attempts that lead nowhere.
func (t *writing) stop(err error) (bool, error) {
	t.stopped = true
	return false, err
}

// try makes one attempt. done says that the outcome is known.
func (t *writing) try(ctx context.Context) (done bool, err error) {
	if t.uncertain && t.w.Repeat == Ask {
		if executed, err := t.ask(ctx); executed || err != nil {
			return executed, err
		}
	}
	var out outcome
	out, t.missing, err = t.f.attempt(ctx, t.f.primary, t.w.Do)
	switch {
	case out == answered && err != nil && t.ever && t.w.Repeat == Ask:
		// It may be refused because the one whose answer was lost was executed after all.
		t.uncertain = true
		executed, asked := t.ask(ctx)
		if asked != nil {
			return false, asked
		}
		if executed {
			return true, nil
		}
		return true, err
	case out == answered:
		return true, err
	case out == unknown:
		t.ever, t.uncertain = true, true
		if t.w.Repeat == Never {
			return t.stop(err)
		}
	}
	if t.single {
		return t.stop(err)
	}
	return false, err
}

// ask asks whether the write was executed.
func (t *writing) ask(ctx context.Context) (executed bool, err error) {
	out, missing, err := t.f.attempt(ctx, t.f.primary, func(ctx context.Context, db *mongo.Database) (err error) {
		executed, err = t.w.Done(ctx, db)
		return err
	})
	t.missing = missing
	if err == nil {
		t.uncertain = false
		return executed, nil
	}
	if out == answered || t.single {
		t.stopped = true
	}
	return false, err
}
