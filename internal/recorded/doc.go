// Package recorded compares Sheaf with replies that were recorded from a MongoDB server. The tests
// of the package do this. Vectors and Areas read recorded replies that are not part of the
// repository, for these tests and others.
//
// Concepts:
//
//   - A case is a name and a question: some commands, and the part of their replies to keep as one
//     line of text.
//   - A generator lists the cases of one class. It is deterministic.
//   - A file under testdata has the server's answers, one case per line: its name, a tab, the
//     answer.
//   - A vector is a case with its own commands and their replies, in a folder beside the
//     repository. TestVectors runs all of them.
//   - A grouped file has each distinct answer once. The following lines begin with a tab. They have
//     the options of a case, a tab, and the bases that give this answer with these options.
//
// A case without an answer fails, and so does an answer without a case. After changing a generator,
// record again:
//
//	go test ./internal/recorded -run SharedEdges -record 'mongodb://127.0.0.1:27017/?directConnection=true'
//
// Record only one test at a time, because all of them use the same database of that server.
//
// To add a class, write a generator and a test that passes its cases to check.
package recorded
