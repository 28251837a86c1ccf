package ledger

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// batch is how many transfers are read at a time.
const batch = 100

// Repair ends the transfers whose process has not done so within the timeout, and the holds that
// have expired. It may run anywhere, at any time, any number of times at once. It returns how many
// transfers it has ended.
func (l *Ledger) Repair(ctx context.Context) (int64, error) {
	return l.repair(ctx, bson.D{
		{"state", bson.D{{"$in", bson.A{Pending, Canceling, Committed, Held}}}},
		{"deadline", bson.D{{"$lte", l.env.Now()}}},
	})
}

// RecoverOwn is Repair for the transfers of this application (Config.App), without waiting for the
// timeout. Call it when the application starts, before it executes transfers, and while no other
// process of that name runs.
func (l *Ledger) RecoverOwn(ctx context.Context) (int64, error) {
	if l.cfg.App == "" {
		return 0, errors.New("ledger: the application has no name")
	}
	return l.repair(ctx, bson.D{
		{"state", bson.D{{"$in", bson.A{Pending, Canceling, Committed}}}},
		{"deadline", bson.D{{"$exists", true}}},
		{"app", l.cfg.App},
	})
}

// repair drives the transfers that a filter selects to their ends. One that fails does not keep the
// others from theirs.
func (l *Ledger) repair(ctx context.Context, filter bson.D) (n int64, err error) {
	var failed []error
	err = patterns.Each(ctx, l.transfers, filter, func(t *Record) error {
		was := t.State
		if err := l.drive(ctx, t); err != nil {
			failed = append(failed, fmt.Errorf("transfer %s: %w", t.ID, err))
			return nil
		}
		l.env.Logger.Info("a transfer was ended for another process", "transfer", t.ID, "was", was, "is", t.State)
		l.env.Metrics.Add("ledger.repaired", 1)
		n++
		return nil
	}, options.Find().SetBatchSize(batch))
	return n, errors.Join(append(failed, wrap(err, "look for transfers that were left"))...)
}

// drive brings a transfer to an end from the state that it was found in, on behalf of a process
// that does not.
func (l *Ledger) drive(ctx context.Context, t *Record) error {
	switch t.State {
	case Pending:
		return l.abandon(ctx, t, reasonInterrupted)
	case Held:
		if t.HoldUntil.IsZero() || l.env.Now().Before(t.HoldUntil) {
			return nil
		}
		return l.abandon(ctx, t, reasonOf(ErrExpired))
	case Canceling:
		return l.giveBack(ctx, t)
	case Committed:
		return l.settle(ctx, t)
	case Initial, Done, Canceled:
	}
	return nil
}

// Work executes the submitted transfer that has been due for the longest time. It returns nil if
// no transfer is due. If the transfer is refused, it returns the transfer with the reason.
func (l *Ledger) Work(ctx context.Context) (*Record, error) {
	now := l.env.Now()
	due := bson.D{{"state", Initial}, {"deadline", bson.D{{"$lte", now}}}}
	claim := bson.D{{"$set", bson.D{
		{"state", Pending},
		{"app", l.cfg.App},
		{"run", bson.NewObjectID()},
		{"deadline", now.Add(l.cfg.Timeout)},
	}}}
	t, err := l.step(ctx, due, claim, bson.D{{"deadline", 1}})
	if t == nil || err != nil {
		return nil, err
	}
	done, err := l.execute(ctx, t)
	if done != nil && done.Err() != nil {
		return done, nil
	}
	return done, err
}

// Run executes what was submitted and repairs what others have left, until ctx ends.
func (l *Ledger) Run(ctx context.Context) error {
	for {
		if _, err := l.Repair(ctx); err != nil && ctx.Err() == nil {
			l.env.Logger.Error("repair failed", "error", err)
		}
		for {
			t, err := l.Work(ctx)
			if err != nil && ctx.Err() == nil {
				l.env.Logger.Error("a transfer failed", "error", err)
			}
			if t == nil || err != nil {
				break
			}
		}
		if err := l.env.Clock.Sleep(ctx, l.cfg.Pace); err != nil {
			return err
		}
	}
}
