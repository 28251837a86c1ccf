package ledger

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// inTransaction executes transfers in multi-document transactions. What is canceled has nothing, or
// one reservation per account, to give back; that is left to the steps of twoPhase.
type inTransaction struct{ *Ledger }

// errRefused ends a transaction in which an account was not as it must be; errMoved one whose
// transfer others have changed.
var (
	errRefused = errors.New("ledger: refused")
	errMoved   = errors.New("ledger: changed by others")
)

// execute implements engine.
func (e inTransaction) execute(ctx context.Context, t *Record) error {
	to, change, model := Done, doneNow(e.Ledger), apply
	if t.Hold {
		to, change = Held, heldUntil(t)
		model = func(leg Leg) mongo.WriteModel { return reserve(t.Run, leg) }
	}
	err := e.together(ctx, t, withState(change, to), t.Legs, model)
	if !errors.Is(err, errRefused) {
		return err
	}
	refusal, err := e.refusal(ctx, t.Legs)
	if err != nil {
		return err
	}
	return e.abandon(ctx, t, reasonOf(refusal))
}

// post implements engine.
func (e inTransaction) post(ctx context.Context, t *Record, posted []Leg) error {
	change := doneNow(e.Ledger)
	change[0].Value = append(change[0].Value.(bson.D), bson.E{"legs", posted})
	return e.together(ctx, t, withState(change, Done), posted,
		func(leg Leg) mongo.WriteModel { return move(t.Run, leg) })
}

func doneNow(l *Ledger) bson.D {
	return bson.D{
		{"$set", bson.D{{"committed", l.env.Now()}}},
		{"$unset", bson.D{{"deadline", ""}}},
	}
}

// together changes a transfer that is as t says, and its accounts.
func (e inTransaction) together(ctx context.Context, t *Record, change bson.D, legs []Leg,
	model func(Leg) mongo.WriteModel,
) error {
	var now *Record
	err := e.transact(ctx, func(ctx context.Context) (err error) {
		if now, err = e.step(ctx, asIs(t), change, nil); err != nil {
			return err
		}
		if now == nil {
			return errMoved
		}
		n, err := e.change(ctx, legs, model)
		if err == nil && n < len(legs) {
			err = errRefused
		}
		return err
	})
	var command mongo.CommandError
	switch {
	case err == nil:
		*t = *now
		return nil
	case errors.Is(err, errMoved):
		return e.lookAgain(ctx, t)
	case errors.As(err, &command) && command.Code == codeIllegalOperation, strings.Contains(err.Error(), noSessions):
		return errors.Join(ErrNoTransactions, err)
	default:
		return err
	}
}

// transact is the driver's WithTransaction, but ends when ctx does, also while it commits, and when
// others are always faster.
func (e inTransaction) transact(ctx context.Context, f func(context.Context) error) error {
	session, err := e.db.Client().StartSession()
	if err != nil {
		return wrap(err, "start a session")
	}
	defer session.EndSession(ctx)
	opts := options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority())
	for turn := range maxTurns {
		if err := session.StartTransaction(opts); err != nil {
			return wrap(err, "begin a transaction")
		}
		if err = f(mongo.NewSessionContext(ctx, session)); err != nil {
			abort(ctx, session)
		} else {
			err = commit(ctx, session)
		}
		var labeled mongo.LabeledError
		if err == nil || !errors.As(err, &labeled) ||
			!labeled.HasErrorLabel("TransientTransactionError") || ctx.Err() != nil {
			return err
		}
		if err := e.env.Clock.Sleep(ctx,
			time.Duration(rand.Int64N(int64(time.Millisecond)<<min(turn, maxShift)))); err != nil {
			return err
		}
	}
	return errors.Join(ErrBusy, err)
}

// maxShift bounds how long a transaction waits before it is tried again, which doubles from a
// millisecond on.
const maxShift = 6

// abort lets go of what a transaction has locked, also where ctx has ended. Where that does not
// arrive the server does it by itself, later.
func abort(ctx context.Context, session *mongo.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_ = session.AbortTransaction(ctx)
}

// abortTime is more than a round trip, and less than what is noticed where the server is away.
const abortTime = 250 * time.Millisecond

// commit commits, again where it is not known whether that was done. If that remains so the
// transfer tells.
func commit(ctx context.Context, session *mongo.Session) (err error) {
	for range maxCommits {
		err = session.CommitTransaction(ctx)
		var labeled mongo.LabeledError
		if !errors.As(err, &labeled) || !labeled.HasErrorLabel("UnknownTransactionCommitResult") || ctx.Err() != nil {
			break
		}
	}
	return err
}

const maxCommits = 3

// What a server without transactions answers, and what the driver says, which has no error value
// for it, of one without sessions.
const (
	codeIllegalOperation = 20
	noSessions           = "topology does not support sessions"
)
