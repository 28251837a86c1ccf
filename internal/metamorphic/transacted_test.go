package metamorphic

import (
	"context"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// transacted runs the operations of a variant in transactions of several operations.
type transacted struct {
	session *mongo.Session
	// writes are the writes of the open transaction.
	writes []bson.D
	// operations is the number of all operations of the open transaction.
	operations int
}

// perTransaction is the number of operations of a transaction.
const perTransaction = 6

// allowed are the commands that run in transactions. The value is true for writes.
var allowed = map[string]bool{
	"find": false, "aggregate": false, "distinct": false, "insert": true, "update": true,
	"delete": true, "findAndModify": true,
}

// answer does the same as the function answer, but in the open transaction or in a new one. An
// operation that fails ends its transaction. Then the earlier writes of the transaction are
// repeated in a new one, and the operation runs outside of transactions, where it may have a
// partial effect.
func (x *transacted) answer(ctx context.Context, v *variant, op bson.D) (string, error) {
	writes, ok := allowed[op[0].Key]
	if !ok {
		if err := x.commit(ctx); err != nil {
			return "", err
		}
		return ask(ctx, v, op)
	}
	got, err := x.inside(ctx, v, op)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(got, "code ") || strings.HasPrefix(got, "document ") {
		_ = x.session.AbortTransaction(ctx) // the server has already aborted it
		if err := x.again(ctx, v); err != nil {
			return "", err
		}
		return ask(ctx, v, op)
	}
	x.operations++
	if writes {
		x.writes = append(x.writes, op)
	}
	if x.operations < perTransaction {
		return got, nil
	}
	return got, x.commit(ctx)
}

func (x *transacted) inside(ctx context.Context, v *variant, op bson.D) (string, error) {
	if x.session == nil {
		session, err := v.client.StartSession()
		if err != nil {
			return "", err
		}
		x.session = session
	}
	if x.operations == 0 {
		if err := x.session.StartTransaction(); err != nil {
			return "", err
		}
	}
	return ask(mongo.NewSessionContext(ctx, x.session), v, op)
}

// again repeats the writes of an aborted transaction, and commits them.
func (x *transacted) again(ctx context.Context, v *variant) error {
	writes := x.writes
	x.writes, x.operations = nil, 0
	for _, op := range writes {
		got, err := x.inside(ctx, v, op)
		if err != nil || strings.HasPrefix(got, "code ") {
			return fmt.Errorf("%s does not succeed again: %s %w", text(op), got, err)
		}
		x.operations++
	}
	return x.commit(ctx)
}

// commit ends the open transaction, if there is one.
func (x *transacted) commit(ctx context.Context) error {
	if x == nil || x.operations == 0 {
		return nil
	}
	x.writes, x.operations = nil, 0
	return x.session.CommitTransaction(ctx)
}
