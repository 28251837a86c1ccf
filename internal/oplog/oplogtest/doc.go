// Package oplogtest checks that the log of changes says everything: a Replica that applies its
// entries, and knows nothing else, has the collections of the server that wrote them. So has a
// mirror that is fed with the events of a change stream, as far as these go. It reads the server
// through the driver, and is strict: an entry that does not fit what was before it is an error.
package oplogtest
