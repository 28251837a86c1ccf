package crashtest

import (
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// retrySteps are the steps of clients.
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

// addMany has several statements. After a kill possibly only the first ones are done.
func (c *retrier) addMany() {
	var updates bson.A
	n := 2 + c.rng.IntN(30)
	for range n {
		i := c.rng.IntN(ownCounters)
		updates = append(updates,
			bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: c.counter(i)}}}, {Key: "u", Value: inc(1)}})
		c.counters[i]++
	}
	cmd := bson.D{
		{Key: "update", Value: countersName},
		{Key: "updates", Value: updates},
		{Key: "ordered", Value: c.rng.IntN(2) == 0},
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
		{Key: "findAndModify", Value: countersName},
		{Key: "query", Value: bson.D{{Key: "_id", Value: c.counter(i)}}},
		{Key: "update", Value: inc(1)},
		{Key: "new", Value: after},
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
		{Key: "insert", Value: docsName},
		{Key: "documents", Value: docs},
		{Key: "ordered", Value: c.rng.IntN(2) == 0},
	}
	c.expect(c.write(retryDB, cmd), "n", n)
	c.inGroup[group] += n
}

// deleteOne deletes any document of a group. If it ran twice, it would delete two documents.
func (c *retrier) deleteOne() {
	group, query := c.pickGroup(c.rng)
	if group < 0 {
		return
	}
	cmd := bson.D{
		{Key: "delete", Value: docsName},
		{Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: query}, {Key: "limit", Value: 1}}}},
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
		bson.D{{Key: "findAndModify", Value: docsName}, {Key: "query", Value: query}, {Key: "remove", Value: true}})
	if g, ok := reply.Lookup("value", "g").AsInt64OK(); reply != nil && (!ok || g != int64(group)) {
		c.t.Errorf("client %d: removed from group %d: %v", c.id, group, reply)
	}
	c.inGroup[group]--
}

// upsert creates counters. The server chooses the _id of half of them.
func (c *retrier) upsert() {
	key := c.nextNumber()
	query := bson.D{{Key: "k", Value: fmt.Sprintf("%d-%d", c.id, key)}}
	if c.rng.IntN(2) == 0 {
		query = bson.D{{Key: "_id", Value: fmt.Sprintf("u%d-%d", c.id, key)}}
	}
	update := bson.D{
		{Key: "$inc", Value: bson.D{{Key: "n", Value: key}}},
		{Key: "$set", Value: bson.D{{Key: "c", Value: c.id}}},
	}
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

// bulk mixes kinds of writes in one bulkWrite.
func (c *retrier) bulk() {
	i := c.rng.IntN(ownCounters)
	group, query := c.pickGroup(c.rng)
	if group < 0 {
		return
	}
	ops := bson.A{
		bson.D{{Key: "insert", Value: 0}, {Key: "document", Value: c.document(c.rng, group)}},
		bson.D{{Key: "delete", Value: 0}, {Key: "filter", Value: query}},
		bson.D{
			{Key: "update", Value: 1},
			{Key: "filter", Value: bson.D{{Key: "_id", Value: c.counter(i)}}},
			{Key: "updateMods", Value: inc(1)},
		},
		bson.D{{Key: "insert", Value: 0}, {Key: "document", Value: c.document(c.rng, group)}},
		bson.D{
			{Key: "update", Value: 1},
			{Key: "filter", Value: bson.D{{Key: "_id", Value: c.counter(i)}}},
			{Key: "updateMods", Value: inc(2)},
		},
	}
	reply := c.write("admin", bson.D{
		{Key: "bulkWrite", Value: 1},
		{Key: "ops", Value: ops},
		{Key: "errorsOnly", Value: true},
		{Key: "nsInfo", Value: bson.A{
			bson.D{{Key: "ns", Value: retryDB + "." + docsName}},
			bson.D{{Key: "ns", Value: retryDB + "." + countersName}},
		}},
	})
	c.expect(reply, "nErrors", 0, "nInserted", 2, "nDeleted", 1, "nMatched", 2, "nModified", 2, "nUpserted", 0)
	c.inGroup[group]++
	c.counters[i] += 3
}
