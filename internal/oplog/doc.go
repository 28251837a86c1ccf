// Package oplog creates and reads the entries of the oplog, local.oplog.rs. The oplog has all
// changes in the order of their commits. Each commit adds its own entries (package table), under
// keys that end with the commit's stamp. So the oplog has no holes, and its order is the order of
// the commits.
//
// An entry is a document as MongoDB 8.0 writes it:
//
//	lsid, txnNumber, stmtId    who wrote, for retryable writes and transactions
//	op      "i" insert, "u" update, "d" delete, "c" command, "n" nothing
//	ns, ui  the namespace, and the collection's UUID
//	o       the document; the update: {$v: 2, diff: …} or the new version; {_id: …}; the command
//	o2      the _id of the changed document, or the state that a command replaced
//	ts, t   the stamp, and the term, which is 1
//	v       2
//	wall    the time by the clock
//	preImage   the previous version, if the collection keeps it for change streams (MongoDB has a
//	        collection for them)
//
// The diff of an update is MongoDB's $v: 2 format:
//
//	{d: {field: false}, u: {field: value}, i: {field: value}, s<field>: diff}
//	{a: true, l: length, u<index>: value, s<index>: diff}                        of an array
package oplog
