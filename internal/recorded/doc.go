// Package recorded compares Sheaf with answers that were recorded from a MongoDB server. Its tests
// do; Vectors and Areas read recorded replies that are not part of the repository, for these tests
// and others.
//
// Concepts:
//
//   - A case is a name and a question: a few commands, and what is kept of their replies as one
//     line of text.
//   - A generator lists the cases of one class. It is deterministic.
//   - A file under testdata holds the server's answers, one case a line: its name, a tab, the
//     answer.
//   - A vector is a case with its own commands and their replies, in a folder beside the
//     repository. TestVectors plays all of them.
//   - A grouped file holds each distinct answer once. The lines behind it begin with a tab: the
//     options of a case, a tab, and the bases that have this answer with these options.
//
// A case without an answer fails, and so does an answer without a case: whoever changes a generator
// records again:
//
//	go test ./internal/recorded -run SharedEdges -record 'mongodb://127.0.0.1:27017/?directConnection=true'
//
// Record one test at a time: all of them use the same database of that server.
//
// To add a class, write a generator and a test that passes its cases to check.
package recorded
