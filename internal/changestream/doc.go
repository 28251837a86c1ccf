// Package changestream turns the log of changes into the events of MongoDB's change streams.
//
// A Stream reads entries of local.oplog.rs in the order of their commits, up to where there are no
// holes, and yields the events of those that concern its collection, database or the whole store.
// Between batches it holds nothing but a stamp. An event's _id is its resume token: the stamp of
// the entry, the operation's place in a transaction, and what it was about, as bytes that sort as
// the events do, in hexadecimal. A stream that is resumed goes on behind the token's event.
package changestream
