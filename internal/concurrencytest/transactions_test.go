package concurrencytest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// isTransient reports whether an error means that the whole transaction had no effect and may be
// repeated.
func isTransient(err error) bool {
	var labeled mongo.LabeledError
	return errors.As(err, &labeled) && labeled.HasErrorLabel("TransientTransactionError")
}

// inTransaction runs fn once in a transaction. It reports whether the transaction was committed. It
// does not return transient errors.
func inTransaction(ctx context.Context, client *mongo.Client, fn func(ctx context.Context) error) (bool, error) {
	session, err := client.StartSession()
	if err != nil {
		return false, err
	}
	defer session.EndSession(ctx)
	if err := session.StartTransaction(); err != nil {
		return false, err
	}
	inside := mongo.NewSessionContext(ctx, session)
	if err = fn(inside); err == nil {
		err = session.CommitTransaction(inside)
	} else {
		_ = session.AbortTransaction(inside) // it may already be aborted
	}
	if isTransient(err) {
		return false, nil
	}
	return err == nil, err
}

// TestBank moves money between accounts. Every transaction must see the same sum, and no money may
// be lost. The driver retries half of the transfers.
func TestBank(t *testing.T) {
	t.Parallel()
	const accounts, each = 12, 100
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c, client := db.Collection("accounts"), db.Client()
		for i := range accounts {
			if _, err := c.InsertOne(t.Context(), doc("_id", i, "balance", each)); err != nil {
				t.Fatal(err)
			}
		}
		var moved, refused atomic.Int64
		together(t, clients, func(ctx context.Context, id int, rng *rand.Rand) {
			if id == 0 {
				checkSum(ctx, t, c, accounts*each)
				return
			}
			from, to, amount := rng.IntN(accounts), rng.IntN(accounts), rng.IntN(5)
			transfer := func(ctx context.Context) error {
				for _, step := range []bson.D{doc("_id", from, "by", -amount), doc("_id", to, "by", amount)} {
					if _, err := c.UpdateOne(ctx, step[:1], doc("$inc", doc("balance", step[1].Value))); err != nil {
						return err
					}
				}
				return nil
			}
			if id%2 == 0 {
				done, err := inTransaction(ctx, client, transfer)
				count(done, &moved, &refused)
				fail(t, err)
				return
			}
			session, err := client.StartSession()
			if err != nil {
				t.Error(err)
				return
			}
			defer session.EndSession(ctx)
			_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) { return nil, transfer(ctx) })
			fail(t, err)
			moved.Add(1)
		})
		checkSum(t.Context(), t, c, accounts*each)
		validate(t, c)
		t.Logf("%d transfers, %d conflicts", moved.Load(), refused.Load())
		if moved.Load() == 0 {
			t.Error("no transfer was committed")
		}
	})
}

func count(done bool, yes, no *atomic.Int64) {
	if done {
		yes.Add(1)
	} else {
		no.Add(1)
	}
}

func fail(t *testing.T, err error) {
	if err != nil {
		t.Error(err)
	}
}

// checkSum adds up the balances in one transaction, with a pipeline and with several finds.
func checkSum(ctx context.Context, t *testing.T, c *mongo.Collection, want int) {
	_, err := inTransaction(ctx, c.Database().Client(), func(ctx context.Context) error {
		cursor, err := c.Aggregate(ctx, bson.A{doc("$group", doc("_id", nil, "sum", doc("$sum", "$balance")))})
		if err != nil {
			return err
		}
		var sums []struct{ Sum int }
		if err := cursor.All(ctx, &sums); err != nil {
			return err
		}
		if sums[0].Sum != want {
			t.Errorf("a pipeline sees the sum %d, not %d", sums[0].Sum, want)
		}
		cursor, err = c.Find(ctx, bson.D{}, options.Find().SetBatchSize(3))
		if err != nil {
			return err
		}
		var docs []struct{ Balance int }
		if err := cursor.All(ctx, &docs); err != nil {
			return err
		}
		sum := 0
		for _, d := range docs {
			sum += d.Balance
		}
		if sum != want {
			t.Errorf("a cursor sees the sum %d, not %d", sum, want)
		}
		return nil
	})
	fail(t, err)
}

// TestIncrements adds to the same documents in transactions and with single statements. Single
// statements wait for transactions, and no addition may be lost.
func TestIncrements(t *testing.T) {
	t.Parallel()
	const counters = 3
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c := db.Collection("counters")
		for i := range counters {
			if _, err := c.InsertOne(t.Context(), doc("_id", i, "n", 0)); err != nil {
				t.Fatal(err)
			}
		}
		var added, refused atomic.Int64
		add := func(ctx context.Context, id int) error {
			_, err := c.UpdateOne(ctx, doc("_id", id), doc("$inc", doc("n", 1)))
			return err
		}
		together(t, clients, func(ctx context.Context, id int, rng *rand.Rand) {
			if id%2 == 0 {
				fail(t, add(ctx, rng.IntN(counters)))
				added.Add(1)
				return
			}
			done, err := inTransaction(ctx, db.Client(), func(ctx context.Context) error {
				return errors.Join(add(ctx, rng.IntN(counters)), add(ctx, rng.IntN(counters)))
			})
			fail(t, err)
			if count(done, new(atomic.Int64), &refused); done {
				added.Add(2)
			}
		})
		sum := int64(0)
		for _, raw := range all(t.Context(), t, c, bson.D{}) {
			sum += int64(raw.Lookup("n").Int32())
		}
		if sum != added.Load() {
			t.Errorf("%d were added, %d are there", added.Load(), sum)
		}
		t.Logf("%d added, %d conflicts", added.Load(), refused.Load())
	})
}

// TestTransactionsBesideIndexes runs transactions that write two collections while their indexes
// are built and dropped. The collections must stay equal, and each index must have the entries of
// its records.
func TestTransactionsBesideIndexes(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		a, b := db.Collection("a"), db.Collection("b")
		var committed, refused, next atomic.Int64
		together(t, clients, func(ctx context.Context, id int, rng *rand.Rand) {
			// A change of indexes ends the transactions that have written the collection.
			if id == 0 && rng.IntN(20) == 0 {
				for _, c := range []*mongo.Collection{a, b} {
					_, err := c.Indexes().CreateOne(ctx,
						mongo.IndexModel{Keys: doc("x", 1), Options: options.Index().SetName("x")})
					fail(t, err)
					fail(t, c.Indexes().DropOne(ctx, "x"))
				}
				return
			}
			n := next.Add(1)
			done, err := inTransaction(ctx, db.Client(), func(ctx context.Context) error {
				for _, c := range []*mongo.Collection{a, b} {
					if _, err := c.InsertOne(ctx, doc("_id", n, "x", bson.A{n % 10, rng.IntN(5)})); err != nil {
						return err
					}
					if _, err := c.DeleteOne(ctx, doc("_id", n-20)); err != nil {
						return err
					}
				}
				return nil
			})
			fail(t, err)
			count(done, &committed, &refused)
		})
		validate(t, a)
		validate(t, b)
		left, right := ids(t, a), ids(t, b)
		if !slices.Equal(left, right) {
			t.Errorf("the collections differ: %v and %v", left, right)
		}
		t.Logf("%d committed, %d conflicts", committed.Load(), refused.Load())
	})
}

func ids(t *testing.T, c *mongo.Collection) []int64 {
	t.Helper()
	var out []int64
	for _, raw := range all(t.Context(), t, c, bson.D{}) {
		out = append(out, raw.Lookup("_id").Int64())
	}
	return out
}

// TestListAppend records transactions that read lists and append to them, and searches for
// anomalies that snapshot isolation excludes; see checkHistory.
func TestListAppend(t *testing.T) {
	t.Parallel()
	const keys = 4
	onEachEngine(t, func(t *testing.T, db *mongo.Database) {
		c := db.Collection("lists")
		for i := range keys {
			if _, err := c.InsertOne(t.Context(), doc("_id", i, "list", bson.A{})); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		var history []*listTxn
		var next atomic.Int64
		together(t, clients, func(ctx context.Context, _ int, rng *rand.Rand) {
			txn := &listTxn{}
			var err error
			txn.committed, err = inTransaction(ctx, db.Client(), func(ctx context.Context) error {
				for range 1 + rng.IntN(4) {
					if err := txn.step(ctx, c, rng, keys, &next); err != nil {
						return err
					}
				}
				return nil
			})
			fail(t, err)
			mu.Lock()
			history = append(history, txn)
			mu.Unlock()
		})
		final := make([][]int64, keys)
		for i := range final {
			var err error
			final[i], err = readList(t.Context(), c, i)
			fail(t, err)
		}
		for _, problem := range checkHistory(history, final) {
			t.Error(problem)
		}
		committed := 0
		for _, txn := range history {
			if txn.committed {
				committed++
			}
		}
		t.Logf("%d transactions, %d committed", len(history), committed)
		if committed == 0 {
			t.Error("no transaction was committed")
		}
	})
}

func (x *listTxn) step(ctx context.Context, c *mongo.Collection, rng *rand.Rand, keys int, next *atomic.Int64) error {
	key := rng.IntN(keys)
	if rng.IntN(2) == 0 {
		list, err := readList(ctx, c, key)
		x.ops = append(x.ops, listOp{key: key, read: list, isRead: true})
		return err
	}
	value := next.Add(1)
	x.ops = append(x.ops, listOp{key: key, value: value})
	_, err := c.UpdateOne(ctx, doc("_id", key), doc("$push", doc("list", value)))
	return err
}

func readList(ctx context.Context, c *mongo.Collection, key int) ([]int64, error) {
	var d struct{ List []int64 }
	err := c.FindOne(ctx, doc("_id", key)).Decode(&d)
	return d.List, err
}
