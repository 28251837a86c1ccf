// Package moat keeps writes for a deployment that may be away. It queues them in a second
// deployment and applies them later, in their order.
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
// A program writes to a deployment that is sometimes away: for maintenance, because a line is cut,
// because it is on the other side of the world. Its users shall not notice, and nothing that they
// were told is kept may be lost. Or the deployment is there, but bursts of writes are more than it
// takes at once.
//
// The moat is a collection in a deployment that is at hand: an embedded Sheaf beside the program,
// or a small server. Writes go there, and a replayer makes them where they belong as soon as it
// can.
//
// When not to use it: where the writer needs the answer (was the condition true, is the name
// taken), or reads what it has just written; for changes of many documents by one filter. A write
// that is made later is made to what the document is then.
//
// # The documents
//
//	moat: {_id: ObjectId("…"), coll: "stock", op: "upsert", id: "pen", data: BinData("…"), state: "waiting", seq: Timestamp(…), at: ISODate("…")}
//	indexes: {state: 1, seq: 1, _id: 1}, {expires: 1} TTL
//
// Each write is of one document, which it names by its _id, at most some hundred bytes less than 16
// MiB. The order is given by the server of the moat, which puts its time into an empty timestamp:
// each write has one of its own, greater than those of all that were kept before.
//
// The remote documents get a field that says for each moat that writes to them which write was the
// last one; each moat has a name that it made up when it was first used:
//
//	stock: {_id: "pen", qty: -1, moat: {q3kzr7ya2m: {write: ObjectId("…"), token: NumberLong(7)}}}
//
// # Operations
//
//	Write    1 insert, of any number of writes
//	Run      for up to 100 writes: 1 find, then for each run of writes to different documents of one collection 1 bulk write to the other
//	         deployment, which is 1 command for each change between inserts, updates and deletes, and 1 update of the moat
//	Flush    2 finds, and 1 each tenth of a pace
//	Stats    3 reads
//
// # Guarantees
//
//   - A write that Write has acknowledged is made, or is kept as rejected with the reason.
//     Acknowledged is what the write concern of the moat's database says; it should be of {w:
//     "majority"} or {j: true}.
//   - Writes are made in the order in which they were kept; of those that were kept at the same
//     time by different processes in any order. One that is rejected is stepped over: who needs it
//     otherwise drops and retries by hand.
//   - Each is made once. A write that was made, but whose making was not noted, is known by the
//     mark of its document; the moat has made no other to it since, as the writes behind it wait.
//     Others may write to the documents too, other moats among them, if they leave the field alone.
//     An insert that is repeated after others have removed its document inserts it again.
//   - One process replays at a time, by a lock with a lease and a token. One that has lost its
//     lease without knowledge changes no document that its successor has changed, by the token.
//     What remains: its insert of a document that its successor has inserted and removed again, if
//     it was on its way for as long as the lease.
//   - Only the server's judgement of a write rejects it: a duplicate key, a failed validation, a
//     type that cannot be incremented. Everything else, such as missing rights, counts as away, and
//     is tried again.
//
// # When a process dies
//
//   - Before or in Write: the writes are kept or not. Calling it again with the same values within
//     Keep is the same as calling it once.
//   - Between making and noting: the next replayer makes them again, without effect.
//   - Holding the lock: another process takes over when the lease has ended.
//
// There is nothing to Repair.
//
// # Metrics
//
// The counters moat.kept, moat.made and moat.rejected.
//
// # Scaling
//
// A moat is as fast as one replayer: bulk writes of up to 100 documents, one at a time. Collections
// that do not depend on each other may have moats of their own (Config.Collection). The moat itself
// has one order and is not sharded. What waits takes room in its collection until it is made: watch
// Stats.
//
// # Source
//
// "Scaling MongoDB", chapter 5 (system S61), which names message queues, or a capped collection on
// another server. A capped collection overwrites what was not replayed yet when it is full, so this
// is an ordinary one. How a replay does without doing things twice the book does not say.
package moat
