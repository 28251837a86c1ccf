// Package patterntest has the tools that the tests of the patterns share.
//
//   - Open gives a test its own database: embedded and in memory, or on the server that
//     SHEAF_TEST_URI names.
//   - Crash lets a process die at every point of an operation, before each command and between each
//     command and its reply. After each death, the test checks the state of the database.
//   - Clock is a clock that stands still until the test moves it.
//   - NoScans fails a test in which a command reads a collection without an index.
//
// The tests of each package use these tools. Programs that build their own patterns can use them
// too.
package patterntest
