// Package session keeps the state that outlives one message of a connection: logical sessions, open
// cursors, and running operations.
//
// Concepts:
//
//   - An Op is one running command. It is a context.Context whose Err returns the user error for
//     the reply (MaxTimeMSExpired, Interrupted and others). So loops stop with `if err :=
//     ctx.Err(); err != nil { return err }`.
//   - Ops lists the running operations for currentOp and killOp.
//   - A Session is a logical session, identified by the lsid that drivers send. Sessions end 30
//     minutes after their last use.
//   - The transaction numbers of a session are used for retryable writes and for transactions, and
//     only grow. A command with a transaction number checks the session out; see CheckOut, and
//     numbers for the states. Transactions is the registry of the open transactions.
//   - A Cursor is a query result that is fetched in batches. Cursors is the registry of the
//     cursors. A command pins a cursor while it uses it. An idle cursor holds no storage snapshot:
//     its Source keeps only a position.
//
// Invariants:
//
//  1. Only one command at a time uses a cursor: Pin fails with CursorInUse while another one holds
//     it.
//  2. A killed cursor is never used again. It is closed immediately if it is idle, and by Unpin if
//     it is pinned.
//  3. A Source's Close runs exactly once.
//  4. The ages of cursors, sessions and transactions come from the injected clock. They do not end
//     by themselves when they are too old: the server calls Reap. Only Op.LimitTime has a timer,
//     which ends the operation from another goroutine.
//  5. Only the operation that has checked the session out uses a transaction's Work. Code that
//     ends a transaction from outside either checks the session out, or ends the operation that
//     has it. In the second case the operation's CheckIn aborts the transaction.
//
// The package does not parse commands and does not build replies. It does not know which data a
// transaction has read and written.
package session
