// Package argtest lists the arguments of all commands, with the types of BSON that each may be
// given. Only tests import it.
//
// Concepts:
//
//   - A base is a command that works as it stands. It lives in bases.jsonl: {"name": the name of
//     the command and what tells it from other bases of the same one, "db": its database,
//     "command": the document, "more": paths of arguments that no table of fields has}.
//   - An argument is a path in a base: a field of the command's table, a field of a document
//     within, or one of the arguments that all commands share.
//   - A case is a base with one argument replaced by one value.
//
// A command without a base is an error of Arguments, so a new command needs one.
package argtest
