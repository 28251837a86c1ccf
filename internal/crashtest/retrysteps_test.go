package crashtest

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// retrySteps are the steps of a retrier, each with its frequency.
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

func inc(by int64) bson.D {
	return bson.D{{"$inc", bson.D{{"n", by}}}}
}

// add is an update that adds to a counter.
func add(coll string, id any, by int64) bson.D {
	return bson.D{{"update", coll}, {"updates", bson.A{
		bson.D{{"q", bson.D{{"_id", id}}}, {"u", inc(by)}},
	}}}
}

func (c *retrier) addOne() {
	i, by := c.rng.IntN(ownCounters), 1+c.rng.Int64N(9)
	c.expect(c.write(retryDB, add(countersName, c.counter(i), by)), "n", 1, "nModified", 1)
	c.counters[i] += by
}

// addMany sends an update with several statements. After a kill possibly only the first statements
// are done.
func (c *retrier) addMany() {
	var updates bson.A
	n := 2 + c.rng.IntN(30)
	for range n {
		i := c.rng.IntN(ownCounters)
		updates = append(updates,
			bson.D{{"q", bson.D{{"_id", c.counter(i)}}}, {"u", inc(1)}})
		c.counters[i]++
	}
	cmd := bson.D{
		{"update", countersName},
		{"updates", updates},
		{"ordered", c.rng.IntN(2) == 0},
	}
	c.expect(c.write(retryDB, cmd), "n", n, "nModified", n)
}

func (c *retrier) addShared() {
	c.expect(c.write(retryDB, add(sharedName, c.rng.IntN(sharedCounters), 1)), "n", 1)
	c.shared++
}

// modify adds with findAndModify, which returns the counter before or after.
func (c *retrier) modify() {
	i, after := c.rng.IntN(ownCounters), c.rng.IntN(2) == 0
	reply := c.write(retryDB, bson.D{
		{"findAndModify", countersName},
		{"query", bson.D{{"_id", c.counter(i)}}},
		{"update", inc(1)},
		{"new", after},
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
		docs[i] = c.document(c.rng, group)
	}
	cmd := bson.D{
		{"insert", docsName},
		{"documents", docs},
		{"ordered", c.rng.IntN(2) == 0},
	}
	c.expect(c.write(retryDB, cmd), "n", n)
	c.inGroup[group] += n
}

// deleteOne deletes any document of a group. If the server ran the delete twice, it would delete
// two documents.
func (c *retrier) deleteOne() {
	group, query := c.pickGroup(c.rng)
	if group < 0 {
		return
	}
	cmd := bson.D{
		{"delete", docsName},
		{"deletes", bson.A{bson.D{{"q", query}, {"limit", 1}}}},
	}
	c.expect(c.write(retryDB, cmd), "n", 1)
	c.inGroup[group]--
}

func (c *retrier) removeOne() {
	group, query := c.pickGroup(c.rng)
	if group < 0 {
		return
	}
	reply := c.write(retryDB,
		bson.D{{"findAndModify", docsName}, {"query", query}, {"remove", true}})
	if g, ok := reply.Lookup("value", "g").AsInt64OK(); reply != nil && (!ok || g != int64(group)) {
		c.t.Errorf("client %d: removed from group %d: %v", c.id, group, reply)
	}
	c.inGroup[group]--
}

// upsert creates counters. The server chooses the _id of half of them.
func (c *retrier) upsert() {
	key := c.nextNumber()
	query := bson.D{{"k", fmt.Sprintf("%d-%d", c.id, key)}}
	if c.rng.IntN(2) == 0 {
		query = bson.D{{"_id", fmt.Sprintf("u%d-%d", c.id, key)}}
	}
	update := bson.D{
		{"$inc", bson.D{{"n", key}}},
		{"$set", bson.D{{"c", c.id}}},
	}
	reply := c.write(retryDB, bson.D{{"update", "upserts"}, {"updates", bson.A{
		bson.D{{"q", query}, {"u", update}, {"upsert", true}},
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

// bulk mixes kinds of writes in one bulkWrite.
func (c *retrier) bulk() {
	i := c.rng.IntN(ownCounters)
	group, query := c.pickGroup(c.rng)
	if group < 0 {
		return
	}
	ops := bson.A{
		bson.D{{"insert", 0}, {"document", c.document(c.rng, group)}},
		bson.D{{"delete", 0}, {"filter", query}},
		bson.D{
			{"update", 1},
			{"filter", bson.D{{"_id", c.counter(i)}}},
			{"updateMods", inc(1)},
		},
		bson.D{{"insert", 0}, {"document", c.document(c.rng, group)}},
		bson.D{
			{"update", 1},
			{"filter", bson.D{{"_id", c.counter(i)}}},
			{"updateMods", inc(2)},
		},
	}
	reply := c.write("admin", bson.D{
		{"bulkWrite", 1},
		{"ops", ops},
		{"errorsOnly", true},
		{"nsInfo", bson.A{
			bson.D{{"ns", retryDB + "." + docsName}},
			bson.D{{"ns", retryDB + "." + countersName}},
		}},
	})
	c.expect(reply, "nErrors", 0, "nInserted", 2, "nDeleted", 1, "nMatched", 2, "nModified", 2, "nUpserted", 0)
	c.inGroup[group]++
	c.counters[i] += 3
}
