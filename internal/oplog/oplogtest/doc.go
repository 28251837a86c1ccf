// Package oplogtest checks that the oplog is complete. A Replica applies its entries, without any
// other information, and must end with the same collections as the server that wrote them. A mirror
// does the same with the events of a change stream, as far as the events describe the changes. The
// package reads the server through the driver. It is strict: an entry that does not fit the
// previous entries is an error.
package oplogtest
