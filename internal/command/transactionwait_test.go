package command_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/sheaftest"
)

// openTransaction returns a collection with the document 1, and the context of an open transaction
// that has changed the document.
func openTransaction(t *testing.T) (*mongo.Collection, context.Context, *mongo.Session) {
	t.Helper()
	c := sheaftest.New(t).Database("d").Collection("c")
	insert(t, c, bson.D{{"_id", 1}, {"n", 0}})
	session, err := c.Database().Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.EndSession(context.Background()) })
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	ctx := mongo.NewSessionContext(t.Context(), session)
	if _, err := c.UpdateByID(ctx, 1, inc(1)); err != nil {
		t.Fatal(err)
	}
	return c, ctx, session
}

func inc(n int) bson.D { return bson.D{{"$inc", bson.D{{"n", n}}}} }

func number(t *testing.T, c *mongo.Collection) int {
	t.Helper()
	var d struct{ N int }
	if err := c.FindOne(t.Context(), bson.D{{"_id", 1}}).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d.N
}

// begin runs fn, which sends a command to a collection, on a goroutine. It returns when the command
// is running and has most likely begun to wait.
func begin(t *testing.T, c *mongo.Collection, command string, fn func() error) chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- fn() }()
	match := bson.D{{"command." + command, c.Name()}, {"active", true}}
	for len(done) == 0 {
		time.Sleep(20 * time.Millisecond)
		cursor, err := c.Database().Client().Database("admin").Aggregate(t.Context(), bson.A{
			bson.D{{"$currentOp", bson.D{}}}, bson.D{{"$match", match}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if cursor.Next(t.Context()) {
			break
		}
	}
	time.Sleep(20 * time.Millisecond)
	return done
}

// TestWritersWaitForTransactions checks that a single statement waits for a transaction that has
// changed its document, until its time limit.
func TestWritersWaitForTransactions(t *testing.T) {
	t.Parallel()
	for _, commit := range []bool{true, false} {
		c, ctx, session := openTransaction(t)
		err := c.Database().RunCommand(t.Context(), bson.D{
			{"update", "c"},
			{"updates", bson.A{bson.D{{"q", bson.D{{"_id", 1}}}, {"u", inc(100)}}}},
			{"maxTimeMS", 20},
		}).Err()
		var refused mongo.CommandError
		if !errors.As(err, &refused) || refused.Code != 50 {
			t.Errorf("an update that may wait 20 ms answers %v", err)
		}
		done := begin(t, c, "update", func() error {
			_, err := c.UpdateByID(t.Context(), 1, inc(10))
			return err
		})
		select {
		case err := <-done:
			t.Fatalf("the update did not wait: %v", err)
		default:
		}
		want := 10
		if commit {
			want = 11
			err = session.CommitTransaction(ctx)
		} else {
			err = session.AbortTransaction(ctx)
		}
		if err := errors.Join(err, <-done); err != nil {
			t.Fatal(err)
		}
		if n := number(t, c); n != want {
			t.Errorf("n is %d, want %d", n, want)
		}
	}
}

// TestNoDeadlockOfCatalogAndTransaction checks that there is no deadlock if a DDL operation waits
// for a statement that waits for a transaction. The commit of the transaction must wait for
// neither.
func TestNoDeadlockOfCatalogAndTransaction(t *testing.T) {
	t.Parallel()
	c, ctx, session := openTransaction(t)
	update := begin(t, c, "update", func() error {
		_, err := c.UpdateByID(t.Context(), 1, inc(10))
		return err
	})
	index := begin(t, c, "createIndexes", func() error {
		_, err := c.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{"n", 1}}})
		return err
	})
	var refused mongo.CommandError
	if err := session.CommitTransaction(ctx); !errors.As(err, &refused) || refused.Code != 112 ||
		!refused.HasErrorLabel("TransientTransactionError") {
		t.Errorf("the commit answers %v", err)
	}
	if err := errors.Join(<-update, <-index); err != nil {
		t.Fatal(err)
	}
	if n := number(t, c); n != 10 {
		t.Errorf("n is %d, want 10", n)
	}
}

// TestKilledStatementEndsTransaction checks that a statement that reaches its time limit aborts its
// transaction.
func TestKilledStatementEndsTransaction(t *testing.T) {
	// Not parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and
	// other tests would make it grow.
	c, ctx, session := openTransaction(t)
	endless := bson.D{{"$where", "function() { for (;;) {} }"}}
	err := c.Database().RunCommand(ctx, bson.D{{"find", "c"}, {"filter", endless}, {"maxTimeMS", 20}}).Err()
	var refused mongo.CommandError
	if !errors.As(err, &refused) || refused.Code != 50 {
		t.Fatalf("find answers %v", err)
	}
	if err := session.CommitTransaction(ctx); !errors.As(err, &refused) || refused.Code != 251 {
		t.Errorf("the commit answers %v", err)
	}
	if n := number(t, c); n != 0 {
		t.Errorf("n is %d, want 0", n)
	}
}

// TestKillOpEndsTransaction checks that currentOp shows the transaction of a statement, and that
// killOp aborts it.
func TestKillOpEndsTransaction(t *testing.T) {
	// Not parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and
	// other tests would make it grow.
	c, ctx, session := openTransaction(t)
	admin := c.Database().Client().Database("admin")
	type operation struct {
		Type        string
		OpID        int64
		Transaction struct {
			Parameters       struct{ TxnNumber int64 }
			TimeOpenMicros   int64
			TimeActiveMicros int64
		}
	}
	list := func(options, match bson.D) (found []operation) {
		cursor, err := admin.Aggregate(t.Context(), bson.A{bson.D{{"$currentOp", options}}, bson.D{{"$match", match}}})
		if err == nil {
			err = cursor.All(t.Context(), &found)
		}
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	idle := bson.D{{"type", "idleSession"}}
	if got := list(bson.D{}, idle); len(got) != 1 || got[0].Transaction.Parameters.TxnNumber == 0 ||
		got[0].Transaction.TimeOpenMicros == 0 {
		t.Errorf("idle sessions: %+v", got)
	}
	if got := list(bson.D{{"idleSessions", false}}, idle); len(got) != 0 {
		t.Errorf("idle sessions that nobody wants: %+v", got)
	}
	find := begin(t, c, "find", func() error {
		endless := bson.D{{"$where", "function() { for (;;) {} }"}}
		return c.Database().RunCommand(ctx, bson.D{{"find", "c"}, {"filter", endless}}).Err()
	})
	active := list(bson.D{}, bson.D{{"command.find", "c"}})
	if len(active) != 1 || active[0].Type != "op" || active[0].Transaction.Parameters.TxnNumber == 0 ||
		active[0].Transaction.TimeActiveMicros == 0 {
		t.Fatalf("the statement: %+v", active)
	}
	if err := admin.RunCommand(t.Context(), bson.D{{"killOp", 1}, {"op", active[0].OpID}}).Err(); err != nil {
		t.Fatal(err)
	}
	var refused mongo.CommandError
	if err := <-find; !errors.As(err, &refused) || refused.Code != 11601 {
		t.Errorf("find answers %v", err)
	}
	if err := session.CommitTransaction(ctx); !errors.As(err, &refused) || refused.Code != 251 {
		t.Errorf("the commit answers %v", err)
	}
}
