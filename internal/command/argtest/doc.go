// Package argtest lists the arguments of all commands, and values of all BSON types to test them
// with. Only tests import it.
//
// Concepts:
//
//   - A base is a command that succeeds as it is. bases.jsonl has one per line: {"name": the name
//     of the command and, after a slash, a suffix if it has several bases, "db": its database,
//     "command": the document, "more": paths of arguments that are missing in Definition.Fields}.
//   - An argument is a path in a base: a field of the command, a field of a document in it, or an
//     argument that all commands share.
//   - A case is a base with one argument replaced by one value.
//
// A command without a base makes Arguments fail, so a new command needs a base.
package argtest
