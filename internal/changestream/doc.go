// Package changestream turns the oplog into the events of MongoDB's change streams.
//
// A Stream reads the entries of local.oplog.rs in the order of their commits. It stops before the
// first commit that is still in progress, or that is not yet as durable as its client asked. It
// yields the events for its collection, its database or the whole store. Between two batches it
// holds no snapshot. It keeps a stamp and the events that it has not returned yet, and may keep the
// entry of a transaction.
//
// An event's _id is its resume token: the stamp of the entry, the operation's position in a
// transaction, and the type and the document key of the event. The bytes of the tokens sort like
// the events, and are encoded in hexadecimal. A resumed stream continues after the event of the
// token.
package changestream
