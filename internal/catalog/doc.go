// Package catalog stores the definitions of the databases, collections, views and indexes. It keeps
// all of them in memory, so that a look-up takes no lock.
//
// It stores specifications as the clients wrote them. A package above compiles them (filters, key
// patterns) and attaches the result to an entry through the Attach hook. T of Collection[T] is the
// type of the result.
//
// Invariants:
//
//  1. An entry is immutable. A change publishes a new entry with a higher Version, after it was
//     made durable.
//  2. A reader sees the whole catalog before or after a change, never between.
//  3. Changes are made one at a time. Storage identifiers are never reused.
//  4. A database exists while it has a collection or a view.
//  5. The data that a drop leaves in storage is recorded as garbage in the same transaction, until
//     it is deleted.
//
// The entries are stored as BSON documents under 0x02 'c' <collection id>, so that a rename changes
// one key:
//
//	0x02 'c' | collection id (4 bytes, big endian)  -> {db, name, uuid, kind, options, version, idIndex,
//	                                                   indexes: [{id, spec, ready, filled}]}
//	0x02 'g' | first key of a range                 -> {end: first key after it}
//	0x02 'n'                                        -> {next: next identifier}
package catalog
