package crashtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

const (
	retryDB = "retries"
	// ownCounters is the number of counters that belong to one client.
	ownCounters = 3
	// sharedCounters is the number of counters that all clients share.
	sharedCounters = 2
	groups         = 4
	maxInGroup     = 300
	countersName   = "counters"
)

// knowing is a client that knows the exact state of its own data, because each of its steps ends
// with a reply.
type knowing interface {
	step()
	knows() *expected
}

// expected is the expected state of a client's data.
type expected struct {
	id       int32
	counters [ownCounters]int64
	// shared is the sum of the client's additions to the shared counters.
	shared int64
	// inGroup has the number of the client's documents in each group. A step may delete any
	// document of a group.
	inGroup [groups]int
	// upserted has the values of the counters that upserts created, by the _id of the upsert.
	upserted     map[any]int64
	transactions []int64
	next         int64
	// before is the expected state before a step whose result is unknown. It is nil if all results
	// are known.
	before *expected
}

func newExpected(id int) *expected { return &expected{id: int32(id), upserted: map[any]int64{}} }

// knows returns the expected state. Call it only when the client does not wait for a reply.
func (e *expected) knows() *expected { return e }

func (e *expected) nextNumber() int64 {
	e.next++
	return e.next
}

// counter returns the _id of one of the client's counters.
func (e *expected) counter(i int) string { return fmt.Sprintf("c%d-%d", e.id, i) }

// document returns a new document of the client in a group. Only the number of documents of a group
// is expected, so that the server may choose any of them.
func (e *expected) document(rng *rand.Rand, group int) bson.D {
	return bson.D{
		{"_id", fmt.Sprintf("d%d-%d", e.id, e.nextNumber())},
		{"c", e.id},
		{"g", group},
		{"pad", pad(rng.IntN(300))},
	}
}

// pickGroup returns a group that has documents, and a query for any of them. It returns -1 if no
// group has documents.
func (e *expected) pickGroup(rng *rand.Rand) (int, bson.D) {
	first := rng.IntN(groups)
	for i := range groups {
		if g := (first + i) % groups; e.inGroup[g] > 0 {
			return g, bson.D{{"c", e.id}, {"g", g}}
		}
	}
	return -1, nil
}

func prepare(t *testing.T, db *mongo.Database, clients []knowing) {
	t.Helper()
	var counters []bson.D
	for _, k := range clients {
		c := k.knows()
		for i := range ownCounters {
			counters = append(counters, bson.D{{"_id", c.counter(i)}, {"n", int64(0)}})
		}
	}
	if _, err := db.Collection(countersName).InsertMany(t.Context(), counters); err != nil {
		t.Fatal(err)
	}
	for i := range sharedCounters {
		if _, err := db.Collection(sharedName).
			InsertOne(t.Context(), bson.D{{"_id", i}, {"n", int64(0)}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"upserts", "a", "b"} {
		if err := db.CreateCollection(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	index := mongo.IndexModel{Keys: bson.D{{"c", 1}, {"g", 1}}}
	if _, err := db.Collection(docsName).Indexes().CreateOne(t.Context(), index); err != nil {
		t.Fatal(err)
	}
}

// verify compares the database with the states that the clients expect. No client may be waiting
// for a reply.
func verify(t *testing.T, db *mongo.Database, clients []knowing) {
	t.Helper()
	if t.Failed() {
		return
	}
	found := newFound(t, db)
	shared := int64(0)
	for _, k := range clients {
		e := k.knows()
		e.settle(found)
		for _, difference := range e.differences(found) {
			t.Error(difference)
		}
		shared += e.shared
	}
	if found.shared != shared {
		t.Errorf("the shared counters have %d, %d were added", found.shared, shared)
	}
	for _, name := range []string{countersName, sharedName, docsName, "upserts", "a", "b"} {
		validate(t.Context(), t, db, name)
	}
}

// clone returns a copy of the state, which a client keeps in case it does not learn whether its
// next step was done.
func (e *expected) clone() *expected {
	c := *e
	c.upserted, c.transactions, c.before = maps.Clone(e.upserted), slices.Clone(e.transactions), nil
	return &c
}

// settle finds out whether the step whose result is unknown was done. It keeps the state after or
// before the step.
func (e *expected) settle(found *foundState) {
	before := e.before
	e.before = nil
	if before != nil && len(before.differences(found)) == 0 {
		next := e.next
		*e = *before
		e.next = next
	}
}

// differences lists the differences from the expected state.
func (e *expected) differences(found *foundState) (out []string) {
	tell := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i, n := range e.counters {
		if got := found.counters[e.counter(i)]; got != n {
			tell("counter %s is %d, not %d", e.counter(i), got, n)
		}
	}
	if got := found.inGroup[e.id]; got != e.inGroup {
		tell("client %d has %d documents in its groups, not %d", e.id, got, e.inGroup)
	}
	if got := found.upserted[e.id]; !maps.Equal(got, e.upserted) {
		tell("client %d has %d upserted counters, not %d, or others", e.id, len(got), len(e.upserted))
	}
	for name, of := range found.transactions {
		if !slices.Equal(of[e.id], e.transactions) {
			tell("client %d has %d transactions in %s, not %d, or others", e.id,
				len(of[e.id]), name, len(e.transactions))
		}
	}
	return out
}

// foundState is the data of all clients that a server has.
type foundState struct {
	counters     map[string]int64
	shared       int64
	inGroup      map[int32][groups]int
	upserted     map[int32]map[any]int64
	transactions map[string]map[int32][]int64
}

func newFound(t *testing.T, db *mongo.Database) *foundState {
	t.Helper()
	f := &foundState{
		counters: map[string]int64{}, inGroup: map[int32][groups]int{}, upserted: map[int32]map[any]int64{},
		transactions: map[string]map[int32][]int64{},
	}
	for _, d := range documents(t, db.Collection(countersName)) {
		f.counters[d.Lookup("_id").StringValue()] = d.Lookup("n").Int64()
	}
	for _, d := range documents(t, db.Collection(sharedName)) {
		f.shared += d.Lookup("n").Int64()
	}
	for _, d := range documents(t, db.Collection(docsName)) {
		of := f.inGroup[d.Lookup("c").Int32()]
		of[d.Lookup("g").AsInt64()]++
		f.inGroup[d.Lookup("c").Int32()] = of
	}
	for _, d := range documents(t, db.Collection("upserts")) {
		c := d.Lookup("c").Int32()
		if f.upserted[c] == nil {
			f.upserted[c] = map[any]int64{}
		}
		var id any
		if err := d.Lookup("_id").Unmarshal(&id); err != nil {
			t.Fatal(err)
		}
		f.upserted[c][id] = d.Lookup("n").Int64()
	}
	for _, name := range []string{"a", "b"} {
		f.transactions[name] = transactionsIn(t, db.Collection(name))
	}
	return f
}

func documents(t *testing.T, coll *mongo.Collection) (docs []bson.Raw) {
	t.Helper()
	cursor, err := coll.Find(t.Context(), bson.D{})
	if err == nil {
		err = cursor.All(t.Context(), &docs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// onceInLog checks that the oplog has each statement of a retryable write exactly once.
func onceInLog(t *testing.T, db *mongo.Database) {
	t.Helper()
	var all, twice []bson.Raw
	statements := bson.D{{"$match", bson.D{{"stmtId", bson.D{{"$exists", true}}}}}}
	group := bson.D{{"$group", bson.D{
		{"_id", bson.D{
			{"l", "$lsid.id"},
			{"t", "$txnNumber"},
			{"s", "$stmtId"},
		}},
		{"n", bson.D{{"$sum", 1}}},
	}}}
	repeated := bson.D{{"$match", bson.D{{"n", bson.D{{"$gt", 1}}}}}}
	for out, pipeline := range map[*[]bson.Raw]bson.A{
		&all: {statements, bson.D{{"$count", "n"}}}, &twice: {statements, group, repeated},
	} {
		cursor, err := db.Client().Database("local").Collection("oplog.rs").Aggregate(t.Context(), pipeline)
		if err == nil {
			err = cursor.All(t.Context(), out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) == 0 {
		t.Error("the log has no statements of retryable writes")
		return
	}
	t.Logf("%v statements in the log", all[0].Lookup("n"))
	for _, raw := range twice {
		t.Errorf("in the log more than once: %v", raw)
	}
}
