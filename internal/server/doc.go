// Package server accepts connections and runs the messages that arrive on them: over TCP, Unix
// sockets and memory.
//
// Concepts:
//
//   - A Server serves any number of listeners with one command.Service. Each connection has one
//     goroutine. It reads a message, runs it, and sends the reply. Only large replies take several
//     writes.
//   - MemoryListener is a listener whose connections are pairs of buffers in memory. The embedded
//     client dials it.
//   - The monitor ends idle cursors, idle sessions and old transactions. Package ttl removes
//     expired documents.
//   - The watcher (watch.go) looks for commands that run long and check whether they have ended.
//     While such a command runs, a goroutine reads from its connection, to notice when the client
//     leaves.
//
// Invariants:
//
//  1. A small message is read into the connection's own buffer. A larger message, and every reply,
//     gets a buffer from a pool. The buffer goes back to the pool before the next read, unless a
//     cursor still refers to the message. An idle connection keeps only its own small buffer.
//  2. A message that cannot be parsed ends its connection or gets an error reply. Other
//     connections continue.
//  3. A read ends when its client leaves. A write in progress continues, and so do requests that
//     the client sent before.
//  4. Shutdown lets running commands finish until its context ends. Then it interrupts them.
//
// The package knows no commands and no documents.
package server
