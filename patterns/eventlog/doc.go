// Package eventlog stores events, such as the requests of a web server, and removes them after some
// time. The caller chooses how durable each event must be.
//
//	events, err := eventlog.New(db, eventlog.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	var batch []*eventlog.Event
//	for e, err := range eventlog.Parse(strings.NewReader(accessLog)) {
//		if err != nil {
//			fmt.Println(err)
//			continue
//		}
//		batch = append(batch, e)
//	}
//	if err := events.Append(ctx, eventlog.Journaled, batch...); err != nil {
//		log.Fatal(err)
//	}
//
// # The problem
//
// Events arrive faster than all other data, and never stop. For each kind of event the program must
// decide what may happen to it if a server fails. A batch must not fail because of a single event.
// Queries by time, host and path need indexes that fit into memory. Removing old events must not
// cost as much as storing them.
//
// When not to use it: for charts that are known in advance (count events as they arrive: package
// hits); for measurements (use a time-series collection); for events that are the original data of
// an application, to be read in a global order (use package topic).
//
// # The documents
//
//	events: {_id: ObjectId("…"), time: ISODate("2000-10-10T20:55:36Z"), host: "127.0.0.1", user: "frank",
//	         method: "GET", path: "/apache_pb.gif", protocol: "HTTP/1.0", status: 200,
//	         size: NumberLong(2326), referrer: "…", user_agent: "…", fields: {…}}
//	indexes: {time: 1}, {host: 1, time: 1}, {path: 1, time: 1}
//
// Empty fields are left out. The order of fields in {host: 1, time: 1} matters: with {time: 1,
// host: 1}, a query for the events of one host on one day would read the index keys of all hosts.
// The program decides how large an event is.
//
// # Retention
//
//	Capped       one collection of a fixed size; when it is full, the oldest events go; cheapest; the time for
//	             which events are kept depends on their number; cannot be sharded
//	TTL          one collection; the server deletes each event when it is old enough; can be sharded; costs a
//	             deletion for each event
//	Collections  one collection for each period, events_202605010000, which is dropped as a whole; costs almost
//	             nothing; queries cover any number of periods
//	Databases    one database for each period; dropping it frees disk space on any storage engine
//
// An event is stored in the collection of the period in which it happened, whenever it arrives. So
// a query knows which collections to read, and nothing moves when a period ends. Maintain, which
// Run calls, creates the collection of the next period in advance and drops collections that are
// too old.
//
// # Operations
//
//	Append       1 unordered insert for each collection; 4 more commands once per process for a new collection
//	Find         1 find; for Collections and Databases 1 list of names and 1 find for each period
//	CountByDay   the same with aggregates
//	Losses       the same with aggregates
//	Maintain     1 list of names, 1 drop for each collection or database that is too old
//
// # Guarantees
//
//   - If Append returns no error, all events are stored as their class promises and are visible to
//     queries: Acknowledged, Journaled, Replicated, or both. Append returns an error if the server
//     cannot provide a class.
//   - If single events cannot be stored, Append stores the others; the AppendError lists the failed
//     events.
//   - After any other error, the same events may be appended again. Each is stored once; events
//     that are already stored fail with ErrDuplicate.
//   - Events of class Sent may be lost without an error. They are numbered, and Losses counts the
//     gaps.
//   - A query over any span of time returns the same events in the same order of time with every
//     retention, as far as the events are still kept. A period is dropped one period after its last
//     event has reached the age Keep. Older events are refused (ErrTooOld).
//
// # After a crash
//
//	in Append     some of the events are stored; append them again, and each is stored once
//	in Maintain   collections that lack indexes or are too old; the next Maintain of any process continues
//
// There is nothing to repair.
//
// # Metrics
//
// eventlog.failed counts the events listed in AppendErrors.
//
// # Scaling
//
// The shard key is {path: 1, _id: "hashed"}. Inserts are spread over the shards, the events of a
// path are on few shards, and the events of a very frequent path can still be split. With a shard
// key of only the time or the _id, all inserts would go to one shard. With only a hash, every query
// would go to all shards. Call Shard in each period to shard its new collection. Reports may read
// from secondaries.
//
// # Source
//
// The pattern is in "MongoDB Applied Design Patterns", storing log data. The book renames
// collections to rotate them. During the renaming an event may go to the old or the new collection,
// and a query that reads both may find an event twice or not at all. Here a collection has the name
// of its period from the beginning. The drivers of the book's time reported only the last error of
// a batch.
package eventlog
