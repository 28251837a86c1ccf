package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

const transactors = 4

// transactions are several clients, each of which numbers its transactions. Each transaction adds
// its number to two collections, and every tenth also creates a collection.
type transactions struct {
	// acked has, for each client, the numbers of the transactions whose commit was acknowledged.
	acked [transactors][]int64
	// sent has, for each client, the newest number that was sent.
	sent [transactors]int64
}

// TestKillTransactions kills a server while transactions over two collections run. After each
// restart the collections must agree, and have every acknowledged transaction. Each other
// transaction must exist completely or not at all.
func TestKillTransactions(t *testing.T) {
	f := &transactions{}
	rounds, total := killRounds(t, transactors, f, newFollower(false)), 0
	for _, acked := range f.acked {
		total += len(acked)
	}
	t.Logf("%d rounds, %d acknowledged transactions", rounds, total)
}

func (f *transactions) prepare(*testing.T, *child) {}

func (f *transactions) work(ctx context.Context, t *testing.T, srv *child, client int, _ *rand.Rand) {
	for ctx.Err() == nil {
		f.sent[client]++
		err := transact(ctx, srv.client, client, f.sent[client])
		if err == nil {
			f.acked[client] = append(f.acked[client], f.sent[client])
			continue
		}
		var labeled mongo.LabeledError
		switch {
		case srv.killed.Load():
			return
		case !errors.As(err, &labeled) || !labeled.HasErrorLabel("TransientTransactionError"):
			t.Errorf("client %d: %v", client, err)
			return
		}
	}
}

func transact(ctx context.Context, c *mongo.Client, client int, n int64) error {
	session, err := c.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(context.Background())
	if err := session.StartTransaction(); err != nil {
		return err
	}
	inside := mongo.NewSessionContext(ctx, session)
	db := c.Database("d")
	doc := bson.D{{"_id", bson.D{{"c", client}, {"n", n}}}}
	names := []string{"a", "b"}
	if n%10 == 0 {
		names = append(names, fmt.Sprintf("new%d_%d", client, n))
	}
	for _, name := range names {
		if _, err := db.Collection(name).InsertOne(inside, doc); err != nil {
			return err
		}
	}
	return session.CommitTransaction(inside)
}

func (f *transactions) verify(t *testing.T, srv *child) {
	t.Helper()
	db := srv.client.Database("d")
	a, b := transactionsIn(t, db.Collection("a")), transactionsIn(t, db.Collection("b"))
	names, err := db.ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for client := range int32(transactors) {
		if !slices.Equal(a[client], b[client]) {
			t.Errorf("client %d has %v in one collection and %v in the other", client, a[client], b[client])
		}
		for _, n := range f.acked[client] {
			if !slices.Contains(a[client], n) {
				t.Errorf("client %d: the acknowledged transaction %d is lost", client, n)
			}
		}
		for n := int64(10); n <= f.sent[client]; n += 10 {
			made := slices.Contains(names, fmt.Sprintf("new%d_%d", client, n))
			if made != slices.Contains(a[client], n) {
				t.Errorf("client %d: the transaction %d is there in part", client, n)
			}
		}
	}
	for _, name := range names {
		validate(t.Context(), t, db, name)
	}
}

// transactionsIn returns the transactions of each client in a collection, sorted by number.
func transactionsIn(t *testing.T, coll *mongo.Collection) map[int32][]int64 {
	t.Helper()
	out := map[int32][]int64{}
	for _, d := range documents(t, coll) {
		c := d.Lookup("_id", "c").Int32()
		out[c] = append(out[c], d.Lookup("_id", "n").Int64())
	}
	for _, numbers := range out {
		slices.Sort(numbers)
	}
	return out
}
