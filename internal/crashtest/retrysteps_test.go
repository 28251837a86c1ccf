package crashtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

const (
	// ownCounters are the counters of a client; all clients have the shared ones.
	ownCounters    = 3
	sharedCounters = 2
	groups         = 4
	maxInGroup     = 300
	countersName   = "counters"
)

// expected is what a client knows to be there.
type expected struct {
	counters [ownCounters]int64
	// shared is how much the client added to all shared counters.
	shared int64
	// inGroup counts the client's documents of a group; any of them may be deleted.
	inGroup [groups]int
	// upserted are counters by the _id with which they were made by upserts.
	upserted     map[any]int64
	transactions []int64
	next         int64
}

func newExpected() expected { return expected{upserted: map[any]int64{}} }

func (e *expected) nextNumber() int64 {
	e.next++
	return e.next
}

// retrySteps are what clients do.
var retrySteps = []struct {
	weight int
	run    func(c *retrier)
}{
	{6, (*retrier).addOne},
	{3, (*retrier).addMany},
	{3, (*retrier).addShared},
	{4, (*retrier).modify},
	{4, (*retrier).insert},
	{4, (*retrier).deleteOne},
	{3, (*retrier).removeOne},
	{2, (*retrier).upsert},
	{3, (*retrier).bulk},
	{4, (*retrier).transact},
}

// counter is the _id of one of the client's counters.
func (c *retrier) counter(i int) string { return fmt.Sprintf("c%d-%d", c.id, i) }

func inc(by int64) bson.D {
	return bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: by}}}}
}

// add is an update that adds to a counter.
func add(coll string, id any, by int64) bson.D {
	return bson.D{{Key: "update", Value: coll}, {Key: "updates", Value: bson.A{
		bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: id}}}, {Key: "u", Value: inc(by)}},
	}}}
}

func (c *retrier) addOne() {
	i, by := c.rng.IntN(ownCounters), 1+c.rng.Int64N(9)
	c.expect(c.write(retryDB, add(countersName, c.counter(i), by)), "n", 1, "nModified", 1)
	c.counters[i] += by
}

// addMany has several statements, of which a kill may leave the first ones.
func (c *retrier) addMany() {
	var updates bson.A
	n := 2 + c.rng.IntN(30)
	for range n {
		i := c.rng.IntN(ownCounters)
		updates = append(updates, bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: c.counter(i)}}}, {Key: "u", Value: inc(1)}})
		c.counters[i]++
	}
	cmd := bson.D{{Key: "update", Value: countersName}, {Key: "updates", Value: updates}, {Key: "ordered", Value: c.rng.IntN(2) == 0}}
	c.expect(c.write(retryDB, cmd), "n", n, "nModified", n)
}

func (c *retrier) addShared() {
	c.expect(c.write(retryDB, add(sharedName, c.rng.IntN(sharedCounters), 1)), "n", 1)
	c.shared++
}

// modify adds with findAndModify, which tells what the counter was or is.
func (c *retrier) modify() {
	i, after := c.rng.IntN(ownCounters), c.rng.IntN(2) == 0
	reply := c.write(retryDB, bson.D{
		{Key: "findAndModify", Value: countersName}, {Key: "query", Value: bson.D{{Key: "_id", Value: c.counter(i)}}},
		{Key: "update", Value: inc(1)}, {Key: "new", Value: after},
	})
	want := c.counters[i]
	c.counters[i]++
	if after {
		want++
	}
	if n, ok := reply.Lookup("value", "n").AsInt64OK(); reply != nil && (!ok || n != want) {
		c.t.Errorf("client %d: findAndModify of a counter, which is to answer %d: %v", c.id, want, reply)
	}
}

// document is a new document of a group, without an order among those of the group.
func (c *retrier) document(group int) bson.D {
	return bson.D{
		{Key: "_id", Value: fmt.Sprintf("d%d-%d", c.id, c.nextNumber())}, {Key: "c", Value: c.id}, {Key: "g", Value: group},
		{Key: "pad", Value: pad(c.rng.IntN(300))},
	}
}

func (c *retrier) insert() {
	group, n := c.rng.IntN(groups), 1
	if c.inGroup[group] > maxInGroup {
		return
	}
	if c.rng.IntN(2) == 0 {
		n += c.rng.IntN(60)
	}
	docs := make(bson.A, n)
	for i := range docs {
		docs[i] = c.document(group)
	}
	cmd := bson.D{{Key: "insert", Value: docsName}, {Key: "documents", Value: docs}, {Key: "ordered", Value: c.rng.IntN(2) == 0}}
	c.expect(c.write(retryDB, cmd), "n", n)
	c.inGroup[group] += n
}

// pickGroup returns a group that has documents, and a query for any of them; -1 where there is none.
func (c *retrier) pickGroup() (int, bson.D) {
	first := c.rng.IntN(groups)
	for i := range groups {
		if g := (first + i) % groups; c.inGroup[g] > 0 {
			return g, bson.D{{Key: "c", Value: c.id}, {Key: "g", Value: g}}
		}
	}
	return -1, nil
}

// deleteOne deletes any document of a group: run twice, it would delete another one too.
func (c *retrier) deleteOne() {
	group, query := c.pickGroup()
	if group < 0 {
		return
	}
	cmd := bson.D{{Key: "delete", Value: docsName}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: query}, {Key: "limit", Value: 1}}}}}
	c.expect(c.write(retryDB, cmd), "n", 1)
	c.inGroup[group]--
}

func (c *retrier) removeOne() {
	group, query := c.pickGroup()
	if group < 0 {
		return
	}
	reply := c.write(retryDB, bson.D{{Key: "findAndModify", Value: docsName}, {Key: "query", Value: query}, {Key: "remove", Value: true}})
	if g, ok := reply.Lookup("value", "g").AsInt64OK(); reply != nil && (!ok || g != int64(group)) {
		c.t.Errorf("client %d: removed from group %d: %v", c.id, group, reply)
	}
	c.inGroup[group]--
}

// upsert makes counters, half of them with an _id that the server makes.
func (c *retrier) upsert() {
	key := c.nextNumber()
	query := bson.D{{Key: "k", Value: fmt.Sprintf("%d-%d", c.id, key)}}
	if c.rng.IntN(2) == 0 {
		query = bson.D{{Key: "_id", Value: fmt.Sprintf("u%d-%d", c.id, key)}}
	}
	update := bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: key}}}, {Key: "$set", Value: bson.D{{Key: "c", Value: c.id}}}}
	reply := c.write(retryDB, bson.D{{Key: "update", Value: "upserts"}, {Key: "updates", Value: bson.A{
		bson.D{{Key: "q", Value: query}, {Key: "u", Value: update}, {Key: "upsert", Value: true}},
	}}})
	if reply == nil {
		return
	}
	c.expect(reply, "n", 1, "nModified", 0)
	var id any
	if err := reply.Lookup("upserted", "0", "_id").Unmarshal(&id); err != nil {
		c.t.Errorf("client %d: upsert: %v", c.id, reply)
		return
	}
	c.upserted[id] = key
}

// bulk mixes kinds in one bulkWrite.
func (c *retrier) bulk() {
	i := c.rng.IntN(ownCounters)
	group, query := c.pickGroup()
	if group < 0 {
		return
	}
	ops := bson.A{
		bson.D{{Key: "insert", Value: 0}, {Key: "document", Value: c.document(group)}},
		bson.D{{Key: "delete", Value: 0}, {Key: "filter", Value: query}},
		bson.D{{Key: "update", Value: 1}, {Key: "filter", Value: bson.D{{Key: "_id", Value: c.counter(i)}}}, {Key: "updateMods", Value: inc(1)}},
		bson.D{{Key: "insert", Value: 0}, {Key: "document", Value: c.document(group)}},
		bson.D{{Key: "update", Value: 1}, {Key: "filter", Value: bson.D{{Key: "_id", Value: c.counter(i)}}}, {Key: "updateMods", Value: inc(2)}},
	}
	reply := c.write("admin", bson.D{
		{Key: "bulkWrite", Value: 1}, {Key: "ops", Value: ops}, {Key: "errorsOnly", Value: true},
		{Key: "nsInfo", Value: bson.A{
			bson.D{{Key: "ns", Value: retryDB + "." + docsName}}, bson.D{{Key: "ns", Value: retryDB + "." + countersName}},
		}},
	})
	c.expect(reply, "nErrors", 0, "nInserted", 2, "nDeleted", 1, "nMatched", 2, "nModified", 2, "nUpserted", 0)
	c.inGroup[group]++
	c.counters[i] += 3
}

func prepareRetries(t *testing.T, srv *child, clients []*retrier) {
	t.Helper()
	db := srv.client.Database(retryDB)
	var counters []bson.D
	for _, c := range clients {
		for i := range ownCounters {
			counters = append(counters, bson.D{{Key: "_id", Value: c.counter(i)}, {Key: "n", Value: int64(0)}})
		}
	}
	if _, err := db.Collection(countersName).InsertMany(t.Context(), counters); err != nil {
		t.Fatal(err)
	}
	for i := range sharedCounters {
		if _, err := db.Collection(sharedName).InsertOne(t.Context(), bson.D{{Key: "_id", Value: i}, {Key: "n", Value: int64(0)}}); err != nil {
			t.Fatal(err)
		}
	}
	index := mongo.IndexModel{Keys: bson.D{{Key: "c", Value: 1}, {Key: "g", Value: 1}}}
	if _, err := db.Collection(docsName).Indexes().CreateOne(t.Context(), index); err != nil {
		t.Fatal(err)
	}
}

// verifyRetries compares what there is with what the clients know, none of whom waits for an answer.
func verifyRetries(t *testing.T, srv *child, clients []*retrier) {
	t.Helper()
	if t.Failed() {
		return
	}
	db := srv.client.Database(retryDB)
	found := newFound(t, db)
	shared := int64(0)
	for _, c := range clients {
		for i, n := range c.counters {
			if got := found.counters[c.counter(i)]; got != n {
				t.Errorf("counter %s is %d, not %d", c.counter(i), got, n)
			}
		}
		shared += c.shared
		if got := found.inGroup[c.id]; got != c.inGroup {
			t.Errorf("client %d has %d documents in its groups, not %d", c.id, got, c.inGroup)
		}
		if got := found.upserted[c.id]; !maps.Equal(got, c.upserted) {
			t.Errorf("client %d has %d upserted counters, not %d, or others", c.id, len(got), len(c.upserted))
		}
		for name, of := range found.transactions {
			slices.Sort(of[c.id])
			if !slices.Equal(of[c.id], c.transactions) {
				t.Errorf("client %d has %d transactions in %s, not %d, or others", c.id, len(of[c.id]), name, len(c.transactions))
			}
		}
	}
	if found.shared != shared {
		t.Errorf("the shared counters have %d, %d were added", found.shared, shared)
	}
	for _, name := range []string{countersName, sharedName, docsName, "upserts", "a", "b"} {
		validate(t.Context(), t, db, name)
	}
}

// foundState is what a server has.
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
		of := map[int32][]int64{}
		for _, d := range documents(t, db.Collection(name)) {
			c := d.Lookup("_id", "c").Int32()
			of[c] = append(of[c], d.Lookup("_id", "n").Int64())
		}
		f.transactions[name] = of
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

// onceInLog checks that the log of changes has each statement of a retryable write once.
func onceInLog(t *testing.T, srv *child) {
	t.Helper()
	var all, twice []bson.Raw
	statements := bson.D{{Key: "$match", Value: bson.D{{Key: "stmtId", Value: bson.D{{Key: "$exists", Value: true}}}}}}
	group := bson.D{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: bson.D{{Key: "l", Value: "$lsid.id"}, {Key: "t", Value: "$txnNumber"}, {Key: "s", Value: "$stmtId"}}},
		{Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}},
	}}}
	repeated := bson.D{{Key: "$match", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 1}}}}}}
	for out, pipeline := range map[*[]bson.Raw]bson.A{
		&all: {statements, bson.D{{Key: "$count", Value: "n"}}}, &twice: {statements, group, repeated},
	} {
		cursor, err := srv.client.Database("local").Collection("oplog.rs").Aggregate(t.Context(), pipeline)
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
