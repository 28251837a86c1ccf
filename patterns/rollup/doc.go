// Package rollup sums up events by hour, day, week, month and year, step by step: it sums events to
// hours, hours to days, days to weeks and months, and months to years.
//
//	sessions, err := rollup.New(db, rollup.Config{Env: patterns.Env{Clock: clock}}) // a program leaves Env out
//	if err != nil {
//		log.Fatal(err)
//	}
//	if err := sessions.EnsureIndexes(ctx); err != nil {
//		log.Fatal(err)
//	}
//	for _, event := range events {
//		if err := sessions.Record(ctx, event); err != nil {
//			log.Fatal(err)
//		}
//		clock.Advance(time.Hour)
//		if _, err := sessions.Update(ctx); err != nil { // programs have Run do so
//			log.Fatal(err)
//		}
//	}
//
// # The problem
//
// Reports of a year cannot read the events of a year. Each level of sums is made from the one below
// it, as soon as something has changed there. Events come late, updates fail half-way, and two of
// them may run at once; the sums must come out the same.
//
// When not to use it: for counters that must be right within seconds, and are only ever incremented
// (package hits); for medians or distinct visitors, which do not add up; for events that are
// changed or deleted one by one.
//
// # The documents
//
//	events:        {_id, userid: "u1", ts: ISODate("2000-10-10T10:05:00Z"), length: 10, at: ISODate("2000-10-10T10:06:12Z")}
//	stats.hourly:  {_id: {u: "u1", d: ISODate("2000-10-10T10:00:00Z")}, value: {total: 30, count: 2, mean: 15.0, ts: ISODate("…")}}
//	stats.daily, stats.weekly, stats.monthly, stats.yearly: likewise
//	stats.state:   {_id: "arrivals", until: ISODate("2000-10-10T11:04:00Z")}
//	indexes:       events {at: 1}, {userid: 1, ts: 1}, {ts: 1} (which expires, with Config.Keep);
//	               each level {"_id.u": 1, "_id.d": 1}
//
// ts is when an event happened, at when it was recorded. The names of an event's fields are
// Config's. Values are integers: money in cents, times in milliseconds. All documents are of
// constant size, but for the key, which is the program's.
//
// # Operations
//
//	Record      1 insert
//	Update      1 find of the state; then, for each hour in which something has arrived, 1 find, 1 aggregate that lists the keys and
//	            hours to which it belongs, 1 aggregate with $merge for each of these hours, days, weeks, months, years (for each 1000
//	            keys), 1 update of the state
//	Recompute   the same for hours in which something happened, without the state
//	Stats       1 find
//
// # Guarantees
//
//   - Nothing is counted twice: an update does not add to the sums that there are, but sums up the
//     hours, days and so on that have changed anew, from all that they consist of. It may be
//     repeated, wholly or in part.
//   - Nothing is left out: the state is advanced when the sums are written, and an event belongs to
//     exactly one span of arrivals. This needs events to be seen by others within Settle of their
//     time of arrival, by the clocks of those who record and update. Recompute finds those that
//     were not.
//   - Late events change the sums of the time in which they happened, however long ago, if the
//     events of that hour are still there.
//   - Updates of several processes at once do no harm: a document is replaced only by one with a
//     greater count, and events are only added. A correction is an event with a negative value.
//   - However often updates ran, and whenever, the sums are those of one run over all events.
//
// The command mapReduce (Config.MapReduce) gives the same sums where one process at a time updates
// (package lock): its output cannot tell which of two documents is newer. It is slower, deprecated
// in MongoDB, and gone from its latest development (ErrMapReduce).
//
// # What a crash leaves
//
// Before the state is advanced, some levels may know of events that higher ones do not. The next
// Update begins with the same events and brings all levels up. There is nothing to repair.
//
// # Metrics
//
// rollup.hours counts the hours of keys that Run has summed up.
//
// # Scaling
//
// Events are sharded by {userid, ts}, levels by {_id}. Reports may read from secondaries; updates
// read what was written before, and must not. Keys of one hour of arrivals are held in memory: 10
// million take about 2 GiB.
//
// # Source
//
// "MongoDB Applied Design Patterns", hierarchical aggregation (S14). The book adds what is new in
// the lower level to the higher one by mapReduce with out: {reduce}. A crash before last_run is
// stored then counts twice, and so does an hour that changes in two runs, as it goes into its day
// as a whole each time. The conditions of time are by the processes' clocks there too.
package rollup
