// Package session keeps what outlives one message of a connection: logical sessions, open
// cursors, and the operations that are running.
//
// Concepts:
//
//   - An Op is one running command. It is a context.Context whose Err returns the user error to
//     answer with (MaxTimeMSExpired, Interrupted, …), so that loops stop with `if err :=
//     ctx.Err(); err != nil { return err }`.
//   - Ops lists the running operations for currentOp and killOp.
//   - A Session is a logical session, named by the lsid that drivers send. Sessions end 30
//     minutes after their last use.
//   - The transaction numbers of a session are used for retryable writes and for transactions,
//     and only grow. A command that has one checks the session out; see CheckOut, and numbers for
//     the states. Transactions is the registry of the open ones.
//   - A Cursor is a query result that is fetched in batches. Cursors is their registry; a command
//     pins a cursor while it uses it, and an idle cursor holds no storage snapshot: its Source
//     keeps a position only.
//
// Invariants:
//
//  1. A cursor is used by one command at a time: Pin fails with CursorInUse while another holds
//     it.
//  2. A killed cursor is never used again: it is closed at once when idle, and by Unpin when
//     pinned.
//  3. A Source's Close runs exactly once.
//  4. The ages of cursors, sessions and transactions come from the injected clock, and nothing
//     ends by itself when it is too old: the server calls Reap. Only Op.LimitTime has a timer,
//     which ends the operation from a goroutine of the runtime.
//  5. What a transaction consists of (Work) is used by the one who has its session checked out.
//     Who ends a transaction from outside checks the session out, or ends the operation that has
//     it and leaves the abort to its CheckIn.
//
// The package does not parse commands and makes no replies. It does not know what a transaction
// has read and written.
package session
