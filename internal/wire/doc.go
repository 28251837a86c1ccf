// Package wire frames and parses the messages of MongoDB's protocol: OP_MSG, OP_COMPRESSED, and
// OP_QUERY with its OP_REPLY for the first hello of old drivers.
//
// A message is read whole into one buffer (ReadMessage), parsed without copying (Parse), and
// answered by appending a message to another buffer (BeginMsg … FinishMsg), which a single write
// sends.
//
// Invariants:
//
//  1. Parse never panics and never reads outside its buffer; everything it returns borrows that
//     buffer.
//  2. Every BSON document that Parse returns has passed bsonx.Validate.
//  3. No length that a client states is allocated before it was checked against limits.MessageBytes.
//  4. An error for which IsFatal is true closes the connection without an answer, as mongod does; any other error of
//     Parse is answered.
//
// The package knows no commands. To add a compressor, add a row to the table in compress.go.
package wire
