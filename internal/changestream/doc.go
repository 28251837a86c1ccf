// Package changestream turns the oplog into the events of MongoDB's change streams.
//
// A Stream reads entries of local.oplog.rs in the order of their commits, up to the point where
// there are no holes. It yields the events for its collection, its database or the whole store.
// Between batches it keeps only a stamp.
//
// An event's _id is its resume token: the stamp of the entry, the operation's position in a
// transaction, and the subject of the event. The bytes of the tokens sort like the events, and are
// encoded in hexadecimal. A resumed stream continues after the event of the token.
package changestream
