// Package ledger moves money, or anything that is counted, between accounts. Each transfer happens
// as a whole and once, or not at all, and no balance passes its limits, even if a process dies in
// the middle.
//
//	bank, err := ledger.New(db, ledger.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	err = errors.Join(
//		bank.EnsureIndexes(ctx),
//		bank.Open(ctx, ledger.Account{ID: "joe", Currency: "USD", Opening: 1000_00}),
//		bank.Open(ctx, ledger.Account{ID: "peter", Currency: "USD"}),
//	)
//	if err != nil {
//		log.Fatal(err)
//	}
//	rent := ledger.Move{From: "joe", To: "peter", Amount: 100_00, Currency: "USD"}
//	if _, err := bank.Transfer(ctx, "rent-5", rent); err != nil { // sent again, it happens once
//
// # The problem
//
// A transfer changes two documents. Between the two updates a process can die, and money is gone,
// or there twice. A reply can be lost, and the transfer is sent again. Two workers can take up the
// same transfer; one that was only slow can go on after another has rolled it back.
//
// Here a transfer is a document of its own that says how far it has come, and accounts know which
// transfers are under way on them. Who finds a transfer half done can end it, from what the
// documents say alone. The same documents can be changed in one multi-document transaction instead
// (Config.Transactions), where the server has them: fewer commands, and nobody sees the middle.
//
// When not to use it: where both sides of every transfer fit one document, one update is enough.
//
// # The documents
//
//	accounts:  {_id: "joe", currency: "USD", opening: NumberLong(100000), balance: NumberLong(90000),
//	            outgoing: NumberLong(0), incoming: NumberLong(0), floor: NumberLong(0), ceiling: NumberLong(…), pending: [], fences: []}
//	transfers: {_id: "rent-5", state: "done", run: ObjectId("…"), app: "A1", created: …, committed: …,
//	            moves: [{from: "joe", to: "peter", amount: NumberLong(10000), currency: "USD"}],
//	            legs: [{account: "joe", currency: "USD", amount: NumberLong(-10000), posted: NumberLong(-10000)}, {account: "peter", …}]}
//	indexes:   transfers {state: 1, deadline: 1}, partial: deadline exists (those under way only); {"legs.account": 1, committed: 1, _id: 1}
//
// Amounts are whole numbers of the smallest unit, in Go always, in documents as NumberLong, or with
// Config.Decimals as NumberDecimal with that many decimals. What an account can spend is balance -
// outgoing, which never falls below floor; balance + incoming never rises above ceiling. The _id of
// a transfer is its idempotency key. A transfer may have several moves, which happen together; the
// legs are their sums per account. run names one attempt: pending holds the runs that have reserved
// something on an account, fences those that may no longer.
//
// # States
//
//	initial ──> pending ──> committed ──> done
//	   ^           │   └──> held ──┘ (Post)
//	   │           v          │
//	   └─────── canceling <───┘ ──> canceled
//
// A transfer that others shall execute is initial (Submit); one that is executed at once begins as
// pending. While it is pending, the amounts are reserved: outgoing on one side, incoming on the
// other. The step to committed is the one that decides; after it the reservations become balances.
// A hold stays reserved until Post, Cancel, or its time is over. canceling gives the reservations
// back.
//
// # Operations
//
//	Transfer   two-phase: 1 insert, 1 update command for all accounts, 1 update (committed), 1 for all accounts, 1 update (done)
//	           transaction: 1 insert, then 1 update, 1 update command for all accounts, commitTransaction
//	Hold       the first three of them; Post the last three
//	Cancel     1 find, 1 update, 1 update command for all accounts, 1 update; a transfer that is refused needs them too
//	Undo       1 find, and a Transfer in the other direction
//	Submit     1 insert; Work 1 findAndModify, and the rest of a Transfer
//	Open       1 insert; Account, Get 1 find; Close, SetLimits 1 update; BalanceAt 1 find, 1 aggregate; History those and 1 find
//
// In a transaction a transfer takes between a half and two thirds of the time, also where many meet
// on one account and some have to be tried again. Two-phase works anywhere.
//
// # Guarantees
//
//   - The sum of the balances of a currency is that of the openings, but for what committed
//     transfers have not yet moved; nothing is ever lost or there twice.
//   - Limits hold at every moment: what a transfer adds can be spent when the transfer is
//     committed, not before, so that no rollback takes back what is spent already.
//   - A transfer of one _id happens once, however often it is called. One that was refused stays
//     refused, except for Undo; one that was interrupted may be called again. The same _id with
//     other moves is ErrKeyReused.
//   - A transfer is executed by one process at a time: the one whose run it carries. A process that
//     was slow, and has been rolled back meanwhile, has no effect any more: the account's fences
//     keep the last MaxFences runs that were rolled back.
//   - Transfers are never removed or changed after they are done: History and BalanceAt read them.
//   - Between the first and the last account of a committed two-phase transfer readers see one
//     changed and the other not yet. With transactions they see both or none.
//   - An account has at most MaxPending transfers under way at a time, a transfer at most MaxMoves
//     moves: documents stay small.
//
// # Crashes
//
// Who dies before committed leaves a transfer that Repair rolls back when Config.Timeout is over:
// it becomes canceled, with ErrInterrupted, or initial again if it was submitted. Who dies after it
// leaves one that Repair ends. Between the accounts of one update command it is the same: each
// account is changed by a condition on its own pending, and all steps may be repeated. RecoverOwn
// does not wait for the timeout. Check holds before Repair as well as after it. Run does both,
// again and again.
//
// # Scaling
//
// Shard accounts and transfers by {_id: "hashed"}; the search for work and for what was left goes
// to all shards. An account that is part of every transfer is a document that all of them write,
// one after the other: split it into several. Secondaries serve history only.
//
// # Source
//
// "MongoDB Applied Design Patterns", chapter 3 (S09; states new, commit, rollback: here pending,
// committed, canceling) and "The Little MongoDB Schema Design Book", account transactions (S10; the
// other states). Both debit and credit the balances before the decision: what is credited can be
// spent before it is rolled back, and the balance falls below zero. Both let a worker that was slow
// apply a transfer that has been rolled back, or finished, meanwhile, because the id is no longer
// among the account's pending ones. The listings confuse the collections, debit both sides, clean
// up one transaction of many, and compare ids with documents. Neither has idempotency keys, holds,
// limits other than zero, or a check. TigerBeetle's model of pending and posted amounts is the one
// used here.
package ledger
