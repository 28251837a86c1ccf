// Package patterntest is what the tests of patterns have in common.
//
//   - Open gives a test a database of its own: embedded in memory, or on the server that
//     SHEAF_TEST_URI names.
//   - Crash lets a process die at every point of an operation, before and behind each of its
//     commands, and asks what is then true.
//   - Clock is a clock that stands still until the test moves it.
//   - NoScans fails a test in which a command reads a collection without an index.
//
// A package's own tests are made of them; those who build a pattern of their own may use them too.
package patterntest
