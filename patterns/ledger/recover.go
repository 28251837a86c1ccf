package ledger

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// batch is the number of transfers that a cursor reads with one command.
const batch = 100

// Repair finishes the transfers that their process has not finished within the timeout, and cancels
// holds that have expired. Any number of processes may call it at any time, also at the same time.
// It returns the number of transfers that it has finished.
func (l *Ledger) Repair(ctx context.Context) (int64, error) {
	return l.repair(ctx, bson.D{
		{"state", bson.D{{"$in", bson.A{Pending, Canceling, Committed, Held}}}},
		{"deadline", bson.D{{"$lte", l.env.Now()}}},
	})
}

// RecoverOwn works like Repair for the transfers of this application (Config.App), but does not
// wait for the timeout. Call it when the application starts, before it executes transfers, and
// while no other process with the same App runs.
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

// repair finishes the transfers that the filter selects. It goes on with the next transfer if one
// fails, and returns all errors.
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

// drive finishes a transfer in place of its process: it continues from the transfer's state.
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

// Work executes the submitted transfer that has been due for the longest time. It returns nil if no
// transfer is due. If the transfer is refused, Work returns it without an error; Record.Err tells
// the reason.
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

// Run executes submitted transfers and calls Repair, in a loop, until ctx ends.
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
