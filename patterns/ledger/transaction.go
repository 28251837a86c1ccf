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

// inTransaction executes transfers in multi-document transactions. It cancels transfers without a
// transaction, with the steps of twoPhase: each of these updates can be repeated.
type inTransaction struct{ *Ledger }

// errRefused ends a transaction if an account does not allow the transfer. errMoved ends a
// transaction if another process has changed the transfer.
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

// together changes a transfer and its accounts in one transaction. It applies only if the stored
// transfer has the state and the run of t.
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

// transact works like WithTransaction of the driver, with two differences: it stops when ctx ends,
// even during a commit, and it returns ErrBusy after maxTurns attempts that failed because of other
// transactions.
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

// maxShift limits the wait before a transaction is tried again. The longest wait is one millisecond
// after the first attempt, and doubles maxShift times.
const maxShift = 6

// abort ends a transaction so that the server releases its locks, even if ctx has ended. If the
// command does not reach the server, the server aborts the transaction later by itself.
func abort(ctx context.Context, session *mongo.Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_ = session.AbortTransaction(ctx)
}

// abortTime is the time limit of abortTransaction. It is longer than a round trip to the server,
// and short enough that a caller does not notice it if the server is down.
const abortTime = 250 * time.Millisecond

// commit commits the transaction, and tries again while the result is unknown. If it stays unknown,
// the caller reads the transfer's document to find out.
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

// codeIllegalOperation is the error code of a server without transactions. noSessions is part of
// the driver's message for a server without sessions; the driver has no error value for it.
const (
	codeIllegalOperation = 20
	noSessions           = "topology does not support sessions"
)
