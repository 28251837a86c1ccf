// Package command has the types that all commands share: Definition and its registry, Request,
// Service, argument fields, and generic arguments such as the read and write concern.
//
// A Definition describes a command: its names, its fields and its properties. A Request is one call
// of a command, with checked arguments. The Service holds the state that all commands of a server
// share: the store, sessions, cursors, settings and counters. internal/dispatch runs requests. The
// packages crud, ddl and admin implement the commands, and internal/commands joins them into one
// table.
//
// Invariants:
//
//  1. A null or undefined optional field counts as absent, as in MongoDB's IDL, unless its type is
//     Any.
//  2. A Request and everything reachable from it refer to the connection's read buffer, which is
//     valid until Run returns. Request.Retain keeps it valid for longer, for example for the filter
//     of a cursor.
//  3. Every command of MongoDB is in the registry, either with Run or with the status Known, whose
//     answer is NotImplemented.
//
// To add a command, write a file in crud, ddl or admin with a function that returns its
// Definitions, and add that function to the table of internal/commands. The definition answers all
// Properties. The rules of a special command are optional fields of its definition, such as
// Latency, InTransaction and Explain: the framework never asks for the name of a command. Run reads
// arguments with Request.Get, Request.Doc and others, appends fields to the reply, and returns a
// *mongoerr.Error for a user's mistake. The dispatcher appends "ok" and the other generic fields.
package command
