// Package ledger moves money, or any other counted quantity, between accounts. A transfer happens
// completely and exactly once, or not at all, and no balance exceeds its limits. This holds even if
// a process dies in the middle of a transfer.
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
// A transfer changes two documents. A process can die between the two updates: then money is lost,
// or exists twice. A reply can be lost, and the client sends the transfer again. Two workers can
// pick up the same transfer. A slow worker can continue after another worker has rolled its
// transfer back.
//
// In this package a transfer is a document that records its own progress, and each account lists
// the transfers under way on it. A process that finds a half-done transfer can finish it: the
// documents alone contain all it needs. With Config.Transactions, the ledger changes the same
// documents in one multi-document transaction, if the server supports transactions. This takes
// fewer commands, and readers never see an intermediate state.
//
// When not to use it: if both sides of every transfer fit in one document, a single update is
// enough.
//
// # The documents
//
//	accounts:  {_id: "joe", currency: "USD", opening: NumberLong(100000), balance: NumberLong(90000),
//	            outgoing: NumberLong(0), incoming: NumberLong(0), floor: NumberLong(0), ceiling: NumberLong(…),
//	            pending: [], fences: []}
//	transfers: {_id: "rent-5", state: "done", run: ObjectId("…"), app: "A1", created: …, committed: …,
//	            moves: [{from: "joe", to: "peter", amount: NumberLong(10000), currency: "USD"}],
//	            legs: [{account: "joe", currency: "USD", amount: NumberLong(-10000), posted: NumberLong(-10000)},
//	                   {account: "peter", …}]}
//	indexes:   transfers {state: 1, deadline: 1}, partial: deadline exists (only transfers under way)
//	           transfers {"legs.account": 1, committed: 1, _id: 1}
//
// In Go, amounts are whole numbers of the smallest unit. Documents store the amounts as NumberLong,
// or as NumberDecimal if Config.Decimals is set. An account can spend balance - outgoing - floor:
// balance - outgoing never falls below floor, and balance + incoming never rises above ceiling. The
// _id of a transfer is its idempotency key. A transfer may have several moves, which happen
// together; its legs are the sums of the moves for each account. run identifies one attempt to
// execute the transfer. The array pending of an account lists the runs that have reserved an amount
// on it. The array fences lists runs that were rolled back and may not reserve anything any more.
//
// # States
//
//	initial ──> pending ──> committed ──> done
//	   ^           │   └──> held ──┘ (Post)
//	   │           v          │
//	   └─────── canceling <───┘ ──> canceled
//
// A transfer that other processes shall execute begins as initial (Submit). A transfer that is
// executed at once begins as pending. While a transfer is pending, its amounts are reserved: as
// outgoing on the paying account, as incoming on the receiving one. The step to committed decides
// that the transfer happens; after it, the reservations become balances. The amounts of a hold stay
// reserved until Post, Cancel or its expiry. In the state canceling, the reservations are being
// given back.
//
// # Operations
//
//	Transfer   two-phase: 1 insert, 1 update command for all accounts, 1 update (committed),
//	           1 update command for all accounts, 1 update (done)
//	           transaction: 1 insert, then 1 update, 1 update command for all accounts, commitTransaction
//	Hold       the first three commands of a Transfer; Post 1 find and the last three
//	Cancel     1 find, 1 update, 1 update command for all accounts, 1 update
//	           a refused transfer needs the same commands
//	Undo       1 find, and a Transfer in the other direction
//	Submit     1 insert; Work 1 findAndModify, and the rest of a Transfer
//	Open       1 insert; Account, Get 1 find; Close, SetLimits 1 update
//	BalanceAt  1 find, 1 aggregate; History 2 finds, 1 aggregate
//
// Executed in a transaction, a transfer takes between half and two thirds of the two-phase time.
// This is also true if many transfers use the same account and some transactions have to be
// retried. Two-phase execution works on any server.
//
// # Guarantees
//
//   - The sum of the balances of a currency equals the sum of the opening balances, except for
//     committed transfers that have not yet changed all their accounts. No amount is ever lost or
//     counted twice.
//   - Limits hold at every moment. An account can spend an incoming amount only after the transfer
//     is committed, so a rollback never takes back an amount that is already spent.
//   - A transfer with a given _id happens once, however often it is called. A refused transfer
//     stays refused, except for the transfers of Undo. An interrupted transfer may be called again.
//     A call with the same _id and other moves returns ErrKeyReused.
//   - One process at a time executes a transfer: the process whose run the transfer carries. A slow
//     process whose transfer was rolled back can no longer change the accounts: the fences of an
//     account hold the last MaxFences runs that were rolled back.
//   - Transfers are never removed or changed after they are done: History and BalanceAt read them.
//   - While a committed two-phase transfer changes its accounts, readers may see some accounts
//     changed and others not yet. With transactions they see all changes or none.
//   - At most MaxPending transfers are under way on an account, and a transfer has at most MaxMoves
//     moves. This keeps the documents small.
//
// # Crashes
//
// If a process dies before its transfer is committed, Repair rolls the transfer back after
// Config.Timeout. The transfer becomes canceled with ErrInterrupted, or initial again if it was
// submitted. If the process dies later, Repair completes the transfer. The server may also die
// after an update command has changed only some of the accounts. Repair handles that as well: the
// update of each account depends on that account's own pending array, so all steps can be repeated.
// RecoverOwn does not wait for the timeout. The rules of Check hold both before and after Repair.
// Run executes submitted transfers and calls Repair, in a loop.
//
// # Scaling
//
// Shard accounts and transfers by {_id: "hashed"}. The searches of Work and Repair go to all
// shards. If one account takes part in every transfer, all transfers update the same document one
// after the other: split such an account into several. Read from secondaries for history only.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", chapter 3 (S09), with the states new, commit
// and rollback, which are pending, committed and canceling here. It is also in "The Little MongoDB
// Schema Design Book", account transactions (S10), with the other states.
//
// Both books change the balances before the decision. A credited amount can therefore be spent and
// then rolled back, and the balance falls below zero. In both books a slow worker can apply a
// transfer that was rolled back or finished meanwhile, because the account's pending array no
// longer holds its id. The listings confuse the collections, debit both sides, clean up only one of
// many transactions, and compare ids with documents. Neither book has idempotency keys, holds,
// limits other than zero, or a check.
//
// The pending and posted amounts follow the model of TigerBeetle.
package ledger
