// Package dispatch runs the command of a message and builds its reply.
//
// The life of a command (Handle): the first field of the message names a Definition. Every other
// field is a generic argument, one of the Definition's Fields, or an error. The checked Request
// runs under an operation, which maxTimeMS, killOp and shutdown can end. A transaction number makes
// the command a statement of a transaction, or a retryable write. The reply is built directly in
// the outgoing message. An error discards it, and one function formats the error reply (reply.go).
// Afterwards the command is counted, and logged if it was slow.
//
// Invariants:
//
//  1. All arguments are checked before Run. Run sees only fields of the declared types, each at
//     most once.
//  2. A panic in Run becomes InternalError and a logged stack. The connection stays open.
//  3. A command that may write passes the gate that fsyncLock closes.
//
// The package may import command, which has the types that all commands share. The packages with
// commands may import dispatch, because some commands run other commands.
package dispatch
