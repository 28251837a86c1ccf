// Package dispatch runs the command of a message and builds its reply.
//
// The life of a command (Handle): the message's first field names a Definition; every other field
// is a generic argument, one of the Definition's Fields, or an error. The checked Request runs
// under an operation that maxTimeMS, killOp and shutdown can end; a transaction number makes it a
// statement of a transaction, or a retryable write. The reply is built in place in the outgoing
// message. An error discards it and is written by the one function that formats errors (reply.go).
// Afterwards the command is counted, and logged if it was slow.
//
// Invariants:
//
//  1. What a client sends is checked before Run: Run sees fields of the declared types only, each
//     at most once.
//  2. A panic in Run becomes InternalError and a logged stack; the connection goes on.
//  3. A command that may write passes the gate that fsyncLock closes.
//
// The package stands above command, which has the types that commands are made of, and below the
// commands: some of them run other commands.
package dispatch
