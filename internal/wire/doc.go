// Package wire frames and parses the messages of MongoDB's protocol: OP_MSG, OP_COMPRESSED, and
// OP_QUERY with its OP_REPLY for the first hello of old drivers.
//
// A message is read completely into one buffer (ReadMessage) and parsed without copying (Parse).
// The reply is appended to another buffer (BeginMsg … FinishMsg) and sent with a single write.
//
// Invariants:
//
//  1. Parse never panics and never reads outside its buffer. Everything it returns borrows that
//     buffer, except for a compressed message (Message.Owned).
//  2. Every BSON document that Parse returns has passed bsonx.Validate.
//  3. No length that a client states is allocated before it was checked against
//     limits.MessageBytes.
//  4. An error for which IsFatal is true closes the connection without an answer, as mongod does;
//     any other error of Parse is answered.
//
// The package knows no commands. To add a compressor, add a row to the table in compress.go.
package wire
