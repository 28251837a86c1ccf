// Package server accepts connections and runs the messages that arrive on them: over TCP, Unix
// sockets and memory.
//
// Concepts:
//
//   - A Server serves any number of listeners with one command.Service. Each connection has one
//     goroutine, which reads a message, runs it and writes the reply with one call.
//   - MemoryListener is a listener whose connections are pairs of buffers in memory; the embedded
//     client dials it.
//   - The monitor ends idle cursors and sessions, and another one removes expired documents
//     (package ttl). Another goroutine looks for commands that run long and look whether they have
//     ended: the connection of one is read from meanwhile, so that the end of its client is noticed
//     (watch.go).
//
// Invariants:
//
//  1. A message is read into the connection's small buffer where it fits; a larger one, and every
//     reply, gets a buffer from a pool that is given back before the next read. An idle connection
//     holds its small buffer only.
//  2. A message that cannot be parsed ends its connection or is answered by an error; other
//     connections go on.
//  3. A read ends when its client is gone. A write that has begun goes on, as do requests that the
//     client sent before.
//  4. Shutdown lets running commands finish until its context ends; then they are interrupted.
//
// The package knows no commands and no documents.
package server
