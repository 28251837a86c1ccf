// Package lock gives one process at a time the right to do something. Its locks are documents with
// leases and fencing tokens.
//
//	locks, err := lock.New(db, lock.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	err = locks.Do(ctx, "nightly-report", func(ctx context.Context, lease *lock.Lease) error {
//		fmt.Println("reporting, token", lease.Token())
//		_, err := locks.Acquire(ctx, "nightly-report")
//		fmt.Println("meanwhile another one hears:", errors.Is(err, lock.ErrHeld))
//		return nil
//	})
//	if err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// Several processes share data, and some work must not be done by two of them at once: a nightly
// job, the mending of a document, a shop's emergency sale. A flag in a document is set by one
// conditional update; but a process that dies with the flag set would keep it for ever, and one
// that was merely slow may go on after its flag was given to another.
//
// A lock here is held for a lease, which the holder prolongs while it works, and which ends by
// itself when it dies. Each holder has a token that is greater than those of all holders before it.
// Who writes on behalf of the lock writes the token too and makes its writes conditional on it
// (Guard): then a holder whose lease has ended without its knowledge cannot undo the work of the
// next one.
//
// When not to use it: to change one document, or a few. A conditional update, or a transaction,
// needs no lock.
//
// Most of the time no lock is needed. Tallies and Lines are the two ways to do without: an update
// that computes what follows from a document's other fields, and a conditional update with a
// fallback. Both keep a sum right without anybody holding anything.
//
// # The documents
//
//	locks:   {_id: "nightly-report", owner: "8f14…", token: NumberLong(7), expires: ISODate("2026-05-01T12:00:30Z")}
//
//	tallies: {_id: "basket-7", counts: {apples: NumberLong(3), pears: NumberLong(2)}, total: NumberLong(5), kinds: NumberLong(2)}
//	lines:   {_id: "order-7", items: [{sku: "pen", qty: NumberLong(3)}, {sku: "ink", qty: NumberLong(1)}], total: NumberLong(4)}
//
// A lock's document stays when the lock is released, so that tokens never repeat. There is no index
// but that of _id.
//
// # Operations
//
//	Acquire   1 findAndModify with upsert; a duplicate key says that someone else holds the lock
//	Renew     1 findAndModify on {_id, owner}
//	Release   1 update on {_id, owner}
//	Check     2 finds
//
//	Tallies.Add   1 findAndModify with a pipeline
//	Lines.Add     1 update; 2 where the line is new
//
// # Guarantees
//
//   - One holder at a time, as far as the clocks of the processes agree: the lease should be much
//     longer than they differ.
//   - Tokens grow. With Guard the guarantee does not depend on clocks: a write with an old token
//     has no effect.
//   - Each operation is one write to one document: it has happened or not.
//   - The sums of Tallies and Lines follow from the rest of their documents at every moment. The
//     driver repeats an update whose answer was lost without its effect being doubled.
//
// # Crashes
//
//	Acquire       the lock is free, or held by nobody until the lease ends
//	Renew         the lease ends as it would have, or one lease from now
//	Release       the lock is free, or will be when the lease ends
//	Tallies.Add   done or not, with its sums; a process that starts again does not know which, and looks at the tally
//	Lines.Add     the same; of a new line the update that finds none changes nothing
//
// Nothing is left that needs a Repair of locks or lines. That of Tallies is for what others have
// written.
//
// # Scaling
//
// Locks, tallies and lines are independent documents: shard them by {_id: "hashed"}. Read nothing
// of locks from secondaries.
//
// # Source
//
// "50 Tips and Tricks for MongoDB Developers", tip 1 (S40: one lock document that many others refer
// to) and tip 10 (S48: self-sufficient documents; the book counts distinct kinds under a lock, or
// guesses and mends later, as there were no updates by pipelines). It leaves open what happens when
// a holder dies: the lease. "MongoDB Applied Design Patterns", chapter 3 (S08: conditional updates
// with a fallback). Fencing tokens are described in Martin Kleppmann's "How to do distributed
// locking" (2016).
package lock
