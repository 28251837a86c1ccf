// Package command has the types that commands are made of: Definition and the registry, Request,
// Service, the fields of arguments, and the generic arguments with the concerns.
//
// A Definition describes a command: its names, its fields and its properties. A Request is one call
// of it, with the checked arguments. The Service is what all commands of a server share: the store,
// sessions, cursors, settings and counters. internal/dispatch runs requests. The commands are in the
// packages crud, ddl and admin, and internal/commands joins them.
//
// Invariants:
//
//  1. A null or undefined optional field counts as absent, as in MongoDB's IDL, unless its type is
//     Any.
//  2. A Request and everything reachable from it borrow the connection's buffer until Run returns.
//     Request.Retain keeps the bytes for longer, for example for the filter of a cursor.
//  3. Every command of MongoDB is in the registry: with Run, or with Status Known, which answers
//     NotImplemented.
//
// To add a command, write a file in crud, ddl or admin with a function that returns its Definitions,
// and add that function to the table of internal/commands. Run reads arguments with Request.Get,
// Request.Doc and others, appends fields to the reply, and returns a *mongoerr.Error for a user's
// mistake. The dispatcher appends "ok" and the other generic fields.
package command
