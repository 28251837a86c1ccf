// Package topic delivers messages to all subscribers. Subscribers that were offline can replay the
// messages that they missed.
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
// Prices change, orders arrive, cached values become invalid. Many processes want to know of it at
// once. Some of these processes are down for a while, and want to read later what they missed.
//
// A capped collection is a ring of messages in the order in which they were stored, and a tailable
// cursor waits at its end. Publishing a message costs one insert, however many subscribers there
// are. The server keeps no state for them, and past messages stay available until the ring
// overwrites them. Config.Form selects an ordinary collection with change streams instead. Use it
// if a message must be published in the same transaction as the change that it announces, or if the
// collection is sharded.
//
// When not to use it: for work that exactly one of many workers shall do (use package queue); to
// follow changes of existing documents (a change stream does this without messages); for thousands
// of subscribers on one server, each of which needs a cursor there.
//
// # The documents
//
//	topics: {_id: "6632…", topic: "shares.PIP", at: ISODate("2026-05-01T12:00:00Z"), seq: Timestamp(…),
//	         data: {ticker: "PIP", price: 12.5}}
//	        capped; index: {seq: 1}.   ByStream: not capped, and also a TTL index {at: 1}
//	topics_subscribers: {_id: "billing", position: {id: "6632…", at, seq}, handled: NumberLong(3),
//	                     updated: ISODate("…"), fence: NumberLong(7)}
//
// The server sets seq to its own time. A message has at most 16 MiB, and must be smaller than the
// ring.
//
// # Operations
//
//	Publish, PublishAll   1 insert
//	Subscribe, Next       1 or 2 finds, then a getMore for each batch of messages; the server delays
//	                      its reply until there is a message
//	Consume               the same, 1 update for each handled message, and a lock (package lock)
//	Lag                   1 find and 1 count of the index; 1 more find for a durable subscriber
//	Reset, Forget         the commands of Subscribe and 1 update; 1 delete
//
// A subscription that begins at a time or after a position makes the server read the ring from the
// beginning. The server discards the older messages itself: this costs time on the server, but no
// network traffic.
//
// # Guarantees
//
//   - All subscribers receive the messages in the same order: the order in which the server has
//     stored them. The messages of one publisher arrive in the order in which it has published
//     them.
//   - A subscriber that keeps up receives each message that matches its interest exactly once. If
//     the ring has overwritten messages before the subscriber read them, it gets an ErrOverrun with
//     the positions between which messages were lost. No message is skipped silently. The error
//     does not mean that lost messages matched the subscriber's interest, because nobody can know
//     that any more.
//   - A position is a place in the order of storing, not a time: a message is not lost if its
//     publisher's clock is wrong. A position can be found again as long as its message is stored.
//     The search reads the messages whose server time is at most a minute earlier. If an insert
//     takes longer than a minute between getting its timestamp and being stored, a subscriber that
//     reconnects in that moment may receive the message twice or not at all.
//   - Consume delivers each message at least once: it stores the position after the handler has
//     succeeded. One process at a time delivers to a durable subscriber. A process that has lost
//     its lease cannot overwrite the position that its successor has stored.
//   - A draft with an ID is published only once, as long as the first message with this ID is kept.
//   - Publishing to an ordinary collection can be part of a transaction. Publishing to a capped
//     collection cannot.
//
// # When a process dies
//
//   - In Publish: the message is published or not.
//   - In Consume, after the handler and before the position is stored: the process that continues
//     after the end of the lease delivers the message again.
//
// Nothing needs a Repair.
//
// # Metrics
//
// The package counts topic.published, topic.delivered and topic.overrun.
//
// # Scaling
//
// A capped collection cannot be sharded. Subscribers may read from secondaries, which have the same
// order. Put unrelated topics into separate rings (Config.Name), so that a busy topic does not
// overwrite the messages of the others. Shard an ordinary collection by {_id: "hashed"}; its change
// stream merges the shards by time.
//
// # Source
//
// The pattern is in "The Little MongoDB Schema Design Book", topics (system S35): a stock ticker
// whose consumer queries for messages from now on, by the publishers' time. Such a consumer misses
// messages of publishers whose clocks are slow, and has no position from which to continue later.
// The book says that a shutdown loses capped collections, but it does not.
package topic
