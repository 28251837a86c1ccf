// Package command turns messages into replies. It is the framework of all commands: the registry,
// the parsing and checking that they share, concerns, transactions, reads, cursors and replies.
// The commands are in the packages crud, ddl and admin below it, and internal/commands joins them.
//
// The life of a command (Service.Handle): the message's first field names a Definition; every
// other field is a generic argument (lsid, readConcern, maxTimeMS, …; generic.go), one of the
// Definition's Fields, or an error. The checked Request runs under an operation (session.Op) that
// maxTimeMS, killOp and shutdown can end. The reply is built in place in the outgoing message; an
// error throws it away and is answered in the one place that formats errors (reply.go).
//
// Invariants:
//
//  1. What a client sends is checked before Run: Run sees fields of the declared types only, each at most once.
//  2. A null or undefined optional field counts as absent, as in MongoDB's IDL, unless its type is Any.
//  3. A Request and everything reachable from it borrow the connection's buffer until Run returns; Request.Retain makes
//     the bytes live on (a cursor's filter).
//  4. A panic in Run becomes InternalError and a logged stack; the connection goes on.
//  5. Every command that MongoDB has is in the registry: with Run, or with Status Known, which answers NotImplemented.
//
// To add a command, write its file in crud, ddl or admin with a function that returns its
// Definitions, and add that function to the table of internal/commands. Run reads arguments with
// Request.Get and its relatives, appends fields to reply, and returns a *mongoerr.Error for a
// user's mistake. "ok" and everything generic is appended by the framework.
package command
