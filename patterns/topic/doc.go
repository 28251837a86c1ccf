// Package topic delivers messages to everyone who listens. Subscribers that were away can replay
// the messages that they missed.
//
//	topics, err := topic.New(db, topic.Config{Name: "ticker", Size: 100_000})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := topics.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	all, err := topics.Subscribe(ctx, topic.Interest{Topics: []string{"shares.*"}})
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// Prices change, orders come in, caches must forget. Many processes want to hear of it, at once,
// each for itself; some of them are away for a while and want to hear what they have missed.
//
// A capped collection is a ring of messages in the order in which they were stored, and a tailable
// cursor waits at its end. That gives one insert for a message whatever the number of listeners, no
// state on the server for them, and as much of the past as the ring has room for. Where a message
// must go out in the transaction of what it tells of, or the collection is sharded, an ordinary
// collection and change streams do the same (Config.Form).
//
// When not to use it: for work that one of many shall do (package queue); to follow the changes of
// documents that are there anyway, for which a change stream needs no messages; for thousands of
// listeners on one server, each of which costs it a cursor.
//
// # The documents
//
//	topics: {_id: "6632…", topic: "shares.PIP", at: ISODate("2026-05-01T12:00:00Z"), seq: Timestamp(…), data: {ticker: "PIP", price: 12.5}}
//	        capped; index: {seq: 1}.   ByStream: not capped; index {at: 1} TTL besides
//	topics_subscribers: {_id: "billing", position: {id: "6632…", at, seq}, handled: NumberLong(3), updated: ISODate("…"), fence: NumberLong(7)}
//
// The server puts its time into seq. A message has at most 16 MiB, and less than the ring.
//
// # Operations
//
//	Publish, PublishAll   1 insert
//	Subscribe, Next       1 or 2 finds, then a getMore for each batch of messages, which waits on the server for the next one
//	Consume               the same, 1 update for each message that was handled, and a lock (package lock)
//	Lag                   1 find and 1 count of the index; 1 find more for a durable subscriber
//	Reset, Forget         as many as Subscribe, and 1 update; 1 delete
//
// Since and a subscription that goes on elsewhere read the ring from its beginning: the server
// throws away what is older, which costs it time and the network nothing.
//
// # Guarantees
//
//   - Messages are delivered in the order in which the server has stored them, to all subscribers
//     the same; those of one publisher in the order in which it has published them.
//   - A subscriber that keeps up sees each message that it is interested in exactly once. One that
//     is too slow for the ring is told (ErrOverrun), with the places between which messages were
//     lost; nothing is left out silently. It is also told when it was only away, and no message was
//     lost that it is interested in, as nobody can know that.
//   - Positions are places in the order of storing, not times: a message whose publisher's clock is
//     wrong is not lost. A place is found again as long as its message is there. For finding it,
//     messages within a minute of server time before it are looked at: an insert that takes longer
//     than that between its timestamp and its storing may be delivered twice or not at all to a
//     subscriber that comes back just then.
//   - Consume delivers at least once: a message is noted after its handler has succeeded. One
//     process at a time delivers to a durable subscriber, and one that has lost its lease stores
//     nothing over what its successor has.
//   - A draft with an ID is published once, as long as the first of its kind is kept.
//   - Publishing to a capped collection cannot be part of a transaction; to an ordinary one it can.
//
// # When a process dies
//
//   - In Publish: the message is there or not.
//   - In Consume, between the handler and the note: the message is delivered again to whoever goes
//     on, when the lease has ended.
//
// Nothing is left that would need Repair.
//
// # Metrics
//
// The counters topic.published, topic.delivered and topic.overrun.
//
// # Scaling
//
// A capped collection cannot be sharded. Its listeners may read from secondaries, whose order is
// the same. Topics that have nothing to do with each other go to rings of their own (Config.Name),
// so that a loud one does not push the others' messages out. An ordinary collection is sharded by
// {_id: "hashed"}; its change stream merges the shards by time.
//
// # Source
//
// "The Little MongoDB Schema Design Book", topics (system S35): the stock ticker, whose consumer
// asks for messages with a time of now or later. That misses messages of publishers whose clocks
// are behind, and a consumer that comes back has nothing to go on from. The book says that capped
// collections are lost at shutdown; they are not.
package topic
