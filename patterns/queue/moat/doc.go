// Package moat accepts writes for a remote deployment that may be unavailable. It queues them in a
// local deployment and applies them to the remote one later, in their order.
//
//	m, err := moat.New(till.Client().Database("till"), office.Client().Database("shop"), moat.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := m.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	err = m.Write(ctx,
//		moat.Insert("sales", bson.D{{"_id", "sale-1"}, {"sku", "pen"}}),
//		moat.Upsert("stock", "pen", bson.D{{"$inc", bson.D{{"qty", -1}}}}),
//	)
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// A program writes to a deployment that is sometimes unavailable: for maintenance, because a line
// is cut, or because it is on the other side of the world. The users of the program should not
// notice this, and a write that the program has confirmed must not be lost. Or the deployment is
// available, but a burst of writes is too much for it.
//
// The moat is a collection in a deployment that is always near: an embedded Sheaf in the program,
// or a small server. Writes go there, and a replayer applies them to the remote deployment as soon
// as it can.
//
// When not to use it: if the writer needs the result (was the condition true, is the name taken) or
// reads its own writes; for changes of many documents with one filter. A write that is applied
// later is applied to the state that the document has then.
//
// # The documents
//
//	moat: {_id: ObjectId("…"), coll: "stock", op: "upsert", id: "pen", data: BinData("…"),
//	       state: "waiting", seq: Timestamp(…), at: ISODate("…")}
//	indexes: {state: 1, seq: 1, _id: 1}, {expires: 1} TTL
//
// Each write changes one document, which it names by its _id. A write may be a few hundred bytes
// smaller than 16 MiB. The server of the moat determines the order: it sets the empty timestamp seq
// to its own time. Each write gets a timestamp of its own, which is greater than the timestamps of
// all earlier writes.
//
// Each remote document gets a field with the last write that each moat has applied to it. A moat
// generates its name when it is first used:
//
//	stock: {_id: "pen", qty: -1, moat: {q3kzr7ya2m: {write: ObjectId("…"), token: NumberLong(7)}}}
//
// # Operations
//
//	Write    1 insert for any number of writes
//	Run      for up to 100 writes: 1 find; then for each sequence of writes to different documents of one
//	         collection: 1 bulk write to the remote deployment (1 command for each change between inserts,
//	         updates and deletes) and 1 update of the moat
//	Flush    2 finds, and 1 find each tenth of Config.Pace
//	Stats    3 reads
//
// # Guarantees
//
//   - A write that Write has acknowledged will be applied, or is kept as rejected with the reason.
//     The write concern of the moat's database defines what acknowledged means; use {w: "majority"}
//     or {j: true}.
//   - Writes are applied in the order in which the moat stored them. Writes that different
//     processes stored at the same time have any order. A rejected write does not stop the ones
//     that follow it. If they depend on it, an operator must drop or retry writes by hand.
//   - Each write is applied once. If a write was applied but the moat has not recorded it, the mark
//     in the document shows that it was applied: the moat has applied no later write to this
//     document, because later writes wait. Other programs and other moats may write to the
//     documents too, if they do not change the field of the marks. If somebody removes a document,
//     and its insert is repeated, the document is inserted again.
//   - One process at a time replays. It holds a lock with a lease and a token. A replayer that has
//     lost its lease unknowingly cannot change a document that its successor has changed: the token
//     prevents it. One exception remains. If its insert is delayed for as long as the lease, and
//     the successor has inserted and removed the same document meanwhile, the document is inserted
//     again.
//   - A write is rejected only if the server refuses the write itself: a duplicate key, a failed
//     validation, a type that cannot be incremented. Any other error, such as missing privileges,
//     counts as unavailable, and the write is tried again.
//
// # When a process dies
//
//   - Before or during Write: the writes are stored or not. Calling Write again with the same
//     values within Config.Keep has no further effect.
//   - After writes were applied and before the moat has recorded it: the next replayer applies them
//     again, without effect.
//   - While it holds the lock: another process takes over after the lease has ended.
//
// There is nothing for a Repair.
//
// # Metrics
//
// The package counts moat.kept, moat.made and moat.rejected.
//
// # Scaling
//
// A moat is as fast as one replayer: it sends bulk writes of up to 100 documents, one at a time.
// Collections that do not depend on each other may have separate moats (Config.Collection). A moat
// has a single order and is not sharded. Waiting writes take space in its collection until they are
// applied: watch Stats.
//
// # Source
//
// The pattern is in "Scaling MongoDB", chapter 5 (system S61), which suggests message queues, or a
// capped collection on another server. A full capped collection would overwrite writes that are not
// replayed yet, so this package uses an ordinary collection. The book does not say how a replay
// avoids applying writes twice.
package moat
