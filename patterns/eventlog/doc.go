// Package eventlog stores events, such as the requests of a web server, and removes them after a
// time. The caller says how durable each event must be.
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
// Events come faster than anything else that is stored, and never end. Each kind deserves its own
// answer to what happens when a server fails; a batch must not fail because of one event; queries
// by time, host and path need indexes that fit into memory; and old events have to go without
// costing as much as they did when they came.
//
// When not to use it: for charts that are known beforehand (count as events come: package hits),
// for measurements (a time-series collection), and for events that are the truth about something,
// to be read back in the order of a global position (a topic).
//
// # The documents
//
//	events: {_id: ObjectId("…"), time: ISODate("2000-10-10T20:55:36Z"), host: "127.0.0.1", user: "frank", method: "GET",
//	         path: "/apache_pb.gif", protocol: "HTTP/1.0", status: 200, size: NumberLong(2326), referrer: "…", user_agent: "…",
//	         fields: {…}}
//	indexes: {time: 1}, {host: 1, time: 1}, {path: 1, time: 1}
//
// Fields that are empty are left out. The order of {host: 1, time: 1} matters: by {time: 1, host:
// 1}, the events of a host on one day are found by walking through those of all hosts. An event has
// the size that its program gives it.
//
// # Retention
//
//	Capped       one collection of a fixed size: when it is full, the oldest go. Cheapest; for as long as there is room; not sharded
//	TTL          one collection; the server deletes each event when its time has come. Sharded; costs a deletion for each event
//	Collections  a collection for each period, events_202605010000, which is dropped. Costs nothing; any number of periods is queried as one
//	Databases    a database for each period, which gives back disk space on any storage engine
//
// An event is in the collection of the period in which it happened, whenever it comes: so a query
// knows where to look, and nothing moves when a period ends. Maintain, which Run calls, makes the
// next period's collection beforehand and drops those that are too old.
//
// # Operations
//
//	Append       1 unordered insert for each collection; for a new one 4 commands more, once for each process
//	Find         1 find, and for Collections and Databases 1 list of names; 1 find for each period
//	CountByDay   likewise, with aggregates
//	Losses       likewise
//	Maintain     1 list of names, 1 drop for each collection or database that is too old
//
// # Guarantees
//
//   - What Append returns no error for is stored as its class says, and seen by queries:
//     Acknowledged, Journaled, Replicated or both. A class that the server cannot give is an error.
//   - Where single events cannot be stored, the others are; AppendError lists the former.
//   - After any other error, the same events may be appended again: each is stored once, and told
//     with ErrDuplicate where it was there.
//   - Events that are only Sent may be lost silently. They are numbered, and Losses counts the
//     gaps.
//   - A query over any span of time returns the same events in the same order of time, whatever the
//     retention, as far as they are still kept. Periods are dropped one period after their last
//     event became as old as Keep; older events are refused (ErrTooOld).
//
// # What a crash leaves
//
//	in Append     some of the events; appended again, each is there once
//	in Maintain   collections without all of their indexes, or too old ones; the next Maintain, of any process, goes on
//
// There is nothing to repair.
//
// # Metrics
//
// eventlog.failed counts the events that AppendErrors list.
//
// # Scaling
//
// ShardKeys is {path: 1, _id: "hashed"}: inserts are spread, a path's events are found on few
// shards, and those of a path that is requested more than all others can still be split. By time,
// or by _id alone, all inserts would go to one shard; by the hash alone, all queries go to all.
// Each new period's collection is sharded by calling Shard. Reports may read from secondaries.
//
// # Source
//
// "MongoDB Applied Design Patterns", storing log data. The book renames collections to rotate them:
// an event of the seconds in between then goes to the old or the new one, and a query that reads
// both while it happens finds it twice or not at all. Here a collection has the name of its period
// from the beginning. The book's drivers reported the last error of a batch only.
package eventlog
