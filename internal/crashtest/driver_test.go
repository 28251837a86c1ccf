package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf/internal/torture"
)

// The clients of this test use the official driver as the manual recommends: with retryable writes,
// the convenient API of transactions, and a deadline. Within the deadline the driver retries as
// often as necessary.

const (
	programs  = 5
	accounts  = 6
	perClient = 1000
	// outlasts is a deadline that is longer than any disturbance.
	outlasts = time.Minute
)

// program is a client that uses the official driver, as applications do.
type program struct {
	t      *testing.T
	rng    *rand.Rand
	client *mongo.Client
	done   int
	// unknown counts the steps whose result is unknown.
	unknown int
	// retried counts the callbacks of transactions that were called again.
	retried int
	*expected
}

// TestCutDriver cuts and delays the connections of the official driver, and kills the server. Its
// retryable writes and transactions must be done exactly once. The sum of all accounts must be the
// same in every snapshot.
func TestCutDriver(t *testing.T) {
	s := newSite(t)
	proxy := torture.NewProxy(t, s.run.Rand(-1), s.Addr)
	var clients []knowing
	for i := range programs {
		clients = append(clients,
			&program{t: t, rng: s.run.Rand(i + 1), client: s.cutClient(proxy), expected: newExpected(i)})
	}
	openAccounts(t, s.db())
	s.attack(clients, func() {
		proxy.Set(torture.Faults{
			Cut: 0.03 * s.rng.Float64(), Slow: 0.1,
			Delay: time.Duration(s.rng.IntN(5)) * time.Millisecond,
		})
		if s.rng.IntN(4) == 0 {
			s.killAndStart()
		}
	})
	done, unknown, retried, transactions := 0, 0, 0, 0
	for _, k := range clients {
		p := k.(*program)
		done, unknown, retried, transactions = done+p.done, unknown+p.unknown, retried+
			p.retried, transactions+len(p.transactions)
	}
	t.Logf("%d rounds, %d connections cut, %d steps, of which %d the driver gave up, %d transactions, of which %d were begun anew",
		s.run.Rounds(), proxy.Cuts(), done, unknown, transactions, retried)
	if torture.Long() && (proxy.Cuts() == 0 || done == 0) {
		t.Error("the test did not do what it is for")
	}
}

// cutClient returns a client of the driver over a network.
func (s *site) cutClient(proxy *torture.Proxy) *mongo.Client {
	s.t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI("mongodb://" + proxy.Addr + "/?directConnection=true").
		SetHeartbeatInterval(500 * time.Millisecond).SetServerSelectionTimeout(outlasts))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = client.Disconnect(ctx)
	})
	return client
}

var programSteps = []func(p *program, ctx context.Context) error{
	(*program).addOne, (*program).addOne, (*program).modify, (*program).insert, (*program).
		insertMany, (*program).deleteOne,
	(*program).upsert, (*program).bulk, (*program).clientBulk, (*program).transact, (*program).transact,
	(*program).transact, (*program).audit,
}

func (p *program) step() {
	if p.before != nil {
		time.Sleep(time.Millisecond) // until verify has found out whether the last step was done
		return
	}
	before := p.clone()
	ctx, cancel := context.WithTimeout(p.t.Context(), outlasts)
	defer cancel()
	err := programSteps[p.rng.IntN(len(programSteps))](p, ctx)
	p.done++
	switch {
	case err == nil:
	case ofNetwork(err):
		p.before = before
		p.unknown++
	default:
		p.t.Errorf("client %d: %v", p.id, err)
	}
}

// ofNetwork reports whether an error means that there was no reply. Then it is unknown whether the
// operation was done. The driver sometimes gives up before its deadline, if it cannot connect for a
// retry.
func ofNetwork(err error) bool {
	var failure mongo.ServerError
	if errors.As(err, &failure) {
		codes := failure.ErrorCodes()
		return len(codes) == 0 || slices.Max(codes) == 0
	}
	var wrong unexpected
	return !errors.As(err, &wrong)
}

// unexpected is the error for a wrong answer of the server.
type unexpected struct{ what string }

func (u unexpected) Error() string { return u.what }

func (p *program) coll(name string) *mongo.Collection {
	concern := []*writeconcern.WriteConcern{
		nil, writeconcern.W1(), writeconcern.Journaled(),
		writeconcern.Majority(),
	}[p.rng.IntN(4)]
	return p.client.Database(retryDB).Collection(name, options.Collection().SetWriteConcern(concern))
}

// is returns err if it is not nil. Otherwise it returns an error if got differs from want.
func is[N int | int64](what string, got, want N, err error) error {
	if err == nil && got != want {
		return unexpected{fmt.Sprintf("%s: %d, not %d", what, got, want)}
	}
	return err
}

func byID(id any) bson.D { return bson.D{{"_id", id}} }

func (p *program) addOne(ctx context.Context) error {
	i := p.rng.IntN(ownCounters)
	p.counters[i] += 3
	res, err := p.coll(countersName).UpdateOne(ctx, byID(p.counter(i)), inc(3))
	if err != nil {
		return err
	}
	return is("updated", res.ModifiedCount, 1, nil)
}

func (p *program) modify(ctx context.Context) error {
	i := p.rng.IntN(ownCounters)
	p.counters[i]++
	var after struct{ N int64 }
	err := p.coll(countersName).
		FindOneAndUpdate(ctx, byID(p.counter(i)), inc(1),
			options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&after)
	return is("counter", after.N, p.counters[i], err)
}

func (p *program) insert(ctx context.Context) error {
	group := p.rng.IntN(groups)
	p.inGroup[group]++
	_, err := p.coll(docsName).InsertOne(ctx, p.document(p.rng, group))
	return err
}

func (p *program) insertMany(ctx context.Context) error {
	group := p.rng.IntN(groups)
	docs := make([]bson.D, 2+p.rng.IntN(20))
	for i := range docs {
		docs[i] = p.document(p.rng, group)
	}
	p.inGroup[group] += len(docs)
	_, err := p.coll(docsName).InsertMany(ctx, docs, options.InsertMany().SetOrdered(p.rng.IntN(2) == 0))
	return err
}

func (p *program) deleteOne(ctx context.Context) error {
	group, query := p.pickGroup(p.rng)
	if group < 0 {
		return nil
	}
	p.inGroup[group]--
	if p.rng.IntN(2) == 0 {
		return p.coll(docsName).FindOneAndDelete(ctx, query).Err()
	}
	res, err := p.coll(docsName).DeleteOne(ctx, query)
	if err != nil {
		return err
	}
	return is("deleted", res.DeletedCount, 1, nil)
}

func (p *program) upsert(ctx context.Context) error {
	n := p.nextNumber()
	query := bson.D{{"k", fmt.Sprintf("%d-%d", p.id, n)}}
	update := bson.D{
		{"$inc", bson.D{{"n", n}}},
		{"$set", bson.D{{"c", p.id}}},
	}
	res, err := p.coll("upserts").UpdateOne(ctx, query, update, options.UpdateOne().SetUpsert(true))
	if err != nil {
		return err
	}
	p.upserted[res.UpsertedID] = n
	return is("upserted", res.UpsertedCount, 1, nil)
}

func (p *program) bulk(ctx context.Context) error {
	group, query := p.pickGroup(p.rng)
	if group < 0 {
		return nil
	}
	p.inGroup[group]++
	res, err := p.coll(docsName).BulkWrite(ctx, []mongo.WriteModel{
		mongo.NewInsertOneModel().SetDocument(p.document(p.rng, group)),
		mongo.NewDeleteOneModel().SetFilter(query),
		mongo.NewInsertOneModel().SetDocument(p.document(p.rng, group)),
	}, options.BulkWrite().SetOrdered(p.rng.IntN(2) == 0))
	if err != nil {
		return err
	}
	return is("inserted and deleted", 100*res.InsertedCount+res.DeletedCount, 201, nil)
}

func (p *program) clientBulk(ctx context.Context) error {
	i, group := p.rng.IntN(ownCounters), p.rng.IntN(groups)
	p.inGroup[group]++
	p.counters[i] += 7
	res, err := p.client.BulkWrite(ctx, []mongo.ClientBulkWrite{
		{
			Database: retryDB, Collection: docsName,
			Model: mongo.NewClientInsertOneModel().SetDocument(p.document(p.rng, group)),
		},
		{
			Database: retryDB, Collection: countersName,
			Model: mongo.NewClientUpdateOneModel().SetFilter(byID(p.counter(i))).SetUpdate(inc(3)),
		},
		{
			Database: retryDB, Collection: countersName,
			Model: mongo.NewClientUpdateOneModel().SetFilter(byID(p.counter(i))).SetUpdate(inc(4)),
		},
	})
	if err != nil {
		return err
	}
	return is("inserted and modified", 100*res.InsertedCount+res.ModifiedCount, 102, nil)
}

func openAccounts(t *testing.T, db *mongo.Database) {
	t.Helper()
	for i := range accounts {
		if _, err := db.Collection("accounts").
			InsertOne(t.Context(), bson.D{{"_id", i}, {"n", perClient}}); err != nil {
			t.Fatal(err)
		}
	}
}

// transact moves money between two accounts in a transaction. The transaction also inserts a record
// of that into two collections, and adds to a shared counter.
func (p *program) transact(ctx context.Context) error {
	n := p.nextNumber()
	from, to, amount := p.rng.IntN(accounts), p.rng.IntN(accounts), 1+p.rng.Int64N(9)
	id := bson.D{{"c", p.id}, {"n", n}}
	calls := 0
	err := inTransaction(ctx, p.client, func(ctx context.Context) error {
		calls++
		db := p.client.Database(retryDB)
		for _, add := range []struct {
			coll string
			id   int
			by   int64
		}{{"accounts", from, -amount}, {"accounts", to, amount}, {sharedName, p.rng.IntN(sharedCounters), 1}} {
			res, err := db.Collection(add.coll).UpdateOne(ctx, byID(add.id), inc(add.by))
			if err != nil {
				return err
			}
			if err := is("updated", res.ModifiedCount, 1, nil); err != nil {
				return err
			}
		}
		for _, name := range []string{"a", "b"} {
			if _, err := db.Collection(name).InsertOne(ctx, byID(id)); err != nil {
				return err
			}
		}
		return nil
	})
	p.retried += calls - 1
	p.transactions = append(p.transactions, n)
	p.shared++
	return err
}

func inTransaction(ctx context.Context, client *mongo.Client, fn func(ctx context.Context) error) error {
	session, err := client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) { return nil, fn(ctx) },
		options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()))
	return err
}

// audit adds up the accounts in a transaction, in batches.
func (p *program) audit(ctx context.Context) error {
	sum := int64(0)
	err := inTransaction(ctx, p.client, func(ctx context.Context) error {
		cursor, err := p.client.Database(retryDB).Collection("accounts").
			Find(ctx, bson.D{}, options.Find().SetBatchSize(2))
		if err != nil {
			return err
		}
		var docs []struct{ N int64 }
		if err := cursor.All(ctx, &docs); err != nil {
			return err
		}
		sum = 0
		for _, d := range docs {
			sum += d.N
		}
		return nil
	})
	return is("the sum of all accounts", sum, accounts*perClient, err)
}
