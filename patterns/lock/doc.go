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
// job, the repair of a document, a special sale of a shop. One conditional update can set a flag in
// a document. But if a process dies, its flag stays set for ever. And a process that is only slow
// may continue after its flag was given to another process.
//
// In this package a process holds a lock for a lease. The holder renews the lease while it works,
// and the lease ends by itself if the holder dies. Each holder gets a token that is greater than
// the tokens of all earlier holders. A holder stores the token with its writes, and makes its
// writes conditional on it (Guard). Then a holder whose lease has ended unknowingly cannot
// overwrite the work of the next holder.
//
// When not to use it: to change one document or a few documents. A conditional update or a
// transaction needs no lock.
//
// Most of the time no lock is needed. Tallies and Lines show two ways to avoid one: an update that
// computes fields from other fields of the document, and a conditional update with a fallback. Both
// keep a sum right without a lock.
//
// # The documents
//
//	locks:   {_id: "nightly-report", owner: "8f14…", token: NumberLong(7), expires: ISODate("2026-05-01T12:00:30Z")}
//
//	tallies: {_id: "basket-7", counts: {apples: NumberLong(3), pears: NumberLong(2)},
//	          total: NumberLong(5), kinds: NumberLong(2)}
//	lines:   {_id: "order-7", items: [{sku: "pen", qty: NumberLong(3)}, {sku: "ink", qty: NumberLong(1)}],
//	          total: NumberLong(4)}
//
// The document of a lock stays when the lock is released, so that tokens never repeat. The only
// index is on _id.
//
// # Operations
//
//	Acquire   1 findAndModify with upsert; a duplicate key error means that the lock is held
//	Renew     1 findAndModify on {_id, owner}
//	Release   1 update on {_id, owner}
//	Check     2 finds
//
//	Tallies.Add   1 findAndModify with a pipeline
//	Lines.Add     1 update; 2 for a new line
//
// # Guarantees
//
//   - A lock has one holder at a time, as far as the clocks of the processes agree: the lease
//     should be much longer than their differences.
//   - Tokens grow. With Guard, the guarantee does not depend on clocks: a write with an old token
//     has no effect.
//   - Each operation is one write to one document: it has happened or not.
//   - At every moment the sums of Tallies and Lines agree with the rest of their documents. The
//     driver may repeat an update whose reply was lost; its effect is not doubled.
//
// # Crashes
//
//	Acquire       the lock is free, or held for a dead process until the lease ends
//	Renew         the lease ends at its old time, or one lease from now
//	Release       the lock is free, or will be free when the lease ends
//	Tallies.Add   done or not, with its sums; a restarted process must read the tally to find out
//	Lines.Add     the same; for a new line, the first update matches nothing and changes nothing
//
// Locks and lines need no Repair. Tallies has a Repair for documents that other programs have
// written.
//
// # Scaling
//
// Locks, tallies and lines are independent documents: shard them by {_id: "hashed"}. Never read
// locks from secondaries.
//
// # Source
//
// The pattern is in "50 Tips and Tricks for MongoDB Developers", tip 1 (S40: one lock document to
// which many others refer) and tip 10 (S48: self-sufficient documents). Updates with pipelines did
// not exist then, so the book counts distinct kinds under a lock, or estimates and corrects later.
// It does not say what happens if a holder dies; leases solve this. "MongoDB Applied Design
// Patterns", chapter 3 (S08) has conditional updates with a fallback. Fencing tokens are described
// in Martin Kleppmann's "How to do distributed locking" (2016).
package lock
