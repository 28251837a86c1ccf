package failover

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Func is an operation: one or several commands on db with ctx. It must read its results
// completely, because ctx ends when it returns.
type Func func(ctx context.Context, db *mongo.Database) error

// attempt executes fn once. missing reports that the member did not answer at all.
func (f *Failover) attempt(ctx context.Context, db *mongo.Database, fn Func) (out outcome, missing bool, err error) {
	err = f.once(ctx, db, fn)
	out = classify(err)
	switch {
	case out == answered:
		f.seen(db)
		return out, false, err
	case ctx.Err() != nil: // the caller's context has ended
		return out, false, err
	case out == unknown:
		// A slow operation or a broken connection says nothing about the deployment: send a ping.
		missing = classify(f.once(ctx, db, hello)) != answered && ctx.Err() == nil
	default:
		missing = true
	}
	if missing {
		f.missed(Searching)
	}
	return out, missing, err
}

// once calls fn with the timeout of one attempt.
func (f *Failover) once(ctx context.Context, db *mongo.Database, fn Func) error {
	one, cancel := context.WithTimeout(ctx, f.cfg.Attempt)
	defer cancel()
	return fn(one, db)
}

// hello checks whether a member answers.
func hello(ctx context.Context, db *mongo.Database) error {
	return db.RunCommand(ctx, bson.D{{"ping", 1}}).Err()
}

// Read executes a read. It may call fn several times, with the primary or with any member. In a
// session (Session.Context), fn always sees the session's own writes.
func (f *Failover) Read(ctx context.Context, fn Func) error {
	mode, probe := f.turn()
	if mode == Emergency && !probe {
		return ErrEmergency
	}
	lost := false // no member answers
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

// Repeat says whether a write may be repeated after its reply was lost.
type Repeat int

// These are the values of Write.Repeat.
const (
	// Never: if the reply to the write is lost, the write is not repeated, and Write returns
	// ErrUncertain.
	Never Repeat = iota
	// Always: executing the write twice has the same effect as once, as with $set, upserts by _id
	// and deletes.
	Always
	// Ask: Write.Done tells whether the write was executed, as for inserts with a given _id.
	Ask
)

// Write describes a write, and whether it may be repeated.
type Write struct {
	Do     Func
	Repeat Repeat
	// Done reports whether Do was executed. It is required for Ask, and reads from the primary.
	Done func(ctx context.Context, db *mongo.Database) (bool, error)
}

// Write executes a write until its result is known or Config.Patience is over. It returns
// ErrReadOnly if the write was not executed, and ErrUncertain if the result is unknown. Other
// errors are from the server and concern the write itself.
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
	case t.ever: // even if Done has said no: the write may still be on its way
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
	single    bool // a single attempt that tests whether there is a primary again
	ever      bool // a reply was lost at some time
	uncertain bool // the result of the lost reply is still unknown
	missing   bool // the primary did not answer the last attempt
	stopped   bool
}

// stop ends the attempts, because another attempt would be useless.
func (t *writing) stop(err error) (bool, error) {
	t.stopped = true
	return false, err
}

// try makes one attempt. done reports that the result is known.
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
		// The write may be refused because the attempt whose reply was lost was executed after all.
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

// ask calls Done to find out whether the write was executed.
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
